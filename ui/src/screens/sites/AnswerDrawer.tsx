import { Alert, Divider, Stack, Text, Title, Tooltip } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { Drawer } from "~/blocks/Drawer";
import { Facts } from "~/blocks/Facts";
import { count, many, milliseconds } from "~/blocks/wording";
import { VerdictLine } from "./AnswersTab";
import { cost } from "./estimate";
import { marked, type Mark } from "./marking";
import { Outside } from "./Outside";
import type { Detail } from "./Site";
import classes from "./sites.module.css";
import { isOpen } from "./stages";
import { OFFLINE, verdictOf } from "./verdict";

type Answer = Schemas["AnswerBody"];
type Cell = Schemas["AnswerCell"];
type Props = { site: Detail; prompt: Schemas["PromptBody"]; model: string; onClose: () => void };

/** The answers of one model to one prompt, with what bears them and what they took. */
export function AnswerDrawer({ site, prompt, model, onClose }: Props) {
  const answers = site.answers.filter((answer) => answer.prompt === prompt.key && answer.model === model);
  const cell = site.scores?.cells.find((one) => one.prompt === prompt.key && one.model === model);
  const coverage = site.scores?.prompts.find((one) => one.prompt === prompt.key);
  const name = site.facts?.name;
  return (
    <Drawer title={prompt.text} onClose={onClose}>
      <Stack>
        <Facts
          rows={[
            ["Model", model],
            ["Kind of prompt", prompt.kind],
            ["Formed from", prompt.fact],
            ["Found on", prompt.page && <Outside url={prompt.page} />],
            ["Verdict", <VerdictLine key="verdict" verdict={verdictOf(model, answers, cell, isOpen(site))} />],
            ["Others named", cell && Object.keys(cell.others).length > 0 ? othersOf(cell) : null],
          ]}
        />
        {answers.length === 0 && (
          <Text c="dimmed">{isOpen(site) ? "It has not been asked yet. The answer appears here by itself." : "This model was not asked. Run the site again from model analysis."}</Text>
        )}
        {answers.map((answer) => (
          <Said key={answer.sample} answer={answer} cell={cell} name={name ?? null} several={answers.length > 1} attempts={site.attempts} />
        ))}
        {model !== OFFLINE && cell && cell.claims.length > 0 && <Claims claims={cell.claims} />}
        {coverage && (
          <section aria-label="What the site says">
            <Title order={3} size="h4" mb={4}>
              What the site says
            </Title>
            {coverage.evidence ? (
              <Evidence evidence={[coverage.evidence]} />
            ) : (
              <Text size="sm" c="dimmed">
                No sentence of the pages comes near enough to an answer.
              </Text>
            )}
          </section>
        )}
      </Stack>
    </Drawer>
  );
}

function othersOf(cell: Cell): string {
  return Object.entries(cell.others)
    .sort(([, one], [, other]) => other - one)
    .map(([name, times]) => `${name} (${count(times)})`)
    .join(", ");
}

type SaidProps = { answer: Answer; cell: Cell | undefined; name: string | null; several: boolean; attempts: number };

function Said({ answer, cell, name, several, attempts }: SaidProps) {
  const marks: Mark[] = [
    ...answer.evidence.map((one): Mark => ({ text: one.sentence, kind: "supported", about: `On the site, nearness ${one.similarity.toFixed(2)}` })),
    ...(cell?.claims ?? []).map((claim): Mark => ({
      text: claim.text,
      kind: claim.supported ? "supported" : "unsupported",
      about: claim.supported ? "The site says so too" : "No sentence of the site bears this",
    })),
    ...(name ? [{ text: name, kind: "name", about: "Names the business" } satisfies Mark] : []),
  ];
  return (
    <section aria-label={several ? `Answer ${answer.sample}` : "Answer"}>
      {several && <Divider label={`Answer ${answer.sample}`} labelPosition="left" mb="xs" />}
      {answer.text === null ? (
        <Alert color="red" title={answer.stoppedByBudget ? "The budget stopped this question" : "No answer"}>
          <span className="stored">{answer.problem}</span>
        </Alert>
      ) : (
        <Text className="stored" data-answer>
          {marked(answer.text, marks).map((piece, index) =>
            piece.mark ? (
              <Tooltip key={index} label={piece.mark.about} multiline maw={320}>
                <mark className={classes.mark} data-kind={piece.mark.kind}>
                  {piece.text}
                </mark>
              </Tooltip>
            ) : (
              <span key={index}>{piece.text}</span>
            ),
          )}
        </Text>
      )}
      {answer.evidence.length > 0 && (
        <Stack gap={4} mt="sm">
          <Text size="sm" fw={600}>
            Evidence
          </Text>
          <Evidence evidence={answer.evidence} />
        </Stack>
      )}
      <Stack mt="sm">
        <Facts
          rows={[
            ["Tokens", `${count(answer.tokensIn)} in, ${count(answer.tokensOut)} out${answer.tokensEstimated ? ", estimated" : ""}`],
            ["Cost", answer.reusedFromRun === null ? cost(answer.cost) : `0, paid for in run ${answer.reusedFromRun}`],
            ["Time", milliseconds(answer.tookMs)],
            ["Attempts of the stage", attempts > 1 ? many(attempts, "attempt") : null],
            ["Version", answer.modelVersion],
            ["Cut", answer.cut ? "It stopped at the longest answer it may give." : null],
          ]}
        />
      </Stack>
    </section>
  );
}

function Evidence({ evidence }: { evidence: Schemas["Evidence"][] }) {
  return evidence.map((one, index) => (
    <blockquote key={index} className={classes.quote}>
      <Text size="sm" className="stored">
        {one.sentence}
      </Text>
      <Text size="xs" c="dimmed">
        <Outside url={one.page} /> · nearness {one.similarity.toFixed(2)}
      </Text>
    </blockquote>
  ));
}

function Claims({ claims }: { claims: Schemas["AnswerClaim"][] }) {
  return (
    <section aria-label="What is said about the business">
      <Title order={3} size="h4" mb={4}>
        What is said about the business
      </Title>
      <Stack gap="xs">
        {claims.map((claim, index) => (
          <div key={index}>
            <Text size="sm" className="stored">
              {claim.text}
            </Text>
            <VerdictLine
              verdict={{ tone: claim.supported ? "good" : "bad", word: claim.supported ? "The site says so too" : "Without support", more: null }}
            />
            {claim.evidence && <Evidence evidence={[claim.evidence]} />}
          </div>
        ))}
      </Stack>
    </section>
  );
}
