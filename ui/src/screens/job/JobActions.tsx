import { Button, Menu, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ban, Download, EllipsisVertical, Pause, Play, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { ExportJob } from "~/blocks/ExportDialog";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useMoves } from "~/shell/moves";
import { RunAgain } from "./RunAgain";
import type { JobDetail } from "./useJob";

type Asked = "pause" | "cancel" | "again" | "export" | "delete";

export function JobActions({ job }: { job: JobDetail }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const params = { path: { jobId: job.jobId } };
  const touches = [["job", job.jobId], ["jobs"]];
  const resume = useMutation({ mutationFn: () => ask(api.POST("/api/jobs/{jobId}/resume", { params })), meta: { touches } });
  const refused = useMoves(job);
  const left = job.counts.pending + job.counts.processing;
  const over = left === 0 && job.totalItems > 0 && !storing(job) ? "Nothing of it waits or runs any more." : null;
  const stopped = (move: "pause" | "resume" | "cancel") => refused(move, "It is cancelled; run items again to bring it back.");
  const noCancel = stopped("cancel") ?? over;
  const noDelete = refused("delete", "It is gone already.");
  const close = () => setAsked(null);
  return (
    <>
      {job.queueState === "PAUSED" ? (
        <Allowed role="operator" owner={job.owner} unless={stopped("resume")}>
          <Button variant="default" leftSection={<Play size={16} aria-hidden />} loading={resume.isPending} onClick={() => resume.mutate()}>
            Resume
          </Button>
        </Allowed>
      ) : (
        <Allowed role="operator" owner={job.owner} unless={stopped("pause") ?? over}>
          <Button variant="default" leftSection={<Pause size={16} aria-hidden />} onClick={() => setAsked("pause")}>
            Pause
          </Button>
        </Allowed>
      )}
      <Allowed role="operator" owner={job.owner} unless={refused("reprocess", "It is an action on other items, which runs once.") ?? (left === job.totalItems ? "Nothing of it has ended yet." : null)}>
        <Button variant="default" leftSection={<RotateCcw size={16} aria-hidden />} onClick={() => setAsked("again")}>
          Run again
        </Button>
      </Allowed>
      <Button variant="default" leftSection={<Download size={16} aria-hidden />} onClick={() => setAsked("export")}>
        Export
      </Button>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" px="xs" aria-label="More that can be done">
            <EllipsisVertical size={16} aria-hidden />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Ban size={14} aria-hidden />} disabled={noCancel !== null} onClick={() => setAsked("cancel")}>
            Cancel job…
          </Menu.Item>
          <Menu.Item color="red" leftSection={<Trash2 size={14} aria-hidden />} disabled={noDelete !== null} onClick={() => setAsked("delete")}>
            Delete job…
          </Menu.Item>
          {noCancel !== null && <Menu.Label maw={240}>{noCancel}</Menu.Label>}
        </Menu.Dropdown>
      </Menu>
      {asked === "pause" && <PauseJob job={job} onClose={close} />}
      {asked === "cancel" && <CancelJob job={job} onClose={close} />}
      {asked === "delete" && <DeleteJob job={job} onClose={close} />}
      {asked === "again" && <RunAgain job={job} onClose={close} />}
      {asked === "export" && <ExportJob jobId={job.jobId} rows={job.totalItems} onClose={close} />}
    </>
  );
}

/** Rows of its file still come. */
function storing(job: JobDetail): boolean {
  return job.import?.state === "waiting" || job.import?.state === "storing";
}

type Props = { job: JobDetail; onClose: () => void };

function PauseJob({ job, onClose }: Props) {
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: () =>
      ask(api.POST("/api/jobs/{jobId}/pause", { params: { path: { jobId: job.jobId } }, body: { reason: reason.trim() || null } })),
    meta: { touches: [["job", job.jobId], ["jobs"]] },
  });
  return (
    <Confirm title="Pause this job?" verb="Pause job" onConfirm={() => pause.mutateAsync()} onClose={onClose}>
      {many(job.counts.pending, "waiting item")} will not be started. Of {many(job.counts.processing, "item")} that workers took, those that have begun will go on to
      the end, and the others will wait.
      <Textarea
        mt="sm"
        label="Reason"
        description="Shown to whoever asks why nothing moves."
        maxLength={500}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </Confirm>
  );
}

function CancelJob({ job, onClose }: Props) {
  const cancel = useMutation({
    mutationFn: () => ask(api.POST("/api/jobs/{jobId}/cancel", { params: { path: { jobId: job.jobId } } })),
    meta: { touches: [["job", job.jobId], ["jobs"]] },
    onSuccess: () => tellDone("The job is cancelled."),
  });
  return (
    <Confirm title="Cancel this job?" verb="Cancel job" danger onConfirm={() => cancel.mutateAsync()} onClose={onClose}>
      {many(job.counts.pending, "waiting item")} will end as cancelled, and {many(job.counts.processing, "item")} that workers took will be asked to stop. What has
      ended stays as it is: {count(job.processedItems)}. Cancelled items can be run again later.
    </Confirm>
  );
}

function DeleteJob({ job, onClose }: Props) {
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/jobs/{jobId}", { params: { path: { jobId: job.jobId } } })),
    // Not the job itself, which would be asked for once more and answered 404.
    meta: { touches: [["jobs"]] },
    onSuccess: () => {
      tellDone(`Job ${job.jobId} is deleted.`);
      void navigate({ to: "/jobs" });
    },
  });
  return (
    <Confirm title="Delete this job?" verb="Delete job" danger onConfirm={() => remove.mutateAsync()} onClose={onClose}>
      {many(job.totalItems, "item")} with their results{job.file && ", and the file they came from,"} will be gone for everybody. This cannot be taken back.
    </Confirm>
  );
}
