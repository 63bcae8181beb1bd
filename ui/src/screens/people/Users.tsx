import { Button, Group, Modal, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Loading, Trouble } from "~/blocks/Trouble";
import { Wide } from "~/blocks/Wide";
import type { Role } from "~/shell/me";
import { UserRow } from "./UserRow";
import { MAY } from "./You";

export const ROLES: Role[] = ["viewer", "operator", "admin"];

/** Everybody, by name. Names are for ever, because work belongs to them: who leaves is disabled. */
export function Users() {
  const [adding, setAdding] = useState(false);
  const found = useInfiniteQuery({
    queryKey: ["users"],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/api/users", { params: { query: { after: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  const users = found.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed" size="sm" maw={560}>
          They get in by a login link, which you hand over, or by a password that they set themselves.
        </Text>
        <Button leftSection={<UserPlus size={14} aria-hidden />} onClick={() => setAdding(true)}>
          Add a user
        </Button>
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : (
        <Wide minWidth={760} deeds>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>User</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Password</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {users.map((user) => (
                <UserRow key={user.name} user={user} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()} style={{ alignSelf: "center" }}>
          Show more
        </Button>
      )}
      {adding && <NewUser onClose={() => setAdding(false)} />}
    </Stack>
  );
}

function NewUser({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("operator");
  const [wrong, setWrong] = useState<string | null>(null);
  const add = useMutation({
    mutationFn: () => ask(api.POST("/api/users", { body: { name: name.trim(), role } })),
    meta: { ownProblem: true, touches: [["users"]] },
    onSuccess: (made) => {
      tellDone(`${made.name} is added. Make a login link to let them in.`);
      onClose();
    },
    onError: (error) => setWrong(error.message),
  });
  return (
    <Modal opened onClose={onClose} title="Add a user" closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="Lower-case letters, digits and . _ @ -. For ever: it is never changed and never given to somebody else."
            value={name}
            error={wrong}
            onChange={(event) => {
              setName(event.currentTarget.value.toLowerCase());
              setWrong(null);
            }}
            maxLength={100}
            required
            data-autofocus
          />
          <Select
            label="Role"
            data={ROLES.map((one) => ({ value: one, label: one }))}
            value={role}
            onChange={(value) => setRole(ROLES.find((one) => one === value) ?? "operator")}
            description={MAY[role]}
            allowDeselect={false}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button type="submit" loading={add.isPending}>
              Add user
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
