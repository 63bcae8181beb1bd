import { Alert, Button, Checkbox, Group, Modal, NumberInput, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, RotateCw, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { Trouble } from "~/blocks/Trouble";
import { asked, found, MOST, outcome, type Matching } from "./replaying";

type Props = { title: string; matching: Matching; onClose: () => void };

/** Runs failed items again: a dry run first, then one as a canary, then the others at a rate. Stays open to tell what came of it. */
export function ReplayDialog({ title, matching, onClose }: Props) {
  const [canary, setCanary] = useState(true);
  const [perSecond, setPerSecond] = useState<number | string>("");
  const dry = useQuery({
    queryKey: ["replay", matching],
    queryFn: () => ask(api.POST("/api/dead-letters/replay", { body: { ...matching, dryRun: true, most: MOST, canary: false, canarySeconds: 10 } })),
    staleTime: 0,
    gcTime: 0,
  });
  const replay = useMutation({
    mutationFn: () => {
      const wish = { canary, perSecond: typeof perSecond === "number" ? perSecond : null, most: MOST };
      return ask(api.POST("/api/dead-letters/replay", { body: asked(matching, wish) }));
    },
    meta: { ownProblem: true },
  });
  const nothing = dry.data?.matched === 0;
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        {dry.isError ? (
          <Trouble error={dry.error} />
        ) : (
          <Text>
            {dry.data === undefined ? "Looking how many there are…" : nothing ? "No failed item matches any more." : `${found(dry.data)} would run again.`}
          </Text>
        )}
        {!replay.data && !nothing && (
          <>
            <Checkbox
              label="Try one first"
              description="The others start only if it goes well, and stop when ten fail with the error they had."
              checked={canary}
              onChange={(event) => setCanary(event.currentTarget.checked)}
            />
            <NumberInput
              label="At most so many a second"
              description="Empty: as fast as the workers take them."
              min={0.1}
              max={100000}
              value={perSecond}
              onChange={setPerSecond}
            />
          </>
        )}
        {replay.isError && <Trouble error={replay.error} />}
        {replay.data && <Outcome data={replay.data} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {replay.data ? "Close" : "Leave it"}
          </Button>
          {!replay.data && (
            <Button
              leftSection={<RotateCw size={14} aria-hidden />}
              loading={replay.isPending}
              disabled={dry.data === undefined || nothing}
              onClick={() => replay.mutate()}
              data-autofocus
            >
              Run them again
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

function Outcome({ data }: { data: Parameters<typeof outcome>[0] }) {
  const { sentence, good } = outcome(data);
  return (
    <Alert color={good ? "green" : "orange"} icon={good ? <CircleCheck aria-hidden /> : <TriangleAlert aria-hidden />} role="status">
      {sentence}
      {data.canary && (
        <div>
          <GoTo to="/items/$itemId" params={{ itemId: String(data.canary.itemId) }}>
            Look at item {data.canary.itemId}
          </GoTo>
        </div>
      )}
    </Alert>
  );
}
