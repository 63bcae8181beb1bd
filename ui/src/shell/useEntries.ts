import { useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, ask } from "~/api/client";
import { useConnection, useLiveState } from "~/live/live";
import type { Entry } from "./entries";
import { useMe } from "./me";
import { useSignOut } from "./useSignOut";
import { useVisibleParts } from "./visible";

/** Jobs that the palette finds by name: the newest ones. Others are found by number, or on the screen of jobs. */
const JOBS = 200;

type Options = { onKeys: () => void; onPauseStage: (stage: { pipeline: string; stage: string }) => void };

/** Everything that the palette can lead to or do for this user. */
export function useEntries({ onKeys, onPauseStage }: Options): Entry[] {
  const parts = useVisibleParts();
  const me = useMe();
  const connection = useConnection();
  const paused = useLiveState() === "paused";
  const { setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const jobs = useQuery({
    queryKey: ["jobs", "palette"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs", { params: { query: { pageSize: JOBS } }, signal })),
  }).data?.items;
  const stages = useQuery({
    queryKey: ["stages", "palette"],
    queryFn: ({ signal }) => ask(api.GET("/api/stages", { signal })),
  }).data?.items;

  return useMemo(() => {
    const mayAct = me.role !== "viewer";
    const screens = parts.flatMap((part) => part.screens.map((one) => ({ name: one.name, hint: part.name, words: one.words, ...(one.served ? { act: () => window.location.assign(one.to) } : { to: one.to }) })));
    const has = (path: string) => me.screens.some((one) => one.path === path);
    const deeds: Entry[] = [
      ...(mayAct
        ? [
            { name: "Upload a file", hint: "Action", words: "new job import csv", to: "/upload" },
            ...(has("/articles") ? [{ name: "Write an article", hint: "Action", words: "new", to: "/articles/new" }] : []),
            ...(has("/linking") ? [{ name: "Start a linking project", hint: "Action", words: "new match records", to: "/linking/new" }] : []),
          ]
        : []),
      { name: "Make a token", hint: "Action", words: "new api", to: "/settings?tab=tokens" },
      { name: "Change my password", hint: "Action", words: "sessions", to: "/settings" },
      {
        name: paused ? "Go on with live changes" : "Pause live changes",
        hint: "Action",
        words: "stream freeze resume",
        act: () => connection.setPaused(!paused),
      },
      { name: "Light theme", hint: "Action", act: () => setColorScheme("light") },
      { name: "Dark theme", hint: "Action", act: () => setColorScheme("dark") },
      { name: "Theme of the system", hint: "Action", words: "auto", act: () => setColorScheme("auto") },
      { name: "Show the keys", hint: "Action", words: "shortcuts help", act: onKeys },
      { name: "Sign out", hint: "Action", words: "log out leave", act: signOut },
    ];
    const ofStages = (stages ?? []).flatMap(({ pipeline, stage, pausedAt }): Entry[] => {
      const label = pipeline === stage ? stage : `${pipeline} / ${stage}`;
      const to = `/stages/${encodeURIComponent(pipeline)}/${encodeURIComponent(stage)}`;
      const seen: Entry = { name: `Stage ${label}`, hint: "Stage", to, onlyTyped: true };
      if (!mayAct) return [seen];
      const name = `${pausedAt ? "Resume" : "Pause"} stage ${label} …`;
      return [seen, { name, hint: "Action", onlyTyped: true, ...(pausedAt ? { to } : { act: () => onPauseStage({ pipeline, stage }) }) }];
    });
    const ofJobs = (jobs ?? []).map((job): Entry => {
      return { name: job.name ?? `Job ${job.jobId}`, hint: `Job ${job.jobId}`, words: job.pipeline, to: `/jobs/${job.jobId}`, onlyTyped: true };
    });
    return [...screens, ...deeds.map((one) => ({ ...one, onlyTyped: true })), ...ofStages, ...ofJobs];
  }, [parts, me, paused, connection, setColorScheme, signOut, stages, jobs, onKeys, onPauseStage]);
}
