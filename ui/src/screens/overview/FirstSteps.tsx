import { Code, Paper, Stack, Text, Title } from "@mantine/core";
import { Upload } from "lucide-react";
import { usePipelines } from "~/api/pipelines";
import { GoToButton } from "~/blocks/links";
import { useMe } from "~/shell/me";

// The demo needs these extensions.
const IN_DEMO = ["/catalogues", "/sites", "/linking", "/articles"];

/** What somebody sees who has just started it: the one next step. */
export function FirstSteps() {
  const me = useMe();
  const pipelines = usePipelines();
  if (me.role === "viewer")
    return (
      <Paper withBorder p="lg" data-empty="nothing">
        <Title order={2}>You see how it runs</Title>
        <Text size="sm" maw={640} mt="xs">
          Your role is viewer. To upload files and start work of your own you need the role operator; an admin can give it to you.
        </Text>
      </Paper>
    );
  if (pipelines.isPending) return null;
  if (pipelines.data?.items.length === 0)
    return (
      <Paper withBorder p="lg" data-empty="nothing">
        <Title order={2}>No jobs yet</Title>
        <Text size="sm" maw={640} mt="xs">
          Jobs appear here when your program enqueues many tasks at once: <Code>await task.enqueue_many(rows)</Code>. This application has no pipeline that takes files; a task with the arguments{" "}
          <Code>row</Code> and <Code>cells</Code> makes one.
        </Text>
      </Paper>
    );
  return (
    <Paper withBorder p="lg" data-empty="nothing">
      <Stack gap="xs" align="flex-start">
        <Title order={2}>Nothing of yours is here yet</Title>
        <Text size="sm" maw={640}>
          Upload a CSV or XLSX file, or a zip of images: every row becomes an item, is stored at once and worked on in the background, and you watch it here.
        </Text>
        <GoToButton to="/upload" leftSection={<Upload size={16} aria-hidden />}>
          Upload a file
        </GoToButton>
        {IN_DEMO.every((path) => me.screens.some((one) => one.path === path)) && (
          <Text size="sm" c="dimmed">
            Or see it work on made-up data: <Code>penstock demo</Code>
          </Text>
        )}
      </Stack>
    </Paper>
  );
}
