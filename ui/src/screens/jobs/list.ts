// A list of jobs that is fetched again while people look at it: nothing moves, nothing is lost at its end.

type Numbered = { jobId: number };

/**
 * What is shown, newest first, after `fresh` was fetched. New jobs push the last known ones out of the pages that were
 * asked for: those stay as they were. What is missing in between is gone.
 */
export function merged<J extends Numbered>(shown: J[], fresh: J[], more: boolean): J[] {
  if (!more) return fresh;
  const oldest = fresh.at(-1)?.jobId ?? Infinity;
  return [...fresh, ...shown.filter((job) => job.jobId < oldest)];
}

/** The rows that stand, and those that wait in the pill until somebody wants them. */
export function split<J extends Numbered>(jobs: J[], top: number): { standing: J[]; waiting: J[] } {
  return { standing: jobs.filter((job) => job.jobId <= top), waiting: jobs.filter((job) => job.jobId > top) };
}
