import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useReducer, useRef, useState } from "react";
import { api, ask } from "~/api/client";
import { tellProblem } from "~/api/queries";
import { accept, conflict, reject, setNote, undoBatch } from "./deciding";
import { keyOf, recordKey, recordQuery, type Candidate, type LinkRecord, type RecordDetail } from "./projects";
import { begun, current, hungry, next, type Move, type Session } from "./session";

const PAGE = 30;
// So many records are fetched ahead, so that the next one is there when a key is pressed.
const AHEAD = 4;

/** A decision that was not made, although the reviewer went on. */
export type Trouble = { number: number; message: string; current: LinkRecord | null };

export type Reviewing = {
  session: Session;
  /** What is on screen; null: it is being fetched, or there is none. */
  record: RecordDetail | null;
  ended: boolean;
  error: unknown;
  troubles: Trouble[];
  again: () => void;
  accept: (candidate: Candidate) => void;
  reject: () => void;
  skip: () => void;
  undo: () => void;
  go: (by: 1 | -1) => void;
  goTo: (number: number) => void;
  dismiss: (number: number) => void;
  skippedAgain: () => void;
  note: (number: number, text: string) => Promise<boolean>;
};

/** Decisions are sent while the reviewer is at the next record already; what is refused is told without moving them. */
export function useReview(projectId: number, first: number | undefined, onPlace: (record: number | null) => void): Reviewing {
  const queries = useQueryClient();
  const [session, dispatch] = useReducer(next, first, begun);
  const [troubles, setTroubles] = useState<Trouble[]>([]);
  const sent = useRef(new Map<number, Promise<string | null>>());
  const pages = useQueuePages(projectId, first, session, (numbers, more) => dispatch({ type: "fetched", numbers, more }));
  const number = current(session);
  const shown = useQuery({ ...recordQuery(projectId, number ?? 0), enabled: number !== null });
  const record = number !== null && shown.data?.number === number ? shown.data : null;

  const placed = useEffectEvent(() => onPlace(number));
  useEffect(() => {
    if (number !== null) placed();
  }, [number]);

  const { queue, at } = session;
  useEffect(() => {
    for (const one of queue.slice(at + 1, at + 1 + AHEAD)) void queries.prefetchQuery(recordQuery(projectId, one));
  }, [queries, projectId, queue, at]);

  const refresh = useCallback(
    (number: number) => {
      void queries.invalidateQueries({ queryKey: recordKey(projectId, number) });
      void queries.invalidateQueries({ queryKey: [...keyOf(projectId), "detail"] });
      void queries.invalidateQueries({ queryKey: [...keyOf(projectId), "scores"] });
    },
    [queries, projectId],
  );

  const decide = useCallback(
    (record: RecordDetail, move: Move, candidate: Candidate | null) => {
      const { number } = record;
      const asked = candidate === null ? reject(projectId, record) : accept(projectId, record, candidate.entity);
      setTroubles((was) => was.filter((one) => one.number !== number));
      dispatch({ type: "decide", deed: { number, move, label: candidate?.label ?? "", batch: null } });
      const answered = asked.then(
        ({ batch, record: now }) => {
          queries.setQueryData<RecordDetail>(recordKey(projectId, number), (was) => was && { ...was, ...now });
          dispatch({ type: "answered", number, batch });
          return batch;
        },
        (error: unknown) => {
          dispatch({ type: "without", number, go: false });
          const message = error instanceof Error ? error.message : String(error);
          setTroubles((was) => [...was, { number, message, current: conflict(error) }]);
          return null;
        },
      );
      sent.current.set(number, answered);
      void answered.finally(() => refresh(number));
    },
    [projectId, queries, refresh],
  );

  const last = session.deeds.at(-1);
  const undo = useCallback(() => {
    if (last === undefined) return;
    // At once, so that a second press undoes the one before.
    dispatch({ type: "without", number: last.number, go: true });
    void (async () => {
      const batch = last.batch ?? (await sent.current.get(last.number)) ?? null;
      if (batch === null) return;
      try {
        await undoBatch(projectId, batch);
      } catch (error) {
        tellProblem(error);
      }
      refresh(last.number);
    })();
  }, [last, projectId, refresh]);

  const note = useCallback(
    async (number: number, text: string) => {
      try {
        await setNote(projectId, number, text);
        return true;
      } catch (error) {
        tellProblem(error);
        return false;
      } finally {
        refresh(number);
      }
    },
    [projectId, refresh],
  );

  return {
    session,
    record,
    ended: number === null && !session.more,
    error: number === null ? pages.error : shown.error,
    troubles,
    again: () => {
      pages.again();
      void shown.refetch();
    },
    accept: useCallback((candidate) => record && decide(record, "accept", candidate), [record, decide]),
    reject: useCallback(() => record && decide(record, "reject", null), [record, decide]),
    skip: useCallback(() => dispatch({ type: "skip" }), []),
    undo,
    go: useCallback((by) => dispatch({ type: "go", by }), []),
    goTo: useCallback(
      (number) => {
        dispatch({ type: "goTo", number });
        setTroubles((was) => was.filter((one) => one.number !== number));
      },
      [],
    ),
    dismiss: useCallback((number) => setTroubles((was) => was.filter((one) => one.number !== number)), []),
    skippedAgain: useCallback(() => dispatch({ type: "skippedAgain" }), []),
    note,
  };
}

/** What waits, page by page behind the last one; behind the end come those before the record one began at. */
function useQueuePages(projectId: number, first: number | undefined, session: Session, onPage: (numbers: number[], more: boolean) => void) {
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const place = useRef({ from: first ?? 1, wrapped: first === undefined, busy: false });
  const fetched = useEffectEvent(onPage);
  const wanted = hungry(session, AHEAD);
  const known = session.queue.length;
  useEffect(() => {
    const at = place.current;
    if (!wanted || at.busy) return;
    at.busy = true;
    const query = { status: ["REVIEW" as const], pageSize: PAGE, fromNumber: at.from };
    ask(api.GET("/api/projects/{projectId}/records", { params: { path: { projectId }, query } })).then(
      (page) => {
        at.busy = false;
        const numbers = page.items.map((one) => one.number);
        const behind = page.nextCursor !== null;
        const wraps = !behind && !at.wrapped;
        if (wraps) at.wrapped = true;
        at.from = wraps ? 1 : (numbers.at(-1) ?? at.from) + 1;
        setError(null);
        fetched(numbers, behind || wraps);
        // A page may bring nothing that is new.
        setRound((was) => was + 1);
      },
      (problem: unknown) => {
        at.busy = false;
        setError(problem);
      },
    );
  }, [projectId, wanted, known, round]);
  return { error, again: useCallback(() => setRound((was) => was + 1), []) };
}
