import { Button, Code, CopyButton, Group, Paper, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import type { ReactNode } from "react";
import { Facts } from "~/blocks/Facts";
import { bytes, many, moment } from "~/blocks/wording";
import classes from "./job.module.css";
import { asText, isRecord } from "./reading";
import type { JobDetail } from "./useJob";

export function SettingsTab({ job }: { job: JobDetail }) {
  const { file } = job;
  const options = Object.entries(job.options).filter(([name]) => name !== "roles");
  const address = `${location.origin}/api/jobs/${job.jobId}`;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Part title="Job">
        <Facts
          rows={[
            ["Number", <Copied key="id" value={String(job.jobId)} />],
            ["Name", job.name],
            ["Pipeline", job.pipeline],
            ["Kind", job.type],
            ["Owner", job.owner ?? "nobody; admins see it"],
            ["Created", moment(job.createdAt)],
            ["Priority", job.priority === null ? null : `${job.priority} (-100 is served first, 100 last)`],
            ["Kept", job.retentionDays === null ? "forever" : `${many(job.retentionDays, "day")} after an item ended`],
            ["Last sign of work", job.lastHeartbeat && moment(job.lastHeartbeat)],
          ]}
        />
      </Part>
      {file && (
        <Part title="File">
          <Facts
            rows={[
              ["Name", file.name],
              ["Kind", file.mediaType],
              ["Size", bytes(file.sizeBytes)],
              ["Stored", file.storedAt && moment(file.storedAt)],
              ["SHA-256", file.sha256 && <Copied key="sha" value={file.sha256} />],
            ]}
          />
        </Part>
      )}
      <Part title="Columns">
        {job.columns.length + job.resultColumns.length === 0 ? (
          <Text size="sm" c="dimmed">
            It has no columns: its items were sent as they are.
          </Text>
        ) : (
          <Columns job={job} />
        )}
      </Part>
      <Part title="Options">
        {options.length === 0 ? (
          <Text size="sm" c="dimmed">
            None were given.
          </Text>
        ) : (
          <Facts rows={options.map(([name, value]) => [name, asText(value)])} />
        )}
      </Part>
      <Part title="From a script">
        <Text size="sm">The same as JSON, with a token of yours:</Text>
        <Code block className={classes.json}>{`curl -H "Authorization: Bearer $TOKEN" ${address}`}</Code>
        <Copied value={`curl -H "Authorization: Bearer $TOKEN" ${address}`} label="Copy the call" bare />
      </Part>
    </SimpleGrid>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      <Stack gap="xs" align="stretch">
        {children}
      </Stack>
    </Paper>
  );
}

function Columns({ job }: { job: JobDetail }) {
  const given = isRecord(job.options.roles) ? job.options.roles : {};
  const roles = new Map(Object.entries(given).map(([role, heading]) => [String(heading), role]));
  const rows: [string, string][] = [
    ...job.columns.map((name): [string, string] => [name, roles.get(name) ?? "input"]),
    ...job.resultColumns.map((name): [string, string] => [name, "result"]),
  ];
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Columns">
      <Table fz="sm" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Column</Table.Th>
            <Table.Th>Role</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(([name, role], index) => (
            <Table.Tr key={index}>
              <Table.Td className="stored">{name}</Table.Td>
              <Table.Td className="stored">{role}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Copied({ value, label = "Copy", bare }: { value: string; label?: string; bare?: true }) {
  return (
    <Group gap="xs">
      {!bare && <span className="mono">{value}</span>}
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button size="compact-xs" variant="default" leftSection={copied ? <Check size={12} aria-hidden /> : <Copy size={12} aria-hidden />} onClick={copy}>
            {copied ? "Copied" : label}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
