import { Box, Button, Group, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Bookmark, RotateCw, Search as SearchIcon } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { milliseconds } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useKeys, type Key } from "~/shell/keys";
import { useWhose } from "~/shell/me";
import { useArticleEvents } from "./articleEvents";
import { CoverageLine } from "./CoverageLine";
import { dayEnd, dayStart } from "./days";
import { Hits } from "./Hits";
import { Notice } from "./Notice";
import { SaveQuery } from "./SaveQuery";

type Mode = Schemas["SearchBody"]["mode"];

const MODES = [
  { value: "hybrid", label: "Both" },
  { value: "semantic", label: "Meaning" },
  { value: "keyword", label: "Words" },
] as const;

export function SearchPage() {
  const search = useSearch({ from: "/search" });
  const { q, author, since, until, everybody } = search;
  const userId = useWhose(everybody);
  const mode: Mode = search.mode ?? "hybrid";
  const navigate = useNavigate({ from: "/search" });
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const [saving, setSaving] = useState(false);
  const [changed, setChanged] = useState(false);

  const asked = {
    q: q ?? "",
    mode,
    author,
    since: dayStart(since),
    until: dayEnd(until),
    userId,
  };
  const found = useInfiniteQuery({
    // Not among the keys that the stream refreshes: results would move under the pointer.
    queryKey: ["article-search", asked],
    queryFn: async ({ pageParam, signal }) => {
      const page = await ask(api.GET("/api/search", { params: { query: { ...asked, after: pageParam } }, signal }));
      setChanged(false);
      return page;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    enabled: asked.q.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 5000,
  });
  useArticleEvents(() => {
    if (found.data) setChanged(true);
    return Promise.resolve();
  });

  const keys = useMemo((): Key[] => [{ keys: "/", does: "Write a query", act: () => box.current?.select() }], []);
  useKeys(keys);

  const first = found.data?.pages[0];
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = author !== undefined || since !== undefined || until !== undefined;
  const set = (change: Partial<typeof search>) => void navigate({ search: (was) => ({ ...was, ...change }), replace: true });

  return (
    <Page title="Search" about="Finds articles by their meaning, by their words, or by both.">
      <Stack gap="sm" role="search">
        <QueryBox q={q} box={box} onChange={(q) => set({ q })} onDown={() => list.current?.querySelector<HTMLElement>("a[data-title]")?.focus()} />
        <Group gap="sm" align="flex-end">
          <SegmentedControl
            aria-label="Search by"
            data={MODES.map((one) => ({ ...one }))}
            value={mode}
            onChange={(value) => set({ mode: value === "semantic" || value === "keyword" ? value : undefined })}
          />
          <TextInput
            label="Author"
            size="xs"
            w={130}
            key={`author ${author ?? ""}`}
            defaultValue={author ?? ""}
            onBlur={(event) => set({ author: event.currentTarget.value.trim() || undefined })}
            onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
          />
          <TextInput label="Changed from" type="date" size="xs" value={since?.slice(0, 10) ?? ""} onChange={(event) => set({ since: event.currentTarget.value || undefined })} />
          <TextInput label="to" type="date" size="xs" value={until?.slice(0, 10) ?? ""} onChange={(event) => set({ until: event.currentTarget.value || undefined })} />
          <Box pb={6}>
            <Everybodys checked={everybody} onChange={(chosen) => set({ everybody: chosen })} />
          </Box>
        </Group>
      </Stack>

      {asked.q.trim() === "" ? (
        <Empty kind="nothing" title="What are you looking for?">
          Write a question or a few words. <b>"A phrase"</b>, <b>OR</b> and <b>-without</b> work, too. <b>/</b> comes back to the field, arrows move through the results.
        </Empty>
      ) : found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : (
        first && (
          <Stack gap="sm" aria-busy={found.isPlaceholderData}>
            <Group justify="space-between" gap="xs">
              <CoverageLine coverage={first.coverage} />
              <Group gap="xs">
                {changed && (
                  <Button size="compact-xs" variant="default" leftSection={<RotateCw size={12} aria-hidden />} onClick={() => void found.refetch()}>
                    The index changed, search again
                  </Button>
                )}
                <Text size="sm" c="dimmed" className="numbers">
                  {milliseconds(Object.values(first.tookMs).reduce((sum, ms) => sum + ms, 0))}
                </Text>
                <Allowed role="operator">
                  <Button size="compact-xs" variant="default" leftSection={<Bookmark size={12} aria-hidden />} onClick={() => setSaving(true)}>
                    Save for comparisons
                  </Button>
                </Allowed>
              </Group>
            </Group>
            {first.notice !== null && <Notice text={first.notice} />}
            {items.length > 0 ? (
              <Hits items={items} list={list} onLeave={() => box.current?.focus()} />
            ) : (
              <Nothing
                total={first.coverage.total}
                found={first.coverage.indexed + first.coverage.stale}
                mode={mode}
                filtered={filtered}
                onMeaning={() => set({ mode: "semantic" })}
                onClear={() => set({ author: undefined, since: undefined, until: undefined })}
              />
            )}
            {found.hasNextPage && (
              <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                More results
              </Button>
            )}
          </Stack>
        )
      )}
      {saving && <SaveQuery query={asked.q} candidates={items} onClose={() => setSaving(false)} />}
    </Page>
  );
}

type BoxProps = { q: string | undefined; box: React.RefObject<HTMLInputElement | null>; onChange: (q: string | undefined) => void; onDown: () => void };

/** Searches as one types, a moment after the last letter; Enter at once. */
function QueryBox({ q, box, onChange, onDown }: BoxProps) {
  const [typed, setTyped] = useState(q ?? "");
  const [shown, setShown] = useState(q);
  if (shown !== q) {
    setShown(q);
    if ((q ?? "") !== typed.trim()) setTyped(q ?? "");
  }
  const tell = useDebouncedCallback((value: string) => onChange(value.trim() || undefined), 180);
  return (
    <TextInput
      ref={box}
      type="search"
      aria-label="What to find"
      placeholder="how do I get my money back"
      size="md"
      maxLength={1000}
      leftSection={<SearchIcon size={18} aria-hidden />}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") onChange(typed.trim() || undefined);
        else if (event.key === "ArrowDown") onDown();
        else return;
        event.preventDefault();
      }}
    />
  );
}

