import type { Schemas } from "~/api/client";

export function PendingTab({ job }: { job: Schemas["JobDetail"] }) {
  return <p>What of job {job.jobId} is still open.</p>;
}
