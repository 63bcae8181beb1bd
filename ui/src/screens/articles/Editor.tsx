import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Save } from "lucide-react";
import { useMemo, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Trouble } from "~/blocks/Trouble";
import { Allowed } from "~/shell/Allowed";
import { useKeys, type Key } from "~/shell/keys";
import classes from "./articles.module.css";
import { Conflict } from "./Conflict";
import { currentOf, draftOf, isNewer, isUnsaved, type Base, type Current, type Draft } from "./draft";
import { Fields } from "./Fields";
import { LeaveGuard } from "./LeaveGuard";

/** Writes an article. A draft belongs to the revision it began with; one that came meanwhile is shown, never overwritten. */
export function Editor({ article }: { article: Schemas["ArticleDetail"] }) {
  const { slug, author } = article;
  const [base, setBase] = useState<Base>(article);
  const [draft, setDraft] = useState<Draft>(() => draftOf(article));
  const [theirs, setTheirs] = useState<Current | null>(null);
  const [merging, setMerging] = useState(false);
  const unsaved = isUnsaved(draft, base);

  // Saved elsewhere: nobody is writing here, so the new text is simply shown.
  const newer = isNewer(article, base);
  if (newer && !unsaved && theirs === null) {
    setBase(article);
    setDraft(draftOf(article));
  }

  const save = useMutation({
    mutationFn: ({ draft, revision }: { draft: Draft; revision: number }) => {
      const { content, visibility, priority, skipEmbedding } = draft;
      const body = { title: draft.title.trim(), content, visibility, revision, skipEmbedding, embeddingPriority: priority, message: draft.message.trim() || null };
      return ask(api.PUT("/api/articles/{slug}", { params: { path: { slug } }, body }));
    },
    meta: { ownProblem: true, touches: [["object", "article"]] },
    onSuccess: (saved, { draft }) => {
      const stored = { title: saved.title, content: draft.content, visibility: saved.visibility, revision: saved.revision, updatedAt: saved.updatedAt };
      setBase(stored);
      setDraft({ ...draftOf(stored), priority: draft.priority });
      setTheirs(null);
      setMerging(false);
      tellDone(saved.note ?? (saved.changed ? `Saved as revision ${saved.revision}.` : "Nothing was different."));
    },
    onError: (error) => {
      const current = currentOf(error);
      if (current) setTheirs(current);
    },
  });
  const refused = save.isError && currentOf(save.error) === null;
  const blocked =
    draft.title.trim() === ""
      ? "It needs a title."
      : draft.content.trim() === ""
        ? "It needs a text."
        : theirs !== null && !merging
          ? "Choose first what becomes of the newer revision."
          : unsaved
            ? null
            : "Nothing has been changed.";
  const { mutate, isPending } = save;
  const keys = useMemo(
    (): Key[] => [
      { keys: "mod+s", does: "Save", act: () => blocked === null && !isPending && mutate({ draft, revision: base.revision }), whileTyping: true },
    ],
    [blocked, isPending, mutate, draft, base.revision],
  );
  useKeys(keys);

  return (
    <Stack>
      {theirs !== null && !merging && (
        <Conflict
          theirs={theirs}
          mine={draft}
          saving={isPending}
          onMine={() => mutate({ draft, revision: theirs.revision })}
          onTheirs={() => {
            const stored = { ...theirs, visibility: base.visibility };
            setBase(stored);
            setDraft(draftOf(stored));
            setTheirs(null);
            save.reset();
          }}
          onMerge={() => {
            setBase({ ...theirs, visibility: base.visibility });
            setMerging(true);
            save.reset();
          }}
        />
      )}
      {newer && unsaved && theirs === null && !merging && (
        <Alert color="orange" p="xs">
          {article.editedBy} saved revision {article.revision} meanwhile. When you save, you see both and choose.
        </Alert>
      )}
      {refused && <Trouble error={save.error} />}
      <Fields
        draft={draft}
        onChange={setDraft}
        beside={
          merging && theirs ? (
            <Stack gap={4}>
              <Text size="sm" fw={500}>
                Revision {theirs.revision} of {theirs.author}, to copy from
              </Text>
              <div className={`${classes.pane} stored mono`} role="region" aria-label="The newer revision" tabIndex={0}>
                {theirs.content}
              </div>
            </Stack>
          ) : undefined
        }
      />
      <Group>
        <Allowed role="operator" owner={author} unless={blocked}>
          <Button leftSection={<Save size={16} aria-hidden />} loading={isPending} onClick={() => mutate({ draft, revision: base.revision })}>
            Save
          </Button>
        </Allowed>
        <Text size="sm" c="dimmed" data-unsaved={unsaved}>
          {unsaved ? "Not saved yet." : `Revision ${base.revision} is saved.`}
        </Text>
      </Group>
      <LeaveGuard unsaved={unsaved} />
    </Stack>
  );
}
