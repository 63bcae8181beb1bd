// A sitting of one reviewer: which records there are to look at, where they are, and what they did. Pure.

export type Move = "accept" | "reject";

export type Deed = {
  number: number;
  move: Move;
  label: string;
  /** null until the service has answered, or if it was so already. */
  batch: string | null;
};

export type Session = {
  /** Numbers of records, in the order they are looked at. */
  queue: number[];
  at: number;
  /** There may be more behind the last one. */
  more: boolean;
  /** What was done and can be undone, newest last. */
  deeds: Deed[];
  skipped: number[];
};

export type Action =
  | { type: "fetched"; numbers: number[]; more: boolean }
  | { type: "go"; by: 1 | -1 }
  | { type: "goTo"; number: number }
  | { type: "skip" }
  | { type: "decide"; deed: Deed }
  | { type: "answered"; number: number; batch: string | null }
  /** The decision was not made, or was taken back. */
  | { type: "without"; number: number; go: boolean }
  | { type: "skippedAgain" };

export function begun(first: number | undefined): Session {
  return { queue: first === undefined ? [] : [first], at: 0, more: true, deeds: [], skipped: [] };
}

export function next(session: Session, action: Action): Session {
  switch (action.type) {
    case "fetched": {
      const known = new Set(session.queue);
      return { ...session, queue: [...session.queue, ...action.numbers.filter((one) => !known.has(one))], more: action.more };
    }
    case "go":
      return moved(session, session.at + action.by);
    case "goTo": {
      const at = session.queue.indexOf(action.number);
      if (at >= 0) return { ...session, at };
      // Of an earlier round: it comes before the one on screen.
      return { ...session, queue: [...session.queue.slice(0, session.at), action.number, ...session.queue.slice(session.at)] };
    }
    case "skip": {
      const number = session.queue[session.at];
      if (number === undefined) return session;
      const skipped = session.skipped.includes(number) ? session.skipped : [...session.skipped, number];
      return moved({ ...session, skipped }, session.at + 1);
    }
    case "decide": {
      const { deed } = action;
      const kept = session.deeds.filter((one) => one.number !== deed.number);
      const skipped = session.skipped.filter((one) => one !== deed.number);
      return moved({ ...session, deeds: [...kept, deed], skipped }, session.at + 1);
    }
    case "answered":
      return { ...session, deeds: session.deeds.map((one) => (one.number === action.number ? { ...one, batch: action.batch } : one)) };
    case "without": {
      const left = { ...session, deeds: session.deeds.filter((one) => one.number !== action.number) };
      return action.go ? next(left, { type: "goTo", number: action.number }) : left;
    }
    case "skippedAgain":
      return { ...session, queue: session.skipped, at: 0, skipped: [], more: false };
  }
}

/** One place behind the last is the end of the list. */
function moved(session: Session, at: number): Session {
  return { ...session, at: Math.min(Math.max(0, at), session.queue.length) };
}

/** The record on screen; null: before the first page is there, or behind the last. */
export function current(session: Session): number | null {
  return session.queue[session.at] ?? null;
}

/** Whether the next page should be fetched now, so that nobody waits for it. */
export function hungry(session: Session, ahead: number): boolean {
  return session.more && session.queue.length - session.at <= ahead;
}
