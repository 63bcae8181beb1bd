// Every screen that the navigation and the palette lead to.
import {
  Activity,
  Boxes,
  CalendarClock,
  ClipboardList,
  FileText,
  Gauge,
  Globe,
  Hourglass,
  Layers,
  LayoutDashboard,
  Link2,
  ListChecks,
  MailX,
  Puzzle,
  Search,
  Server,
  Settings,
  TriangleAlert,
  Upload,
  type LucideIcon,
} from "lucide-react";
import type { Role } from "./me";

export type Screen = {
  to: string;
  name: string;
  icon: LucideIcon;
  /** Typed after `g`. */
  key?: string;
  role?: Role;
  flag?: "pendingPage";
  /** Of an extension: shown where the application has installed it. */
  brought?: boolean;
  /** A page that an extension serves itself, not one of these. */
  served?: boolean;
  /** More words that the palette finds it by. */
  words?: string;
};

export type Part = { name: string; screens: Screen[] };

/** The part of the extensions, those that these pages know nothing of included. */
export const APPLICATIONS = "Applications";

export const PARTS: Part[] = [
  {
    name: "Work",
    screens: [
      { to: "/", name: "Overview", icon: LayoutDashboard, key: "o", words: "home dashboard" },
      { to: "/upload", name: "Upload", icon: Upload, key: "u", words: "import file csv xlsx images new job" },
      { to: "/jobs", name: "Jobs", icon: ListChecks, key: "j" },
      { to: "/pending", name: "Pending", icon: Hourglass, key: "p", flag: "pendingPage", words: "waiting open items" },
    ],
  },
  {
    name: APPLICATIONS,
    screens: [
      { to: "/catalogues", name: "Catalogues", icon: Boxes, key: "c", words: "products providers enrichment", brought: true },
      { to: "/sites", name: "Sites", icon: Globe, key: "w", words: "website analysis report", brought: true },
      { to: "/linking", name: "Linking", icon: Link2, key: "l", words: "records wikidata match review", brought: true },
      { to: "/articles", name: "Articles", icon: FileText, key: "a", words: "write edit", brought: true },
      { to: "/search", name: "Search", icon: Search, key: "f", words: "find articles", brought: true },
      { to: "/index", name: "Index", icon: Layers, words: "embeddings generations reindex", brought: true },
    ],
  },
  {
    name: "Running it",
    screens: [
      { to: "/stages", name: "Stages", icon: Activity, key: "s", words: "queues pipelines pause" },
      { to: "/workers", name: "Workers", icon: Server, words: "processes heartbeats" },
      { to: "/limits", name: "Limits", icon: Gauge, words: "rate budgets 429" },
      { to: "/schedules", name: "Schedules", icon: CalendarClock, words: "cron" },
      { to: "/errors", name: "Errors", icon: TriangleAlert, key: "e", words: "failures groups" },
      { to: "/dead-letters", name: "Dead letters", icon: MailX, key: "d", words: "failed replay" },
      { to: "/audit", name: "Audit", icon: ClipboardList, role: "operator", words: "who did what log" },
      { to: "/settings", name: "Settings", icon: Settings, words: "users tokens retention flags password theme" },
    ],
  },
];

/** A page of an extension that these pages know nothing of. */
export function servedScreen(path: string, name: string): Screen {
  return { to: path, name, icon: Puzzle, brought: true, served: true };
}
