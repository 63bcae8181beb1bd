import { Alert, Button, Group, Modal, Select, Stack, Table, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { StateBadge } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";
import { duration } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useMe, type Role } from "~/shell/me";
import { CopyField } from "./CopyField";
import { ROLES } from "./Users";
import { MAY } from "./You";

type User = Schemas["UserView"];
type Asking = "disable" | "password" | "link" | { role: Role } | null;

export function UserRow({ user }: { user: User }) {
  const me = useMe();
  const [asking, setAsking] = useState<Asking>(null);
  const self = user.name === me.name;
  const params = { path: { userName: user.name } };
  const touches = [["users"], ["me"]];
  const change = useMutation({
    mutationFn: (body: Schemas["UserChange"]) => ask(api.PATCH("/api/users/{userName}", { params, body })),
    meta: { touches },
    onSuccess: (now) => tellDone(`${now.name} is ${now.disabledAt ? "disabled" : now.role}.`),
  });
  const forget = useMutation({
    mutationFn: () => ask(api.DELETE("/api/users/{userName}/password", { params })),
    meta: { touches },
    onSuccess: () => tellDone(`${user.name} has no password any more.`),
  });
  const close = () => setAsking(null);
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={500} className="stored">
          {user.name} {self && <span className="quiet">(you)</span>}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          since <When at={user.createdAt} />
        </Text>
      </Table.Td>
      <Table.Td>
        <Select
          aria-label={`Role of ${user.name}`}
          size="xs"
          w={120}
          data={ROLES}
          value={user.role}
          allowDeselect={false}
          onChange={(value) => {
            const role = ROLES.find((one) => one === value);
            if (role && role !== user.role) setAsking({ role });
          }}
        />
      </Table.Td>
      <Table.Td>
        {user.disabledAt ? (
          <>
            <StateBadge state="DISABLED" look="CANCELLED" word="Disabled" />
            <Text size="xs" c="dimmed" component="div">
              <When at={user.disabledAt} />
            </Text>
          </>
        ) : (
          <StateBadge state="ENABLED" look="DONE" word="Enabled" />
        )}
      </Table.Td>
      <Table.Td>
        {user.passwordChangedAt ? (
          <Group gap="xs" wrap="nowrap">
            <span>
              set <When at={user.passwordChangedAt} />
            </span>
            <Button size="compact-xs" variant="subtle" onClick={() => setAsking("password")} aria-label={`Remove the password of ${user.name}`}>
              Remove
            </Button>
          </Group>
        ) : (
          <span className="quiet">none</span>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Allowed role="admin" unless={user.disabledAt ? "This user is disabled." : null}>
            <Button size="xs" variant="default" onClick={() => setAsking("link")} aria-label={`Login link for ${user.name}`}>
              Login link
            </Button>
          </Allowed>
          {user.disabledAt ? (
            <Button size="xs" variant="default" loading={change.isPending} onClick={() => change.mutate({ disabled: false })} aria-label={`Enable ${user.name}`}>
              Enable
            </Button>
          ) : (
            <Button size="xs" variant="default" onClick={() => setAsking("disable")} aria-label={`Disable ${user.name}`}>
              Disable
            </Button>
          )}
        </Group>
        {asking === "link" && <LoginLink name={user.name} onClose={close} />}
        {asking === "disable" && (
          <Confirm title={`Disable ${user.name}?`} verb="Disable user" danger onConfirm={() => change.mutateAsync({ disabled: true })} onClose={close}>
            {self ? "You are out at once, " : "They are out at once, "}
            in every browser, and tokens are refused. Work that was submitted goes on. Enabled again, tokens are valid again; sessions are not.
          </Confirm>
        )}
        {asking === "password" && (
          <Confirm title={`Remove the password of ${user.name}?`} verb="Remove password" danger onConfirm={() => forget.mutateAsync()} onClose={close}>
            {self ? "Your other sessions end." : "Their sessions end."} A login link is the way in until another password is set.
          </Confirm>
        )}
        {asking !== null && typeof asking === "object" && (
          <Confirm title={`Make ${user.name} ${asking.role}?`} verb={`Make ${asking.role}`} onConfirm={() => change.mutateAsync({ role: asking.role })} onClose={close}>
            From the next request on, {self ? "you are" : "they are"} {asking.role}: {MAY[asking.role]}.
          </Confirm>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

/** Made when one asks for it: looking at the page makes none. */
function LoginLink({ name, onClose }: { name: string; onClose: () => void }) {
  const make = useMutation({
    mutationFn: () => ask(api.POST("/api/users/{userName}/login-link", { params: { path: { userName: name } } })),
    meta: { touches: [] },
  });
  return (
    <Modal opened onClose={onClose} title={`Login link for ${name}`} closeOnClickOutside={!make.data} closeButtonProps={{ "aria-label": "Close" }}>
      {make.data ? (
        <Stack>
          <Alert color="orange" title="Copy it now">
            It is shown this once and works once, within {duration(make.data.lastsSeconds)}. Whoever has it is let in as {name}.
          </Alert>
          <CopyField label="Link" value={location.origin + make.data.path} />
          <Button onClick={onClose} style={{ alignSelf: "flex-end" }}>
            I have it
          </Button>
        </Stack>
      ) : (
        <Stack>
          <Text size="sm">A link that signs {name} in once. Pass it on safely. It is in the audit log that you made it.</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button loading={make.isPending} onClick={() => make.mutate()} data-autofocus>
              Make link
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
