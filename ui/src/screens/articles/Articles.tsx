import { Box, Button, Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { FilePlus2, FileUp } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { many } from "~/blocks/wording";
import { Grid, type Column } from "~/grid/Grid";
import { useWindow, type FetchPage } from "~/grid/useWindow";
import { Allowed } from "~/shell/Allowed";
import { useWhose } from "~/shell/me";
import { useArticleEvents } from "./articleEvents";
import { ImportDialog } from "./ImportDialog";
import { IndexChip } from "./IndexChip";

type Row = Schemas["ArticleBody"];

const slugOf = (row: Row) => row.slug;
const MOST_NEW = 100;

const COLUMNS: Column<Row>[] = [
  {
    id: "title",
    header: "Title",
    width: 270,
    grows: true,
    twoLines: true,
    cell: (row) => (
      <GoTo to="/articles/$slug" params={{ slug: row.slug }} inherit>
        {row.title}
      </GoTo>
    ),
  },
  { id: "index", header: "Index", width: 230, cell: (row) => <IndexChip embedding={row.embedding} oneLine /> },
  { id: "author", header: "Author", width: 120, cell: (row) => row.author },
  { id: "visibility", header: "Who sees it", width: 110, cell: (row) => (row.visibility === "shared" ? "Everybody" : "Author only") },
  { id: "changed", header: "Changed", width: 120, cell: (row) => <When at={row.updatedAt} /> },
];

export function Articles() {
  const { author, everybody, add } = useSearch({ from: "/articles" });
  const navigate = useNavigate({ from: "/articles" });
  const userId = useWhose(everybody);
  const filters = useMemo(() => ({ author, userId }) as const, [author, userId]);
  const list = useArticles(filters);

  return (
    <Page
      title="Articles"
      about="Saved at once, found by their words from then on, and by their meaning once they are indexed."
      actions={
        <>
          <Allowed role="operator">
            <Button variant="default" leftSection={<FileUp size={16} aria-hidden />} onClick={() => void navigate({ search: (was) => ({ ...was, add: true }) })}>
              Import
            </Button>
          </Allowed>
          <Allowed role="operator">
            <Button leftSection={<FilePlus2 size={16} aria-hidden />} onClick={() => void navigate({ to: "/articles/new" })}>
              New article
            </Button>
          </Allowed>
        </>
      }
    >
      <Group gap="sm" align="flex-end">
        <AuthorFilter author={author} onChange={(author) => void navigate({ search: (was) => ({ ...was, author }), replace: true })} />
        <Box pb={8}>
          <Everybodys checked={everybody} onChange={(chosen) => void navigate({ search: (was) => ({ ...was, everybody: chosen }) })} />
        </Box>
        {list.fresh > 0 && (
          <Button size="xs" radius="xl" mb={4} onClick={list.showNew}>
            {list.fresh >= MOST_NEW ? `${MOST_NEW} or more` : list.fresh} new
          </Button>
        )}
      </Group>
      {list.window.cold && list.window.error === null ? (
        <Loading rows={10} />
      ) : list.window.error !== null && list.window.rows.length === 0 ? (
        <Trouble error={list.window.error} again={list.window.restart} />
      ) : list.window.rows.length === 0 ? (
        author ? (
          <Empty
            kind="filtered"
            title={`No articles of ${author} that you may see`}
            action={
              <Button variant="default" onClick={() => void navigate({ search: (was) => ({ ...was, author: undefined }) })}>
                Show all authors
              </Button>
            }
          />
        ) : (
          <Empty kind="nothing" title="No articles yet">
            Write the first one with <b>New article</b>, or import a CSV, a Markdown file or a zip of them.
          </Empty>
        )
      ) : (
        <Grid
          key={list.round}
          label="Articles"
          rows={list.window.rows}
          columns={COLUMNS}
          idOf={slugOf}
          first={list.window.first}
          last={list.window.last}
          onMore={list.window.more}
          onVisible={list.onVisible}
          onOpen={(row) => void navigate({ to: "/articles/$slug", params: { slug: row.slug } })}
        />
      )}
      {list.window.last && list.window.first && list.window.rows.length > 0 && (
        <Text size="sm" c="dimmed">
          {many(list.window.rows.length, "article")}.
        </Text>
      )}
      {add && <ImportDialog onClose={() => void navigate({ search: (was) => ({ ...was, add: undefined }) })} onDone={list.showNew} />}
    </Page>
  );
}

function AuthorFilter({ author, onChange }: { author: string | undefined; onChange: (author: string | undefined) => void }) {
  const [typed, setTyped] = useState(author ?? "");
  const [shown, setShown] = useState(author);
  if (shown !== author) {
    setShown(author);
    if ((author ?? "") !== typed.trim()) setTyped(author ?? "");
  }
  const tell = useDebouncedCallback((value: string) => onChange(value.trim() || undefined), 300);
  return (
    <TextInput
      label="Author"
      placeholder="Everybody"
      w={200}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
    />
  );
}

/** The window over the list. Rows on screen change in place; what came since its first row is counted for a pill. */
function useArticles(filters: { author: string | undefined; userId: "me" | "all" }) {
  const [fresh, setFresh] = useState(0);
  const [round, setRound] = useState(0);
  const visible = useRef<(number | string)[]>([]);
  const fetchPage: FetchPage<Row> = async (where, pageSize, signal) => {
    const page = await ask(api.GET("/api/articles", { params: { query: { ...filters, ...where, pageSize } }, signal }));
    const { items, startCursor, endCursor, nextCursor, previousCursor } = page;
    return { items, startCursor, endCursor, more: (where.before ? previousCursor : nextCursor) !== null };
  };
  const listKey = JSON.stringify(filters);
  const window = useWindow<Row>({ listKey, fetchPage, idOf: slugOf });
  const [counted, setCounted] = useState(listKey);
  if (counted !== listKey) {
    setCounted(listKey);
    setFresh(0);
  }

  useArticleEvents(async () => {
    const slug = visible.current.map(String).slice(0, 200);
    if (slug.length > 0) window.patch((await ask(api.GET("/api/articles-now", { params: { query: { slug } } }))).items);
    if (!window.first) return;
    // An empty list has no place to count from: its first row is news enough.
    if (window.start === null) return window.restart();
    const newer = await ask(api.GET("/api/articles", { params: { query: { ...filters, before: window.start, pageSize: MOST_NEW } } }));
    const known = new Set(window.rows.map(slugOf));
    setFresh(newer.items.filter((row) => !known.has(row.slug)).length);
  });

  return {
    window,
    fresh,
    round,
    onVisible: (ids: (number | string)[]) => {
      visible.current = ids;
    },
    showNew: () => {
      setFresh(0);
      setRound(round + 1);
      window.restart();
    },
  };
}
