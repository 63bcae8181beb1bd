import { Alert, Button, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { RotateCw, TriangleAlert } from "lucide-react";
import { AWAY } from "~/api/client";
import { bytes, duration, percent } from "~/blocks/wording";
import { cancel, dismiss, sendAgain, type Sending } from "./sending";

/** What a refusal means for whoever sent the file; the sentence of the service comes behind it. */
const MEANS: Record<number, string> = {
  413: "The file is too large",
  415: "This kind of file is not taken",
  422: "Something chosen here does not fit",
  429: "Too much at once",
  503: "The database cannot be reached",
};

export function SendingPanel({ sending }: { sending: Sending }) {
  const { name, sent, total, pace, state, problem } = sending;
  if (state === "failed" && problem !== null) {
    const passing = problem.status === AWAY || problem.status === 429 || problem.status >= 500;
    return (
      <Alert color="red" icon={<TriangleAlert aria-hidden />} title={MEANS[problem.status] ?? problem.body.title ?? "It was not taken"} role="alert">
        <Stack gap="sm" align="flex-start">
          <span className="stored">{problem.message}</span>
          <Group gap="xs">
            {passing && (
              <Button size="xs" leftSection={<RotateCw size={14} aria-hidden />} onClick={sendAgain}>
                Send again
              </Button>
            )}
            <Button size="xs" variant="default" onClick={dismiss}>
              Back to the file
            </Button>
          </Group>
        </Stack>
      </Alert>
    );
  }
  const share = total > 0 ? sent / total : 0;
  const words = [
    total > 0 ? `${bytes(sent)} of ${bytes(total)}, ${percent(share)}` : "Connecting",
    pace.perSecond !== null && `${bytes(Math.round(pace.perSecond))}/s`,
    state === "checking" ? "all sent; the service looks at it" : pace.secondsLeft !== null && `${duration(pace.secondsLeft)} left`,
  ].filter(Boolean);
  return (
    <Stack gap="xs" data-sending={state}>
      <Title order={2} size="h3" className="stored">
        Uploading {name}
      </Title>
      <Progress value={share * 100} animated={state === "checking"} aria-label={`Uploading ${name}`} />
      <Group justify="space-between">
        <Text size="sm" className="numbers">
          {words.join(" · ")}
        </Text>
        <Button size="xs" variant="default" onClick={cancel}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}
