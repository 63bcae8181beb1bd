import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import type { LiveEvent } from "~/live/events";
import { useConnection } from "~/live/live";
import { Pace } from "./pace";

const AT_MOST_EVERY_MS = 400;

/** Embeddings are a stage of the engine, whose moves are told; changes of articles themselves are told as objects. */
function isAboutArticles(event: LiveEvent): boolean {
  if (event.kind === "stage") return event.stage === "articles" || event.stage.startsWith("articles.");
  return event.kind === "reset" || (event.kind === "object" && event.type === "article");
}

/** Calls `changed` when articles or their embeddings changed: a lone change at once, many not more often than it ends. */
export function useArticleEvents(changed: () => Promise<unknown>): void {
  const connection = useConnection();
  const told = useEffectEvent(changed);
  useEffect(() => {
    const pace = new Pace(() => told(), AT_MOST_EVERY_MS);
    const leave = connection.listen((event) => {
      if (isAboutArticles(event)) pace.ask();
    });
    return () => {
      leave();
      pace.stop();
    };
  }, [connection]);
}

/** Keeps every query that begins with ["object", "article"] as fresh as the stream allows. */
export function useArticlesLive(): void {
  const queries = useQueryClient();
  // A fetch that is under way may have begun before the change: it goes on to its end, and then comes another one.
  useArticleEvents(async () => {
    const queryKey = ["object", "article"];
    if (queries.isFetching({ queryKey }) > 0) await queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
    await queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
  });
}
