import { Button, Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RotateCw } from "lucide-react";
import { api, ask } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { moment } from "~/blocks/wording";
import { useMe } from "~/shell/me";
import classes from "./audit.module.css";
import { AuditDrawer } from "./AuditDrawer";
import { AuditFilters } from "./AuditFilters";
import { inWords, sentenceOf, type AuditEntry } from "./auditWords";
import { ObjectLink } from "./ObjectLink";

const route = getRouteApi("/audit");
const PAGE = 50;

/** Who did what. Older entries are fetched on demand; newer ones when one asks, so that nothing moves while one reads. */
export function Audit() {
  const me = useMe();
  const { entry: opened, ...filters } = route.useSearch();
  const navigate = route.useNavigate();
  // Whoever asks for an action by its name may mean a look; an operator sees who looked at what is theirs.
  const looks = filters.looks === true || filters.action !== undefined || me.role !== "admin";
  const asked = { ...filters, looks, since: moments(filters.since), until: moments(filters.until) };
  const found = useInfiniteQuery({
    queryKey: ["audit", asked],
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/audit", { params: { query: { ...asked, pageSize: PAGE, after: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const entries = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.keys(filters).length > 0;
  const open = (entry: number | undefined) => void navigate({ search: (was) => ({ ...was, entry }), replace: true, resetScroll: false });
  const chosen = entries.find((one) => one.entryId === opened);

  return (
    <Page
      title="Audit"
      about={me.role === "admin" ? "Who did what, newest first." : "What you did, and what others did to what is yours. Newest first."}
      actions={
        <Button variant="default" leftSection={<RotateCw size={14} aria-hidden />} loading={found.isRefetching} onClick={() => void found.refetch()}>
          Fetch newer
        </Button>
      }
    >
      <AuditFilters filters={filters} onChange={(next) => void navigate({ search: next })} />
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : (
        <Stack gap="sm">
          {entries.length > 0 ? (
            <ol className={classes.entries} aria-label="Entries">
              {entries.map((entry) => (
                <Row key={entry.entryId} entry={entry} opened={entry.entryId === opened} onOpen={() => open(entry.entryId)} />
              ))}
            </ol>
          ) : filtered ? (
            <Empty
              kind="filtered"
              title={found.hasNextPage ? "Nothing so far that fits" : "Nothing fits these filters"}
              action={
                <Button variant="default" onClick={() => void navigate({ search: {} })}>
                  Show everything
                </Button>
              }
            >
              {found.hasNextPage && "The newest 5,000 entries were looked at; older ones may fit."}
            </Empty>
          ) : (
            <Empty kind="nothing" title="Nothing was done yet">
              Every change that somebody makes is written here, with who, when and from where.
            </Empty>
          )}
          {found.hasNextPage && (
            <Group justify="center">
              <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                {entries.length > 0 ? "Show older" : "Look further back"}
              </Button>
            </Group>
          )}
          {opened !== undefined && !chosen && entries.length > 0 && (
            <Text size="sm" c="dimmed" ta="center">
              The entry of this address is not among those that are shown{found.hasNextPage ? "; it may be older." : "."}
            </Text>
          )}
          {entries.length > 0 && !found.hasNextPage && (
            <Text size="sm" c="dimmed" ta="center">
              That is all.
            </Text>
          )}
        </Stack>
      )}
      {chosen && <AuditDrawer entry={chosen} onClose={() => open(undefined)} />}
    </Page>
  );
}

function Row({ entry, opened, onOpen }: { entry: AuditEntry; opened: boolean; onOpen: () => void }) {
  const { who, did, what, more } = sentenceOf(entry);
  return (
    <li className={classes.entry} data-opened={opened || undefined}>
      <span className={classes.when}>
        <When at={entry.at} />
      </span>
      <span className={`stored ${classes.words}`}>
        <b>{who}</b> {did}
        {what !== null && entry.object !== null && (
          <>
            {" "}
            <ObjectLink kind={entry.kind} object={entry.object} />
          </>
        )}
        {more && `: ${more}`}
      </span>
      <Button size="compact-xs" variant="subtle" onClick={onOpen} aria-label={`Details: ${inWords(entry)}, ${moment(entry.at)}`}>
        Details
      </Button>
    </li>
  );
}

/** A time of the address as the service reads it. */
function moments(value: string | undefined): string | undefined {
  return value === undefined ? undefined : new Date(value).toISOString();
}
