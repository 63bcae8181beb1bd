import { Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Loading, Trouble } from "~/blocks/Trouble";
import { many } from "~/blocks/wording";
import { cost } from "./estimate";
import type { ChosenOptions } from "./queries";

type Props = {
  jobId: number;
  /** Left out: all that wait. */
  siteIds?: number[];
  budget: Schemas["BudgetState"] | null;
  options: ChosenOptions;
  onClose: () => void;
};

/** Says in numbers what an approval means before it is given. */
export function Approve({ jobId, siteIds, budget, options, onClose }: Props) {
  const params = { path: { jobId } };
  const dry = useQuery({
    // Not under the job: once approved, asking again would be refused.
    queryKey: ["approval", jobId, siteIds ?? "all"],
    queryFn: () => ask(api.POST("/api/analyses/{jobId}/approve", { params, body: { siteIds, dryRun: true } })),
    staleTime: 0,
    gcTime: 0,
  });
  const approve = useMutation({
    mutationFn: () => ask(api.POST("/api/analyses/{jobId}/approve", { params, body: { siteIds, dryRun: false } })),
    meta: { touches: [["job", jobId], ["jobs"]] },
    onSuccess: (done) => tellDone(`${many(done.approved, "site is", "sites are")} approved. Models are asked now.`),
  });
  const most = budget?.most ?? options.budget;
  const left = most === undefined ? null : most - (budget?.spent ?? 0);
  return (
    <Confirm
      title="Ask the models?"
      verb={dry.data ? `Approve ${many(dry.data.approved, "site")}` : "Approve"}
      waits={!dry.data || dry.data.approved === 0}
      onConfirm={() => approve.mutateAsync()}
      onClose={onClose}
    >
      {dry.isError ? (
        <Trouble error={dry.error} />
      ) : !dry.data ? (
        <Loading rows={2} />
      ) : dry.data.approved === 0 ? (
        "No site waits for approval any more."
      ) : (
        <Stack gap="xs">
          <Text>
            {many(dry.data.approved, "site")}: {many(dry.data.calls, "question")} to {many(options.models.length, "model")}, fewer where an earlier run has the
            answer.
          </Text>
          <Text>
            {dry.data.mostCost === 0 ? "They cost nothing." : `They may cost up to ${cost(dry.data.mostCost)}.`}
            {left !== null && ` The budget has ${cost(Math.max(0, left))} left.`}
            {left !== null && dry.data.mostCost > left && " Questions that do not fit into it stay open."}
          </Text>
          <Text size="sm" c="dimmed">
            What was answered is kept and not paid for twice.
          </Text>
        </Stack>
      )}
    </Confirm>
  );
}
