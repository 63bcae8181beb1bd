import { Alert, Code, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Clock, Info, LoaderCircle, PencilLine, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { api, ask } from "~/api/client";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { useNow, When } from "~/blocks/When";
import { duration, moment, sentence, stateWord } from "~/blocks/wording";
import classes from "./job.module.css";
import { inputPairs, isRecord, resultPairs } from "./reading";
import { Json, Stored } from "./Stored";
import { copyOf, lastTry } from "./tries";
import type { ItemDetail } from "./useItem";
import { useJob } from "./useJob";

/** Everything that is known about one item. */
export function ItemView({ item }: { item: ItemDetail }) {
  const columns = useJob(item.jobId).data?.columns ?? [];
  const copy = copyOf(item);
  const result = resultPairs(item.result);
  return (
    <Stack gap="md" mb="md">
      <Group gap="sm">
        <StateBadge state={item.status} />
        <Text size="sm" className="stored">
          {item.stage} · <When at={item.updatedAt} />
        </Text>
      </Group>
      {(item.status === "PENDING" || item.status === "PROCESSING") && <Why item={item} />}
      {copy !== null ? (
        <Alert color="gray" icon={<PencilLine aria-hidden />} title="Edited">
          <ItemLink itemId={copy} /> runs in its place.
        </Alert>
      ) : (
        item.error != null && <Failure error={item.error} state={item.status} />
      )}
      <Section title="Input">
        {item.replaces !== null && (
          <Text size="sm" mb="xs">
            Edited; before: <ItemLink itemId={item.replaces} />
          </Text>
        )}
        <Facts rows={inputPairs(item.input, columns).map(([name, value]) => [name, <Stored key={name} value={value} />])} />
      </Section>
      {item.result != null && (
        <Section title="Result">
          {result === null ? <Stored value={item.result} /> : <Facts rows={result.map(([name, value]) => [name, <Stored key={name} value={value} />])} />}
          {result !== null && (
            <details className={classes.fold}>
              <summary>As JSON</summary>
              <Json value={item.result} label="Result as JSON" />
            </details>
          )}
        </Section>
      )}
      <Section title="How it went">
        <Facts
          rows={[
            ["Tries", item.maxAttempts === null ? String(item.attempts) : `${item.attempts} of ${item.maxAttempts}`],
            ["Run", item.run > 1 ? `${item.run}; it was run again` : "1"],
            ["Worker", item.workerName],
            ["Created", moment(item.createdAt)],
            ["Changed", moment(item.updatedAt)],
            ["Key", item.idempotencyKey],
          ]}
        />
      </Section>
      {item.checkpoints.length > 0 && (
        <Section title="Stages behind it">
          {item.checkpoints.map((one) => (
            <details key={`${one.stage}${one.run}`} className={classes.fold}>
              <summary>
                {one.stage}, <When at={one.at} />
                {one.version && ` · version ${one.version}`}
              </summary>
              <Json value={one.result} label={`Result of stage ${one.stage}`} />
            </details>
          ))}
        </Section>
      )}
      <History item={item} />
    </Stack>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={3} size="h5" mb={4}>
        {title}
      </Title>
      {children}
    </section>
  );
}

function ItemLink({ itemId }: { itemId: number }) {
  return (
    <GoTo to="/items/$itemId" params={{ itemId: String(itemId) }}>
      Item {itemId}
    </GoTo>
  );
}

/** Why it is not running, and for how long still. */
function Why({ item }: { item: ItemDetail }) {
  const { data: why } = useQuery({
    queryKey: ["item", item.itemId, "why", item.updatedAt],
    queryFn: ({ signal }) => ask(api.GET("/api/tasks/{taskId}/why", { params: { path: { taskId: item.itemId } }, signal })),
    // The place in a line changes without an event of this item.
    refetchInterval: 5000,
  });
  const now = useNow();
  if (!why) return null;
  const left = why.until === null ? null : (Date.parse(why.until) - now) / 1000;
  const running = item.status === "PROCESSING";
  return (
    <Alert color={running ? "blue" : "gray"} icon={running ? <LoaderCircle aria-hidden /> : <Clock aria-hidden />} title={running ? "It runs" : "Why it waits"} data-why={why.reason}>
      <Text size="sm" className="stored">
        {why.sentence}
      </Text>
      {left !== null && left > 0 && (
        <Text size="sm" className="numbers" data-countdown>
          {duration(Math.ceil(left))} left
        </Text>
      )}
      {why.nextStep && (
        <Text size="sm" c="dimmed" className="stored">
          {why.nextStep}
        </Text>
      )}
    </Alert>
  );
}

/** `state`: what the item came to by it; what still waits or runs has failed at a try. */
function Failure({ error, state = "ERROR" }: { error: unknown; state?: string }) {
  const told = isRecord(error) ? error : { message: error };
  const { type, message, where, traceback } = told;
  const ended = state === "SKIPPED" || state === "NOT_FOUND" || state === "CANCELLED";
  const more = Object.entries(told).filter(([name]) => !["type", "message", "where", "traceback", "class"].includes(name));
  return (
    <Alert color={ended ? "gray" : "red"} icon={ended ? <Info aria-hidden /> : <TriangleAlert aria-hidden />} title={<span className="stored">{String(type ?? (ended ? stateWord(state) : "It failed"))}</span>}>
      <Stack gap={4}>
        {message != null && (
          <Text size="sm" className="stored">
            {String(message)}
          </Text>
        )}
        {where != null && (
          <Text size="sm" className="stored">
            at <Code>{String(where)}</Code>
          </Text>
        )}
        {more.length > 0 && <Facts rows={more.map(([name, value]) => [sentence(name), <Stored key={name} value={value} />])} />}
        {typeof traceback === "string" && (
          <details className={classes.fold}>
            <summary>The whole trace</summary>
            <pre className={classes.json} tabIndex={0} role="region" aria-label="The whole trace">
              {traceback}
            </pre>
          </details>
        )}
      </Stack>
    </Alert>
  );
}

const CAUSES: Record<string, string> = {
  reprocess: "Run again",
  edit: "Edited; a copy runs in its place",
  cancel: "Cancelled",
  throttled: "Asked to slow down; no try was burned",
  not_found: "Found nothing; looks again",
};

function History({ item }: { item: ItemDetail }) {
  const last = lastTry(item);
  if (item.history.length === 0 && last === null) return null;
  return (
    <Section title="History">
      <ol className={classes.history} aria-label="Tries, newest first">
        {last !== null && (
          <li>
            <Text size="sm" fw={500}>
              {last}
            </Text>
            <Failed error={isRecord(item.error) ? item.error : {}} />
            <Text size="xs" c="dimmed" className="stored">
              {moment(item.updatedAt)} · {item.stage}
              {item.workerName && ` · ${item.workerName}`}
            </Text>
          </li>
        )}
        {[...item.history].reverse().map((one, index) => {
          const error = isRecord(one.error) ? one.error : {};
          return (
            <li key={index}>
              <Text size="sm" fw={500}>
                {CAUSES[one.cause] ?? sentence(one.cause)}
                {one.burned && ` · try ${one.attempt}`}
                {error.by != null && ` · by ${String(error.by)}`}
              </Text>
              <Failed error={error} />
              <Text size="xs" c="dimmed" className="stored">
                {moment(one.at)}
                {one.stageName && ` · ${one.stageName}`}
                {one.workerName && ` · ${one.workerName}`}
                {one.nextRunAt && ` · next try ${moment(one.nextRunAt)}`}
              </Text>
              {isRecord(error.error) && (
                <details className={classes.fold}>
                  <summary>What it had come to</summary>
                  <Failure error={error.error} />
                </details>
              )}
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

function Failed({ error }: { error: Record<string, unknown> }) {
  return (
    <>
      {error.message != null && (
        <Text size="sm" className="stored">
          {error.type != null && `${String(error.type)}: `}
          {String(error.message)}
        </Text>
      )}
      {error.where != null && (
        <Text size="xs" c="dimmed" className="stored">
          at {String(error.where)}
        </Text>
      )}
    </>
  );
}
