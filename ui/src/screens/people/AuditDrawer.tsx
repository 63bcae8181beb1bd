import { Code, Group, Stack } from "@mantine/core";
import { Drawer } from "~/blocks/Drawer";
import { Facts } from "~/blocks/Facts";
import { GoToButton } from "~/blocks/links";
import { moment } from "~/blocks/wording";
import { actorWord, inWords, kindWord, type AuditEntry } from "./auditWords";
import { ObjectLink } from "./ObjectLink";

/** Everything that is kept of one act, and the ways to more of the same. */
export function AuditDrawer({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  return (
    <Drawer title={inWords(entry)} onClose={onClose}>
      <Stack>
        <Facts
          rows={[
            ["When", moment(entry.at)],
            ["Who", actorWord(entry.actor)],
            ["From", entry.ip],
            ["Action", <Code key="action">{entry.action}</Code>],
            ["Object", entry.object === null ? null : <ObjectLink key="object" kind={entry.kind} object={entry.object} />],
            ["Belongs to", entry.owner],
            ["Request", entry.requestId && <Code key="request">{entry.requestId}</Code>],
          ]}
        />
        {Object.keys(entry.details).length > 0 && (
          <Code block className="stored">
            {JSON.stringify(entry.details, null, 2)}
          </Code>
        )}
        <Group gap="xs">
          <GoToButton variant="default" size="xs" to="/audit" search={{ actor: entry.actor }}>
            All of {actorWord(entry.actor)}
          </GoToButton>
          {entry.kind !== null && entry.object !== null && (
            <GoToButton variant="default" size="xs" to="/audit" search={{ kind: entry.kind, object: entry.object }}>
              All about this {kindWord(entry.kind)}
            </GoToButton>
          )}
          <GoToButton variant="default" size="xs" to="/audit" search={{ action: entry.action }}>
            All such acts
          </GoToButton>
        </Group>
      </Stack>
    </Drawer>
  );
}
