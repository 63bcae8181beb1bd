import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Save } from "lucide-react";
import { useMemo, useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Page } from "~/blocks/Page";
import { Trouble } from "~/blocks/Trouble";
import { Allowed } from "~/shell/Allowed";
import { useKeys, type Key } from "~/shell/keys";
import { EMPTY, isUnsaved } from "./draft";
import { Fields } from "./Fields";
import { LeaveGuard } from "./LeaveGuard";

export function NewArticle() {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(EMPTY);
  const { title, content, message, visibility, priority, skipEmbedding } = draft;
  const save = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/api/articles", {
          body: { title: title.trim(), content, message: message.trim() || null, visibility, embeddingPriority: priority, skipEmbedding },
        }),
      ),
    meta: { ownProblem: true, touches: [["object", "article"]] },
    onSuccess: (saved) => {
      tellDone(saved.note ?? "Saved.");
      void navigate({ to: "/articles/$slug", params: { slug: saved.slug }, replace: true, ignoreBlocker: true });
    },
  });
  const missing = title.trim() === "" ? "It needs a title." : content.trim() === "" ? "It needs a text." : null;
  const { mutate, isPending } = save;
  const keys = useMemo(
    (): Key[] => [{ keys: "mod+s", does: "Save", act: () => missing === null && !isPending && mutate(), whileTyping: true }],
    [missing, isPending, mutate],
  );
  useKeys(keys);
  return (
    <Page
      title="New article"
      actions={
        <Allowed role="operator" unless={missing}>
          <Button leftSection={<Save size={16} aria-hidden />} loading={isPending} onClick={() => mutate()}>
            Save
          </Button>
        </Allowed>
      }
    >
      {save.isError && <Trouble error={save.error} />}
      <Fields draft={draft} onChange={setDraft} />
      <LeaveGuard unsaved={isUnsaved(draft, null) && !save.isSuccess} />
    </Page>
  );
}
