import { Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Loading, Trouble } from "~/blocks/Trouble";
import { many } from "~/blocks/wording";
import { reportWords } from "./place";

/** Says what a scan would see before it takes anything. `source` null: all that one may scan. */
export function ScanNow({ source, onClose }: { source: string | null; onClose: () => void }) {
  const body = source === null ? {} : { source };
  const dry = useQuery({
    queryKey: ["scan", source],
    queryFn: () => ask(api.POST("/api/ingestion/scan", { body: { ...body, dryRun: true } })),
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
    refetchOnWindowFocus: false,
  });
  const scan = useMutation({
    mutationFn: () => ask(api.POST("/api/ingestion/scan", { body: { ...body, dryRun: false } })),
    meta: { touches: [["jobs"]] },
    onSuccess: ({ sources }) => tellDone(sources.map((one) => `${one.source}: ${one.problem ?? reportWords(one)}`).join("; ") || "There was nothing to scan."),
  });
  const fresh = dry.data?.sources.reduce((sum, one) => sum + one.new, 0) ?? 0;
  return (
    <Confirm title={source === null ? "Scan all places now?" : `Scan ${source} now?`} verb="Scan now" waits={!dry.data} onConfirm={() => scan.mutateAsync()} onClose={onClose}>
      {dry.isPending ? (
        <Loading rows={2} />
      ) : dry.isError ? (
        <Trouble error={dry.error} />
      ) : (
        <Stack gap="xs">
          <Text size="sm">{fresh === 0 ? "No new files are there now." : `${many(fresh, "new file")} would be taken, each as a job.`}</Text>
          {dry.data.sources.map((one) => (
            <Text key={one.source} size="sm" className="stored">
              <strong>{one.source}</strong>: {one.problem ?? reportWords(one)}
            </Text>
          ))}
        </Stack>
      )}
    </Confirm>
  );
}
