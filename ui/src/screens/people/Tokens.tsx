import { Alert, Button, Group, Modal, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Empty } from "~/blocks/Empty";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { moment } from "~/blocks/wording";
import { CopyField } from "./CopyField";

type Token = Schemas["TokenView"];

const LASTS = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "", label: "until revoked" },
];

/** One's own. Programs use them; nobody sees another's, admins neither. */
export function Tokens() {
  const [making, setMaking] = useState(false);
  const found = useInfiniteQuery({
    queryKey: ["tokens"],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/api/me/tokens", { params: { query: { after: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  const tokens = found.data?.pages.flatMap((page) => page.items) ?? [];
  const make = (
    <Button leftSection={<KeyRound size={14} aria-hidden />} onClick={() => setMaking(true)}>
      Make a token
    </Button>
  );
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed" size="sm" maw={560}>
          Programs send a token as <code>Authorization: Bearer …</code>. It may do what you may, until it is revoked or ends.
        </Text>
        {tokens.length > 0 && make}
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : tokens.length === 0 ? (
        <Empty kind="nothing" title="No tokens yet" action={make}>
          A script or another program needs one to use the API as you.
        </Empty>
      ) : (
        <Wide minWidth={720} deeds>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Token</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Last used</Table.Th>
                <Table.Th>Made</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {tokens.map((token) => (
                <Row key={token.tokenId} token={token} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()} style={{ alignSelf: "center" }}>
          Show older
        </Button>
      )}
      {making && <NewToken onClose={() => setMaking(false)} />}
    </Stack>
  );
}

function Row({ token }: { token: Token }) {
  const [asking, setAsking] = useState(false);
  const [now] = useState(() => Date.now());
  const ended = token.expiresAt !== null && new Date(token.expiresAt).getTime() < now;
  const revoke = useMutation({
    mutationFn: () => ask(api.DELETE("/api/me/tokens/{tokenId}", { params: { path: { tokenId: token.tokenId } } })),
    meta: { touches: [["tokens"]] },
    onSuccess: () => tellDone(`Token ${token.name} is revoked.`),
  });
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={500} className="stored">
          {token.name}
        </Text>
        <Text size="xs" c="dimmed" className="mono">
          {token.hint}…
        </Text>
      </Table.Td>
      <Table.Td>
        {token.revokedAt ? (
          <StateBadge state="REVOKED" look="CANCELLED" word="Revoked" />
        ) : ended ? (
          <StateBadge state="ENDED" look="SKIPPED" word="Ended" />
        ) : (
          <StateBadge state="VALID" look="DONE" word="Valid" />
        )}
        <Text size="xs" c="dimmed" component="div">
          {token.revokedAt ? <When at={token.revokedAt} /> : token.expiresAt ? <>until {moment(token.expiresAt)}</> : "until revoked"}
        </Text>
      </Table.Td>
      <Table.Td>{token.lastUsedAt ? <When at={token.lastUsedAt} /> : "never"}</Table.Td>
      <Table.Td>
        <When at={token.createdAt} />
      </Table.Td>
      <Table.Td ta="right">
        {!token.revokedAt && !ended && (
          <Button size="xs" variant="default" onClick={() => setAsking(true)} aria-label={`Revoke ${token.name}`}>
            Revoke
          </Button>
        )}
        {asking && (
          <Confirm title="Revoke this token?" verb="Revoke token" danger onConfirm={() => revoke.mutateAsync()} onClose={() => setAsking(false)}>
            <span className="stored">{token.name}</span> ({token.hint}…) is refused from the next request on. Whatever uses it stops working. This cannot be taken back.
          </Confirm>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [lasts, setLasts] = useState("90");
  const make = useMutation({
    mutationFn: () => ask(api.POST("/api/me/tokens", { body: { name: name.trim() || "token", expiresDays: lasts ? Number(lasts) : null } })),
    meta: { touches: [["tokens"]] },
  });
  return (
    <Modal opened onClose={onClose} title="A new token" closeOnClickOutside={!make.data} closeButtonProps={{ "aria-label": "Close" }}>
      {make.data ? (
        <Stack>
          <Alert color="orange" title="Copy it now">
            It is shown this once. Only its hash is kept, so nobody can show it again.
          </Alert>
          <CopyField label="Token" value={make.data.token} />
          <Button onClick={onClose} style={{ alignSelf: "flex-end" }}>
            I have it
          </Button>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            make.mutate();
          }}
        >
          <Stack>
            <TextInput label="Name" description="What it is for." value={name} onChange={(event) => setName(event.currentTarget.value)} maxLength={200} required data-autofocus />
            <Select label="Lasts" data={LASTS} value={lasts} onChange={(value) => setLasts(value ?? "")} allowDeselect={false} />
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Leave it
              </Button>
              <Button type="submit" loading={make.isPending}>
                Make token
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
