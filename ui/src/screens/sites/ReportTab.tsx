import { Anchor, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { api, ask } from "~/api/client";
import { Markdown } from "~/blocks/Markdown";
import { Loading, Trouble } from "~/blocks/Trouble";
import type { Detail } from "./Site";

/** The report as the customer reads it. */
export function ReportTab({ site }: { site: Detail }) {
  const { jobId, siteId } = site;
  const found = useQuery({
    queryKey: ["job", jobId, "site", siteId, "report"],
    queryFn: ({ signal }) =>
      ask(api.GET("/api/analyses/{jobId}/report", { params: { path: { jobId }, query: { siteId, format: "md" } }, parseAs: "text", signal })),
  });
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  return (
    <Stack maw={900}>
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          The same as a page to print and send:
        </Text>
        <Anchor href={`/api/analyses/${jobId}/report?siteId=${siteId}&format=html`} target="_blank" rel="noopener" size="sm" underline="always">
          open it in a new tab <ExternalLink size={12} aria-hidden />
        </Anchor>
      </Group>
      <Markdown text={String(found.data)} most={Infinity} />
    </Stack>
  );
}
