import { NumberInput, Radio, Stack, Switch, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { many } from "~/blocks/wording";
import { STAGE_NAMES, STAGE_WORDS, STAGES, type StageName } from "./stages";

type Ended = Schemas["RerunBody"]["statuses"];

type Props = {
  jobId: number;
  /** Those chosen; left out: all that ended in one of `statuses`. */
  siteIds?: number[];
  statuses?: Ended;
  /** How many start. */
  number: number;
  /** Of those chosen, how many have not ended and stay as they are. */
  leftOut?: number;
  from: StageName;
  onClose: () => void;
  onStarted?: () => void;
};

const FOLLOWS: Record<StageName, string> = {
  "website-analysis": "Pages are fetched again. Prompts are formed again only where the site changed, and models are asked what they have not answered yet.",
  "prompt-forming": "The pages that were read stay. Prompts are formed again, and models are asked what they have not answered yet.",
  "model-analysis": "Pages and prompts stay. Models are asked what they have not answered yet, and the scores are made again.",
};

/** From which stage, and how. Results of earlier runs stay in the history. */
export function RunAgain({ jobId, siteIds, statuses, number, leftOut = 0, from, onClose, onStarted }: Props) {
  const [stage, setStage] = useState<StageName>(from);
  const [replay, setReplay] = useState(false);
  const [fresh, setFresh] = useState(false);
  const [budget, setBudget] = useState<number | undefined>(undefined);
  const rerun = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/api/analyses/{jobId}/rerun", {
          params: { path: { jobId } },
          body: { fromStage: stage, siteIds, statuses, replay: replay && stage === "website-analysis", fresh, budget },
        }),
      ),
    meta: { touches: [["job", jobId], ["jobs"]] },
    onSuccess: (done) => {
      tellDone(`${many(done.started, "site runs", "sites run")} again from ${STAGE_NAMES[stage].toLowerCase()}.`);
      onStarted?.();
    },
  });
  return (
    <Confirm title={`Run ${many(number, "site")} again?`} verb={`Run ${many(number, "site")} again`} waits={number === 0} onConfirm={() => rerun.mutateAsync()} onClose={onClose}>
      <Stack>
        <Radio.Group label="From which stage" value={stage} onChange={(value) => setStage(value as StageName)}>
          <Stack gap="xs" mt="xs">
            {STAGES.map((one) => (
              <Radio key={one} value={one} label={STAGE_NAMES[one]} description={`It ${STAGE_WORDS[one]}.`} />
            ))}
          </Stack>
        </Radio.Group>
        {stage === "website-analysis" && (
          <Switch
            label="From the pages that were kept"
            description="Nothing is fetched. Fails where no page is kept any more."
            checked={replay}
            onChange={(event) => setReplay(event.currentTarget.checked)}
          />
        )}
        <Switch
          label="Ask everything again"
          description="Also what models answered before; that is paid for again."
          checked={fresh}
          onChange={(event) => setFresh(event.currentTarget.checked)}
        />
        <NumberInput
          label="Another budget"
          description="The most that the whole analysis may have spent from now on. Left empty: as it was."
          min={0}
          max={1_000_000}
          decimalScale={6}
          value={budget ?? ""}
          onChange={(value) => setBudget(typeof value === "number" ? value : undefined)}
        />
        <Text size="sm" c="dimmed">
          {replay && stage === "website-analysis" ? "The pages kept from the last run are read again." : FOLLOWS[stage]}
          {leftOut > 0 && ` ${many(leftOut, "site has", "sites have")} not ended yet and stay as they are.`}
        </Text>
      </Stack>
    </Confirm>
  );
}
