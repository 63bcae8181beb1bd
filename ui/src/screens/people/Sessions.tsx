import { Badge, Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Laptop, LogOut } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { many } from "~/blocks/wording";

type Session = Schemas["SessionView"];

/** The browsers one is signed in with. */
export function Sessions() {
  const [asking, setAsking] = useState(false);
  const found = useQuery({ queryKey: ["sessions"], queryFn: ({ signal }) => ask(api.GET("/api/me/sessions", { signal })) });
  const others = found.data?.items.filter((one) => !one.current).length ?? 0;
  const endOthers = useMutation({
    mutationFn: () => ask(api.DELETE("/api/me/sessions")),
    meta: { touches: [["sessions"]] },
    onSuccess: ({ ended }) => tellDone(`${many(ended, "session")} ended.`),
  });
  return (
    <Card withBorder component="section" aria-labelledby="sessions">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h3" id="sessions">
          Where you are signed in
        </Title>
        {others > 0 && (
          <Button size="xs" variant="default" leftSection={<LogOut size={14} aria-hidden />} onClick={() => setAsking(true)}>
            End all others
          </Button>
        )}
      </Group>
      {found.isPending ? (
        <Loading rows={2} />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : (
        <Stack gap="xs" role="list">
          {found.data.items.map((session) => (
            <Row key={session.sessionId} session={session} />
          ))}
          {found.data.items.length === 0 && <Text c="dimmed">No browser: this page uses a token.</Text>}
        </Stack>
      )}
      {asking && (
        <Confirm title="End all other sessions?" verb={`End ${many(others, "session")}`} danger onConfirm={() => endOthers.mutateAsync()} onClose={() => setAsking(false)}>
          {many(others, "other browser")} of yours will have to sign in again. This one stays signed in.
        </Confirm>
      )}
    </Card>
  );
}

function Row({ session }: { session: Session }) {
  const end = useMutation({
    mutationFn: () => ask(api.DELETE("/api/me/sessions/{sessionId}", { params: { path: { sessionId: session.sessionId } } })),
    meta: { touches: [["sessions"]] },
    onSuccess: () => tellDone(`${session.device} is signed out.`),
  });
  return (
    <Group justify="space-between" role="listitem" wrap="nowrap" align="flex-start">
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <Laptop size={18} aria-hidden style={{ flexShrink: 0, marginTop: 3 }} />
        <div>
          <Text component="div">
            {session.device}{" "}
            {session.current && (
              <Badge variant="light" tt="none">
                this one
              </Badge>
            )}
          </Text>
          <Text size="xs" c="dimmed" component="div" className="stored">
            {session.ip ?? "unknown address"} · used <When at={session.lastSeenAt} /> · signed in <When at={session.createdAt} />
          </Text>
        </div>
      </Group>
      {!session.current && (
        <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()} aria-label={`End the session of ${session.device}`}>
          End
        </Button>
      )}
    </Group>
  );
}
