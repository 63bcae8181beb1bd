import type { Schemas } from "~/api/client";

export function GridTab({ job }: { job: Schemas["JobDetail"] }) {
  return <p>The rows of job {job.jobId}.</p>;
}
