import { Alert, Button, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Page } from "~/blocks/Page";
import { Markdown } from "~/blocks/Markdown";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useRefusal } from "~/shell/me";
import { useArticlesLive } from "./articleEvents";
import classes from "./articles.module.css";
import { Editor } from "./Editor";
import { IndexChip } from "./IndexChip";
import { Revisions } from "./Revisions";
import { ARTICLE_TABS } from "./routes";
import { Similar } from "./Similar";

const NAMES = { text: "Text", revisions: "Revisions", similar: "More like this" };

export function Article() {
  const { slug } = useParams({ from: "/articles/$slug" });
  useArticlesLive();
  const found = useQuery({
    queryKey: ["object", "article", slug],
    queryFn: ({ signal }) => ask(api.GET("/api/articles/{slug}", { params: { path: { slug } }, signal })),
  });
  if (found.data) return <Shown key={slug} article={found.data} gone={found.isError ? found.error : null} />;
  return <Page title="Article">{found.isError ? <Trouble error={found.error} again={() => void found.refetch()} /> : <Loading />}</Page>;
}

function Shown({ article, gone }: { article: Schemas["ArticleDetail"]; gone: unknown }) {
  const { slug, author } = article;
  const { tab = "text" } = useSearch({ from: "/articles/$slug" });
  const navigate = useNavigate({ from: "/articles/$slug" });
  const refusal = useRefusal("operator", author);
  return (
    <Page
      title={article.title}
      about={
        <>
          Revision {article.revision} of {author}
          {article.editedBy !== author && `, saved by ${article.editedBy}`}, <When at={article.updatedAt} /> ·{" "}
          {article.visibility === "shared" ? "everybody sees it" : "only its author sees it"}
          {article.source && (
            <span className="stored">
              {" "}
              · imported from {article.source}
            </span>
          )}
        </>
      }
      actions={<Delete article={article} />}
    >
      <IndexChip embedding={article.embedding} />
      {gone !== null && <Trouble error={gone} />}
      <Tabs
        value={tab}
        onChange={(value) => void navigate({ search: { tab: ARTICLE_TABS.slice(1).find((one) => one === value) } })}
        keepMounted
      >
        <Tabs.List mb="md">
          {ARTICLE_TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {NAMES[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="text">{refusal === null ? <Editor article={article} /> : <Reading article={article} why={refusal} />}</Tabs.Panel>
        <Tabs.Panel value="revisions">{tab === "revisions" && <Revisions article={article} />}</Tabs.Panel>
        <Tabs.Panel value="similar">{tab === "similar" && <Similar slug={slug} />}</Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Reading({ article, why }: { article: Schemas["ArticleDetail"]; why: string }) {
  return (
    <>
      <Alert color="gray" mb="md" p="xs">
        You can read it. {why}
      </Alert>
      <div className={classes.pane}>
        <Markdown text={article.content} />
      </div>
      {article.message && (
        <Text size="sm" c="dimmed" className="stored">
          Last change: {article.message}
        </Text>
      )}
    </>
  );
}

function Delete({ article }: { article: Schemas["ArticleDetail"] }) {
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const { slug, title, revision } = article;
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/articles/{slug}", { params: { path: { slug } } })),
    // Not the article itself, which is gone: it would be asked for once more.
    meta: { touches: [] },
    onSuccess: (gone) => {
      tellDone(`${title} is deleted, with ${many(gone.revisions, "revision")}.`);
      void navigate({ to: "/articles", ignoreBlocker: true });
    },
  });
  return (
    <>
      <Allowed role="operator" owner={article.author}>
        <Button variant="default" leftSection={<Trash2 size={16} aria-hidden />} onClick={() => setAsking(true)}>
          Delete
        </Button>
      </Allowed>
      {asking && (
        <Confirm title="Delete this article?" verb="Delete article" danger onConfirm={() => remove.mutateAsync()} onClose={() => setAsking(false)}>
          <span className="stored">
            “{title}” goes with {revision === 1 ? "its only revision" : `all ${many(revision, "revision")}`}, and out of the index. This cannot be taken back.
          </span>
        </Confirm>
      )}
    </>
  );
}
