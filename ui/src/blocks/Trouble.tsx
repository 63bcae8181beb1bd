import { Alert, Button, Code, Group, Skeleton, Stack } from "@mantine/core";
import { RotateCw, TriangleAlert } from "lucide-react";
import { useAway } from "~/api/away";
import { Problem } from "~/api/client";

/** Instead of what could not be fetched: what happened, and again. */
export function Trouble({ error, again }: { error: unknown; again?: () => void }) {
  const problem = error instanceof Problem ? error : null;
  return (
    <Alert
      color={problem?.status === 404 ? "gray" : "red"}
      icon={<TriangleAlert aria-hidden />}
      title={problem?.body.title ?? "This could not be shown"}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <span className="stored">{error instanceof Error ? error.message : String(error)}</span>
        {problem?.requestId && (
          <span className="quiet">
            In the log of the service: <Code>{problem.requestId}</Code>
          </span>
        )}
        {again && (
          <Button size="xs" variant="default" leftSection={<RotateCw size={14} aria-hidden />} onClick={again}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** On a cold load only: what is shown stays while it is fetched again. */
export function Loading({ rows = 6 }: { rows?: number }) {
  if (useAway())
    return (
      <Alert color="orange" icon={<TriangleAlert aria-hidden />} title="Penstock does not answer" role="alert" data-away>
        It may be restarting. It is tried again until it answers; then this page goes on by itself.
      </Alert>
    );
  return (
    <Stack gap="xs" role="status" aria-busy aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <Group key={row} wrap="nowrap">
          <Skeleton height={14} width="20%" />
          <Skeleton height={14} />
        </Group>
      ))}
    </Stack>
  );
}
