import { Badge, Progress, Text } from "@mantine/core";
import { GoTo } from "~/blocks/links";
import { count, percent, sentence } from "~/blocks/wording";
import classes from "./grid.module.css";
import { ATTEMPTS, ERROR, STATUS, summary, textColumn, UPDATED, WHY, type ItemColumn } from "./gridColumns";
import type { Item, ItemJob } from "./gridRows";

/** `jobs`: what is known of the jobs of these items; null inside one job, where it goes without saying. */
export function pendingColumns(jobs: ReadonlyMap<number, ItemJob> | null): ItemColumn[] {
  return [
    textColumn("item", "Item ID", 110, (item) => String(item.itemId), "right"),
    ...(jobs === null ? [] : [jobColumn(jobs)]),
    textColumn("title", "Title / Brand", 260, summary),
    STATUS,
    ATTEMPTS,
    { ...WHY, width: 260 },
    textColumn("locked", "LockedBy", 170, (item) => item.lockedBy ?? ""),
    UPDATED,
    ...(jobs === null ? [] : [typeColumn(jobs), progressColumn(jobs)]),
    ERROR,
  ];
}

function jobColumn(jobs: ReadonlyMap<number, ItemJob>): ItemColumn {
  return {
    ...textColumn("job", "Job ID", 190, (item) => String(item.jobId)),
    cell: (item) => {
      const words = [item.jobId, jobs.get(item.jobId)?.name].filter(Boolean).join(" · ");
      return (
        <GoTo to="/jobs/$jobId" params={{ jobId: String(item.jobId) }} size="sm" aria-label={`Go to job ${words}`}>
          {words}
        </GoTo>
      );
    },
  };
}

function typeColumn(jobs: ReadonlyMap<number, ItemJob>): ItemColumn {
  const text = (item: Item) => jobs.get(item.jobId)?.type ?? "";
  return {
    ...textColumn("type", "Job type", 100, text),
    cell: (item) =>
      text(item) && (
        <Badge variant="default" tt="none" size="sm">
          {typeWord(text(item))}
        </Badge>
      ),
  };
}

export function typeWord(type: string): string {
  return type === "csv" || type === "xlsx" ? type.toUpperCase() : sentence(type);
}

function progressColumn(jobs: ReadonlyMap<number, ItemJob>): ItemColumn {
  const share = (job: ItemJob) => (job.totalItems === 0 ? 0 : job.processedItems / job.totalItems);
  const text = (item: Item) => {
    const job = jobs.get(item.jobId);
    return job === undefined ? "" : `${count(job.processedItems)}/${count(job.totalItems)} ${percent(share(job))}`;
  };
  return {
    ...textColumn("progress", "Job progress", 210, text),
    cell: (item) => {
      const job = jobs.get(item.jobId);
      return (
        job && (
          <span className={classes.pill}>
            <Progress size="sm" className={classes.bar} value={share(job) * 100} aria-label={`Progress of job ${job.jobId}`} />
            <Text span size="xs">
              {text(item)}
            </Text>
          </span>
        )
      );
    },
  };
}
