import { Stack, Table, Text, UnstyledButton } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { CircleCheck, CircleDashed, CircleX, type LucideIcon } from "lucide-react";
import type { Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Wide } from "~/blocks/Wide";
import { AnswerDrawer } from "./AnswerDrawer";
import { optionsOf } from "./queries";
import { notYet, type Analysis, type Detail } from "./Site";
import classes from "./sites.module.css";
import { isOpen } from "./stages";
import { OFFLINE, verdictOf, type Verdict } from "./verdict";

type Prompt = Schemas["PromptBody"];

/** Every prompt on every model: whether the site answers it, and whether the model names the business. */
export function AnswersTab({ site, analysis }: { site: Detail; analysis: Analysis }) {
  const search = useSearch({ from: "/sites/$jobId/$siteId" });
  const navigate = useNavigate({ from: "/sites/$jobId/$siteId" });
  const open = (prompt?: string, model?: string) => void navigate({ search: { tab: "answers", prompt, model }, resetScroll: false });
  const models = modelsOf(site, analysis);
  const prompt = site.prompts.find((one) => one.key === search.prompt);
  if (site.prompts.length === 0 || (site.answers.length === 0 && !isOpen(site)))
    return (
      <Empty kind="nothing" title="No answers yet">
        {notYet(site, "Answers")}
      </Empty>
    );
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        Open a cell for the answer, its evidence and what it cost.{" "}
        {models.includes(OFFLINE) && "The offline model quotes the site: it shows what a reader would find, and does not count for visibility."}
      </Text>
      <Wide minWidth={150 + 130 * (models.length + 1)}>
        <Table fz="sm" verticalSpacing={6} className={classes.matrix} aria-label="Answers by prompt and model">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Prompt</Table.Th>
              <Table.Th>The site itself</Table.Th>
              {models.map((model) => (
                <Table.Th key={model} className="stored">
                  {model}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {site.prompts.map((one) => (
              <Row key={one.key} site={site} prompt={one} models={models} opened={search} onOpen={open} />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      {prompt && search.model !== undefined && (
        <AnswerDrawer key={`${prompt.key} ${search.model}`} site={site} prompt={prompt} model={search.model} onClose={() => open()} />
      )}
    </Stack>
  );
}

function modelsOf(site: Detail, analysis: Analysis): string[] {
  return [...new Set([...optionsOf(analysis.options).models, ...site.answers.map((answer) => answer.model)])];
}

type RowProps = {
  site: Detail;
  prompt: Prompt;
  models: string[];
  opened: { prompt?: string; model?: string };
  onOpen: (prompt: string, model: string) => void;
};

function Row({ site, prompt, models, opened, onOpen }: RowProps) {
  const coverage = site.scores?.prompts.find((one) => one.prompt === prompt.key);
  return (
    <Table.Tr>
      <Table.Th scope="row" className="stored">
        {prompt.text}
        <Text size="xs" c="dimmed">
          {prompt.kind}
          {prompt.fact && ` · ${prompt.fact}`}
        </Text>
      </Table.Th>
      <Table.Td>
        {coverage ? (
          <VerdictLine verdict={{ tone: coverage.covered ? "good" : "bad", word: coverage.covered ? "Covered" : "Not covered", more: `nearness ${coverage.similarity.toFixed(2)}` }} />
        ) : (
          <VerdictLine verdict={{ tone: "plain", word: "Not yet", more: null }} />
        )}
      </Table.Td>
      {models.map((model) => {
        const answers = site.answers.filter((answer) => answer.prompt === prompt.key && answer.model === model);
        const cell = site.scores?.cells.find((one) => one.prompt === prompt.key && one.model === model);
        return (
          <Table.Td key={model}>
            <UnstyledButton
              className={classes.cell}
              data-open={(opened.prompt === prompt.key && opened.model === model) || undefined}
              data-cell={`${prompt.key} ${model}`}
              onClick={() => onOpen(prompt.key, model)}
            >
              <VerdictLine verdict={verdictOf(model, answers, cell, isOpen(site))} />
            </UnstyledButton>
          </Table.Td>
        );
      })}
    </Table.Tr>
  );
}

const ICONS: Record<Verdict["tone"], LucideIcon> = { good: CircleCheck, bad: CircleX, plain: CircleDashed };

export function VerdictLine({ verdict }: { verdict: Verdict }) {
  const Icon = ICONS[verdict.tone];
  return (
    <>
      <span className={classes.verdict} data-tone={verdict.tone}>
        <Icon size={14} aria-hidden />
        {verdict.word}
      </span>
      {verdict.more && (
        <Text size="xs" c="dimmed" component="span" display="block" className="numbers">
          {verdict.more}
        </Text>
      )}
    </>
  );
}
