import { Alert, Button, Code, Group, Select, Stack, Table, Text, Textarea, UnstyledButton } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Drawer } from "~/blocks/Drawer";
import { Empty } from "~/blocks/Empty";
import { Facts } from "~/blocks/Facts";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { bytes } from "~/blocks/wording";
import { fromBase64, hex, readable, toBase64 } from "./rawBytes";

type Message = Schemas["DeadMessageItem"];

const route = getRouteApi("/dead-letters");

/** Messages that no consumer could read. They belong to nobody, so to the admins. */
export function Messages() {
  const { message, state: chosen } = route.useSearch();
  const state: "open" | "replayed" | "all" = chosen ?? "open";
  const navigate = route.useNavigate();
  const found = useInfiniteQuery({
    queryKey: ["object", "message", "list", state],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/api/dead-letters/messages", { params: { query: { state, after: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const rows = found.data?.pages.flatMap((page) => page.items) ?? [];
  const open = (id: number | undefined) => void navigate({ search: (was) => ({ ...was, message: id }) });
  return (
    <Stack>
      <Select
        label="State"
        w={180}
        allowDeselect={false}
        data={[
          { value: "open", label: "Open" },
          { value: "replayed", label: "Sent again" },
          { value: "all", label: "All" },
        ]}
        value={state}
        onChange={(value) => void navigate({ search: (was) => ({ ...was, state: value === "replayed" || value === "all" ? value : undefined }), replace: true })}
      />
      {found.isPending ? (
        <Loading />
      ) : found.isError && rows.length === 0 ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : rows.length === 0 ? (
        <Empty kind={state === "open" ? "nothing" : "filtered"} title={state === "open" ? "No message is dead" : "No such message"}>
          Stages that are fed through Redis or RabbitMQ put messages here that nobody could read.
        </Empty>
      ) : (
        <MessageTable rows={rows} onOpen={open} />
      )}
      {found.hasNextPage && (
        <Group justify="center">
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
      {message !== undefined && <MessageDrawer key={message} id={message} onClose={() => open(undefined)} />}
    </Stack>
  );
}

function MessageTable({ rows, onOpen }: { rows: Message[]; onOpen: (id: number) => void }) {
  return (
    <Table.ScrollContainer minWidth={680}>
      <Table verticalSpacing="xs" highlightOnHover aria-label="Dead messages">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Message</Table.Th>
            <Table.Th>Queue</Table.Th>
            <Table.Th>Why</Table.Th>
            <Table.Th ta="right">Size</Table.Th>
            <Table.Th>Died</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.messageId} data-message={row.messageId}>
              <Table.Td maw={280}>
                <UnstyledButton onClick={() => onOpen(row.messageId)}>
                  <Text size="sm" fw={500}>
                    {row.messageId}
                  </Text>
                  <Text size="xs" c="dimmed" className="stored" lineClamp={1}>
                    {row.beginning}
                  </Text>
                </UnstyledButton>
              </Table.Td>
              <Table.Td className="stored">
                {row.stage ?? row.queue}
                <Text size="xs" c="dimmed">
                  {row.transport}
                </Text>
              </Table.Td>
              <Table.Td maw={320} className="stored">
                {row.reason}
                {row.replayedAt && (
                  <Text size="xs" c="dimmed">
                    sent again by {row.replayedBy}, <When at={row.replayedAt} />
                  </Text>
                )}
              </Table.Td>
              <Table.Td ta="right" className="numbers">
                {bytes(row.sizeBytes)}
              </Table.Td>
              <Table.Td>
                <When at={row.diedAt ?? row.collectedAt} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function MessageDrawer({ id, onClose }: { id: number; onClose: () => void }) {
  const found = useQuery({
    queryKey: ["object", "message", id],
    queryFn: ({ signal }) => ask(api.GET("/api/dead-letters/messages/{messageId}", { params: { path: { messageId: id } }, signal })),
  });
  return (
    <Drawer title={`Message ${id}`} onClose={onClose}>
      {found.isPending ? <Loading /> : found.data ? <Message message={found.data} onClose={onClose} /> : <Trouble error={found.error} again={() => void found.refetch()} />}
    </Drawer>
  );
}

function Message({ message, onClose }: { message: Schemas["DeadMessageDetail"]; onClose: () => void }) {
  const raw = fromBase64(message.base64);
  const original = readable(raw);
  const [text, setText] = useState(original);
  const [asking, setAsking] = useState(false);
  const params = { path: { messageId: message.messageId } };
  // Not the message itself, which is gone then, and would be answered 404.
  const touches = [["object", "message", "list"]];
  const send = useMutation({
    mutationFn: () => {
      const base64 = text !== null && text !== original ? toBase64(new TextEncoder().encode(text)) : null;
      return ask(api.POST("/api/dead-letters/messages/{messageId}/replay", { params, body: base64 === null ? null : { base64 } }));
    },
    meta: { touches },
    onSuccess: (sent) => {
      tellDone(`Message ${sent.messageId} was sent for item ${sent.itemId}.`);
      onClose();
    },
  });
  const discard = useMutation({
    mutationFn: () => ask(api.DELETE("/api/dead-letters/messages/{messageId}", { params })),
    meta: { touches },
    onSuccess: onClose,
  });
  return (
    <Stack>
      {message.problem && (
        <Alert color="orange" title="As it is, it would be refused" role="note">
          <span className="stored">{message.problem}</span>
        </Alert>
      )}
      <Facts
        rows={[
          ["Why it is here", message.reason],
          ["Queue", `${message.transport} · ${message.queue}`],
          ["Stage", message.stage],
          ["Deliveries", message.deliveries],
          ["Size", bytes(message.sizeBytes)],
          ["Died", message.diedAt && <When at={message.diedAt} />],
          ["Sent again", message.replayedAt && <When at={message.replayedAt} />],
        ]}
      />
      {text === null ? (
        <Text size="sm">It is no text, so it cannot be changed here.</Text>
      ) : (
        <Textarea label="As text" autosize minRows={4} maxRows={16} value={text} onChange={(event) => setText(event.currentTarget.value)} className="numbers" />
      )}
      <Code block tabIndex={0} aria-label="Its bytes" mah={240}>
        {hex(raw)}
      </Code>
      <Group>
        <Button leftSection={<Send size={14} aria-hidden />} loading={send.isPending} onClick={() => send.mutate()}>
          {text !== null && text !== original ? "Send the changed one" : "Send again"}
        </Button>
        <Button variant="default" leftSection={<Trash2 size={14} aria-hidden />} onClick={() => setAsking(true)}>
          Throw away
        </Button>
      </Group>
      {asking && (
        <Confirm title={`Throw message ${message.messageId} away?`} verb="Throw away" danger onConfirm={() => discard.mutateAsync()} onClose={() => setAsking(false)}>
          Its bytes will be gone. The item it was about, if there is one, stays as it is.
        </Confirm>
      )}
    </Stack>
  );
}
