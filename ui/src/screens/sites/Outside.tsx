import { Anchor } from "@mantine/core";
import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { webAddress } from "~/blocks/webAddress";
import { pathOf } from "./addresses";

/** Leads to a page of a site where that is harmless; else it is only text. */
export function Outside({ url, children }: { url: string; children?: ReactNode }) {
  const link = webAddress(url);
  const words = children ?? pathOf(url);
  if (link === null) return <span className="stored">{words}</span>;
  return (
    <Anchor href={link} target="_blank" rel="noopener noreferrer" className="stored" underline="always" inherit>
      {words} <ExternalLink size={12} aria-label="opens in a new tab" />
    </Anchor>
  );
}