/** Why there are no results: none are there, none are indexed, filters hide them, or nothing fits. */
function Nothing({ total, found, mode, filtered, onMeaning, onClear }: { total: number; found: number; mode: Mode; filtered: boolean; onMeaning: () => void; onClear: () => void }) {
  if (total === 0)
    return (
      <Empty kind="nothing" title="No articles yet" action={<GoToButton to="/articles">Go to the articles</GoToButton>}>
        Write one or import some; they are found as soon as they are saved.
      </Empty>
    );
  if (found === 0 && mode === "semantic")
    return (
      <Empty
        kind="nothing"
        title="Nothing is indexed yet"
        action={
          <GoToButton to="/index" variant="default">
            See what the index waits for
          </GoToButton>
        }
      >
        By their words the articles are found already.
      </Empty>
    );
  if (filtered)
    return (
      <Empty
        kind="filtered"
        title="Nothing within these filters"
        action={
          <Button variant="default" onClick={onClear}>
            Search without them
          </Button>
        }
      >
        The author and the dates leave nothing that fits.
      </Empty>
    );
  if (found === 0 || mode === "semantic")
    return (
      <Empty kind="filtered" title="No results">
        Nothing fits. Try other words.
      </Empty>
    );
  return (
    <Empty
      kind="filtered"
      title="No results"
      action={
        <Button variant="default" onClick={onMeaning}>
          Search by meaning alone
        </Button>
      }
    >
      {mode === "keyword" ? "No article has these words." : "No article has these words, and none means nearly the same."} By meaning alone more is found, also what is less near.
    </Empty>
  );
}
