import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { History } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Allowed } from "~/shell/Allowed";
import classes from "./articles.module.css";
import { Diff } from "./Diff";

/** Every text that the article had; one of them beside the list, as what it changed or against the text of now. */
export function Revisions({ article }: { article: Schemas["ArticleDetail"] }) {
  const { slug } = article;
  const { revision = article.revision } = useSearch({ from: "/articles/$slug" });
  const found = useInfiniteQuery({
    queryKey: ["object", "article", slug, "revisions"],
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/articles/{slug}/revisions", { params: { path: { slug }, query: { after: pageParam, pageSize: 30 } }, signal })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
  });
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  const rows = found.data.pages.flatMap((page) => page.items);
  const oldest = rows.at(-1)?.revision ?? 1;
  return (
    <div className={classes.revisions}>
      <nav aria-label="Revisions">
        {rows.map((row) => (
          <Link
            key={row.revision}
            from="/articles/$slug"
            search={(was) => ({ ...was, revision: row.revision })}
            className={classes.revision}
            data-chosen={row.revision === revision || undefined}
            aria-current={row.revision === revision ? "true" : undefined}
          >
            <Text size="sm" fw={600}>
              Revision {row.revision}
              {row.revision === article.revision && " (now)"}
            </Text>
            <Text size="xs" c="dimmed">
              {row.author}, <When at={row.createdAt} />
            </Text>
            {row.message && (
              <Text size="sm" className="stored">
                {row.message}
              </Text>
            )}
          </Link>
        ))}
        {found.hasNextPage && (
          <Button variant="default" size="xs" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Older ones
          </Button>
        )}
      </nav>
      <One key={revision} article={article} number={revision} hasBefore={found.hasNextPage || revision > oldest} />
    </div>
  );
}

function useText(slug: string, number: number, wanted: boolean) {
  return useQuery({
    queryKey: ["revision", slug, number],
    queryFn: ({ signal }) => ask(api.GET("/api/articles/{slug}/revisions/{number}", { params: { path: { slug, number } }, signal })),
    // A revision never changes.
    staleTime: Infinity,
    enabled: wanted,
  });
}

function One({ article, number, hasBefore }: { article: Schemas["ArticleDetail"]; number: number; hasBefore: boolean }) {
  const { slug } = article;
  const { against } = useSearch({ from: "/articles/$slug" });
  const navigate = useNavigate({ from: "/articles/$slug" });
  const isNow = number === article.revision;
  const compareNow = against === "now" && !isNow;
  const chosen = useText(slug, number, true);
  const before = useText(slug, number - 1, hasBefore && !compareNow);
  if (chosen.isPending || (before.isLoading && !compareNow)) return <Loading />;
  if (chosen.isError) return <Trouble error={chosen.error} again={() => void chosen.refetch()} />;
  const { title, content } = chosen.data;
  const other = compareNow ? { title: article.title, content: article.content } : before.data;
  return (
    <Stack miw={0}>
      <Group justify="space-between">
        <SegmentedControl
          size="xs"
          aria-label="Compared with"
          value={compareNow ? "now" : "before"}
          data={[
            { value: "before", label: "What it changed" },
            { value: "now", label: "What changed since", disabled: isNow },
          ]}
          onChange={(value) => void navigate({ search: (was) => ({ ...was, against: value === "now" ? "now" : undefined }) })}
        />
        <Restore article={article} revision={chosen.data} />
      </Group>
      <Text fw={600} className="stored">
        {other && other.title !== title ? (compareNow ? `${title} → ${other.title}` : `${other.title} → ${title}`) : title}
      </Text>
      {other === undefined ? (
        <Diff before="" after={content} label={`Text of revision ${number}`} />
      ) : (
        <Diff
          before={compareNow ? content : other.content}
          after={compareNow ? other.content : content}
          label={compareNow ? `What changed since revision ${number}` : `What revision ${number} changed`}
        />
      )}
    </Stack>
  );
}

function Restore({ article, revision }: { article: Schemas["ArticleDetail"]; revision: Schemas["RevisionDetail"] }) {
  const { slug } = article;
  const [asking, setAsking] = useState(false);
  const navigate = useNavigate({ from: "/articles/$slug" });
  const restore = useMutation({
    mutationFn: () =>
      ask(
        api.PUT("/api/articles/{slug}", {
          params: { path: { slug } },
          body: { title: revision.title, content: revision.content, message: `Restored revision ${revision.revision}`, revision: article.revision },
        }),
      ),
    meta: { touches: [["object", "article"]] },
    onSuccess: (saved) => {
      tellDone(`Revision ${revision.revision} is the text again, as revision ${saved.revision}.`);
      void navigate({ search: { tab: "revisions" } });
    },
  });
  return (
    <>
      <Allowed role="operator" owner={article.author} unless={revision.revision === article.revision ? "This is the text of now." : null}>
        <Button size="xs" variant="default" leftSection={<History size={14} aria-hidden />} onClick={() => setAsking(true)}>
          Restore
        </Button>
      </Allowed>
      {asking && (
        <Confirm title={`Restore revision ${revision.revision}?`} verb="Restore" onConfirm={() => restore.mutateAsync()} onClose={() => setAsking(false)}>
          Its text is saved again as revision {article.revision + 1}. The revisions in between stay.
        </Confirm>
      )}
    </>
  );
}
