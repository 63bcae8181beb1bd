import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { FileUp, FolderSync } from "lucide-react";
import { useEffect } from "react";
import { Page } from "~/blocks/Page";
import { ChooseFile } from "./ChooseFile";
import { choose, forget, pasted, useChosen } from "./chosen";
import { Places } from "./places/Places";
import { Prepare } from "./Prepare";
import { RecentUploads } from "./RecentUploads";
import { useSending, dismiss } from "./sending";
import { SendingPanel } from "./SendingPanel";

const route = getRouteApi("/upload");

export function Upload() {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page title="Upload" about="A table (CSV, XLSX), images, or a zip of images becomes a job; its rows appear as they are stored.">
      <Tabs
        value={tab ?? "file"}
        onChange={(value) => void navigate({ search: (was) => ({ ...was, tab: value === "places" ? "places" : undefined, place: undefined, files: undefined }) })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="file" leftSection={<FileUp size={14} aria-hidden />}>
            From a file
          </Tabs.Tab>
          <Tabs.Tab value="places" leftSection={<FolderSync size={14} aria-hidden />}>
            Watched places
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="file">
          <FromFile />
        </Tabs.Panel>
        <Tabs.Panel value="places">
          <Places />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function FromFile() {
  const chosen = useChosen();
  const sending = useSending();
  const navigate = route.useNavigate();

  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const target = event.target;
      if (target instanceof HTMLElement && target.matches("input, textarea")) return;
      const files = pasted(event.clipboardData);
      if (files.length > 0) choose(files);
    };
    window.addEventListener("paste", paste);
    return () => window.removeEventListener("paste", paste);
  }, []);

  // Straight to the job, unless somebody is elsewhere by then: a notice tells them.
  const jobId = sending?.state === "done" ? sending.submitted?.jobId : undefined;
  useEffect(() => {
    if (jobId === undefined) return;
    dismiss();
    forget();
    void navigate({ to: "/jobs/$jobId", params: { jobId: String(jobId) } });
  }, [jobId, navigate]);

  if (sending !== null && sending.state !== "done") return <SendingPanel sending={sending} />;
  if (chosen !== null) return <Prepare key={chosen.number} chosen={chosen} />;
  return (
    <>
      <ChooseFile />
      <RecentUploads />
    </>
  );
}
