// What may be done with an object now. The service says it: pages have no lists of states of their own.
import { useRefusal } from "./me";

type Movable<Move extends string> = { moves: readonly Move[]; owner: string | null };

/** For a button: null where the move is possible, else why not. The role comes first, then what `state` says. */
export function useMoves<Move extends string>({ moves, owner }: Movable<Move>): (move: Move, state: string) => string | null {
  const refusal = useRefusal("operator", owner);
  return (move, state) => refusal ?? (moves.includes(move) ? null : state);
}
