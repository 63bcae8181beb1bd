import { NumberInput } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Everybodys } from "~/blocks/Everybodys";
import { Page } from "~/blocks/Page";
import { useWhose } from "~/shell/me";
import { ItemDrawer } from "./ItemDrawer";
import { PendingList, TypeSelect, type PendingSearch } from "./PendingList";

type JobType = NonNullable<NonNullable<Schemas["NewSelection"]["filter"]>["type"]>;
const TYPES: readonly JobType[] = ["csv", "xlsx", "images", "rows"];

/** Open items of all jobs. */
export function Pending() {
  const search = useSearch({ from: "/pending" });
  const navigate = useNavigate({ from: "/pending" });
  const onSearch = useCallback(
    (changes: PendingSearch & { type?: string; jobId?: number; everybody?: true }) => void navigate({ search: (was) => ({ ...was, ...changes }), replace: true }),
    [navigate],
  );
  const { jobId } = search;
  const jobType = TYPES.find((one) => one === search.type);
  const userId = useWhose(search.everybody);
  const askFor = useCallback(
    (query: { statuses: string; since?: string; until?: string; after?: string; before?: string; pageSize: number }, signal: AbortSignal) =>
      ask(api.GET("/api/pending", { params: { query: { ...query, jobType, jobId, userId } }, signal })),
    [jobType, jobId, userId],
  );
  const filter = useMemo(() => ({ jobId, type: jobType, userId }) as const, [jobId, jobType, userId]);
  return (
    <Page title="Pending" about="Unfinished items of all your jobs, longest waiting first, and why each one waits.">
      <PendingList
        label="Pending items"
        scope={JSON.stringify([jobType, jobId, userId])}
        ask={askFor}
        filter={filter}
        search={search}
        onSearch={onSearch}
        narrowed={jobType !== undefined || jobId !== undefined}
        onShowAll={() => void navigate({ search: (was) => ({ everybody: was.everybody }), replace: true })}
        further={
          <>
            <TypeSelect value={jobType} onChange={(type) => onSearch({ type })} />
            <NumberInput
              size="xs"
              w={110}
              label="Job ID"
              placeholder="Any"
              value={jobId ?? ""}
              onChange={(value) => onSearch({ jobId: typeof value === "number" && value > 0 ? value : undefined })}
              min={1}
              allowDecimal={false}
              allowNegative={false}
              hideControls
            />
            <Everybodys checked={search.everybody} onChange={(everybody) => onSearch({ everybody })} />
          </>
        }
      />
      {search.item !== undefined && <ItemDrawer itemId={search.item} onClose={() => onSearch({ item: undefined })} />}
    </Page>
  );
}
