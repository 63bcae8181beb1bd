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
  /** More words that the palette finds it by. */
  words?: string;
};

export type Part = { name: string; screens: Screen[] };

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
    name: "Applications",
    screens: [
      { to: "/catalogues", name: "Catalogues", icon: Boxes, key: "c", words: "products providers enrichment" },
      { to: "/sites", name: "Sites", icon: Globe, key: "w", words: "website analysis report" },
      { to: "/linking", name: "Linking", icon: Link2, key: "l", words: "records wikidata match review" },
      { to: "/articles", name: "Articles", icon: FileText, key: "a", words: "write edit" },
      { to: "/search", name: "Search", icon: Search, key: "f", words: "find articles" },
      { to: "/index", name: "Index", icon: Layers, words: "embeddings generations reindex" },
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
