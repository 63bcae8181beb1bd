import { Alert, Badge, Stack, Table, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Facts } from "~/blocks/Facts";
import { Wide } from "~/blocks/Wide";
import { count } from "~/blocks/wording";
import { Outside } from "./Outside";
import { notYet, type Detail } from "./Site";
import classes from "./sites.module.css";
import { pagesWith } from "./where";

type SiteFacts = Schemas["SiteFacts"];

/** What is known of the site, and where on it each thing stands. */
export function FactsTab({ site }: { site: Detail }) {
  const { facts } = site;
  if (!facts)
    return (
      <Empty kind="nothing" title="No facts yet">
        {notYet(site, "Facts")}
      </Empty>
    );
  return (
    <Stack gap="lg">
      {facts.notes.length > 0 && (
        <Alert color="orange" title="What could not be read">
          {facts.notes.map((note, index) => (
            <Text key={index} size="sm" className="stored">
              {note}
            </Text>
          ))}
        </Alert>
      )}
      <Facts
        rows={[
          ["Name", facts.name && <Found value={facts.name} facts={facts} />],
          ["Title", facts.title],
          ["Description", facts.description],
          ["Language", facts.language],
          ["Canonical address", facts.canonical && <Outside url={facts.canonical}>{facts.canonical}</Outside>],
        ]}
      />
      <Part title="Topics" empty="No topics were found." number={facts.topics.length}>
        <PlacedTable
          head={["Topic", "Weight"]}
          rows={facts.topics.map((topic) => [topic.text, topic.weight.toFixed(2), topic.place])}
        />
      </Part>
      <Part title="Offers" empty="No offers were found." number={facts.offers.length}>
        <PlacedTable head={["Offer", "Price"]} rows={facts.offers.map((offer) => [offer.text, offer.price ?? "–", offer.place])} />
      </Part>
      <Part title="Contacts and places" empty="Neither contacts nor places were found." number={contactsOf(facts).length}>
        <Facts rows={contactsOf(facts).map(([name, values]) => [name, values.map((value) => <Found key={value} value={value} facts={facts} block />)])} />
      </Part>
      <Part title="Pages" empty="No page was read." number={facts.pages.length}>
        <Pages pages={facts.pages} />
      </Part>
    </Stack>
  );
}

function contactsOf({ contacts, places }: SiteFacts): [string, string[]][] {
  const all: [string, string[]][] = [
    ["E-mail", contacts.emails],
    ["Telephone", contacts.phones],
    ["Addresses", contacts.addresses],
    ["Profiles", contacts.profiles],
    ["Places", places],
  ];
  return all.filter(([, values]) => values.length > 0);
}

/** A value, and the pages whose text holds it. */
function Found({ value, facts, block }: { value: string; facts: SiteFacts; block?: boolean }) {
  const pages = pagesWith(value, facts.pages);
  return (
    <span style={block ? { display: "block" } : undefined}>
      <span className="stored">{value}</span>{" "}
      {pages.length > 0 && (
        <Text span size="xs" c="dimmed">
          on{" "}
          {pages.slice(0, 3).map((page, index) => (
            <span key={page.url}>
              {index > 0 && ", "}
              <Outside url={page.url} />
            </span>
          ))}
          {pages.length > 3 && ` and ${count(pages.length - 3)} more`}
        </Text>
      )}
    </span>
  );
}

function Part({ title, number, empty, children }: { title: string; number: number; empty: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={2} size="h3" mb={6}>
        {title}
      </Title>
      {number === 0 ? (
        <Text size="sm" c="dimmed">
          {empty}
        </Text>
      ) : (
        children
      )}
    </section>
  );
}

function PlacedTable({ head, rows }: { head: [string, string]; rows: [string, string, Schemas["FoundAt"]][] }) {
  return (
    <Wide minWidth={520}>
      <Table fz="sm" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{head[0]}</Table.Th>
            <Table.Th>{head[1]}</Table.Th>
            <Table.Th>Where</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(([text, more, place], index) => (
            <Table.Tr key={index}>
              <Table.Td className="stored">{text}</Table.Td>
              <Table.Td className="stored numbers">{more}</Table.Td>
              <Table.Td>
                <Outside url={place.page} />
                {place.quote && (
                  <blockquote className={`${classes.quote} stored`}>
                    <Text size="xs" c="dimmed" component="span">
                      {place.quote}
                    </Text>
                  </blockquote>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

function Pages({ pages }: { pages: SiteFacts["pages"] }) {
  return (
    <Wide minWidth={620}>
      <Table fz="sm" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Page</Table.Th>
            <Table.Th>Title</Table.Th>
            <Table.Th>Language</Table.Th>
            <Table.Th ta="right">Words</Table.Th>
            <Table.Th>Notes</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {pages.map((page) => (
            <Table.Tr key={page.url}>
              <Table.Td>
                <Outside url={page.url} />
                {page.status !== 200 && (
                  <Badge size="xs" color="orange" variant="light" ml={6}>
                    {page.status}
                  </Badge>
                )}
              </Table.Td>
              <Table.Td className="stored">{page.title ?? "–"}</Table.Td>
              <Table.Td className="stored">{page.language ?? "–"}</Table.Td>
              <Table.Td ta="right" className="numbers">
                {count(page.words)}
              </Table.Td>
              <Table.Td className="stored">{page.notes.join(" ") || "–"}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
