import { Code, Paper, Stack, Text, Title } from "@mantine/core";
import { Upload } from "lucide-react";
import { GoToButton } from "~/blocks/links";
import { useMe } from "~/shell/me";

/** What somebody sees who has just started it: the one next step. */
export function FirstSteps() {
  const me = useMe();
  if (me.role === "viewer")
    return (
      <Paper withBorder p="lg" data-empty="nothing">
        <Title order={2}>You see how it runs</Title>
        <Text size="sm" maw={640} mt="xs">
          Your role is viewer. To upload files and start work of your own you need the role operator; an admin can give it to you.
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
        <Text size="sm" c="dimmed">
          Or see it work on made-up data: <Code>penstock demo</Code>
        </Text>
      </Stack>
    </Paper>
  );
}
