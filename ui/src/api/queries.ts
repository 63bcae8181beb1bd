import { MutationCache, QueryClient, type QueryKey } from "@tanstack/react-query";
import { notifications } from "@mantine/notifications";
import { AWAY, Problem } from "./client";

declare module "@tanstack/react-query" {
  interface Register {
    mutationMeta: {
      /** True: whoever asked shows the problem itself, e.g. beside the field. */
      ownProblem?: boolean;
      /** What to fetch again afterwards; everything that is shown if left out. */
      touches?: QueryKey[];
    };
  }
}

const LASTING = new Set([400, 401, 403, 404, 409, 413, 415, 422]);

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // What changes is told by the live stream, which makes it stale.
      staleTime: 30_000,
      gcTime: 120_000,
      refetchOnWindowFocus: true,
      // A service on the same machine answers without a network.
      networkMode: "always",
      retry: (count, error) => {
        const status = error instanceof Problem ? error.status : null;
        // A service that is away comes back: what waits for it is shown then, without a word from anybody.
        if (status === AWAY) return true;
        return (status === null || !LASTING.has(status)) && count < 8;
      },
      retryDelay: (count) => Math.min(300 * 1.6 ** count, 3000),
    },
    mutations: { retry: false, networkMode: "always" },
  },
  mutationCache: new MutationCache({
    onError: (error, _variables, _result, mutation) => {
      if (!mutation.meta?.ownProblem) tellProblem(error);
    },
    onSettled: (_data, _error, _variables, _result, mutation) => {
      const touches = mutation.meta?.touches;
      if (touches === undefined) void queries.invalidateQueries();
      else for (const queryKey of touches) void queries.invalidateQueries({ queryKey });
    },
  }),
});

const CLOSE = { "aria-label": "Close" };

/** A sentence in the corner, which stays: people read it after the fact. */
export function tellProblem(error: unknown): void {
  const problem = error instanceof Problem ? error : null;
  notifications.show({
    id: problem?.status === AWAY ? "away" : undefined,
    color: "red",
    title: problem?.body.title ?? "That did not work",
    message: error instanceof Error ? error.message : String(error),
    autoClose: 12_000,
    closeButtonProps: CLOSE,
  });
}

export function tellDone(message: string): void {
  notifications.show({ color: "green", message, autoClose: 5000, closeButtonProps: CLOSE });
}
