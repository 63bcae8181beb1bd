import { ActionIcon, Menu, Text, Tooltip } from "@mantine/core";
import { RotateCcw } from "lucide-react";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { count, percent } from "~/blocks/wording";
import type { Column } from "~/grid/Grid";
import { Allowed } from "~/shell/Allowed";
import { shortAddress } from "./addresses";
import { cost } from "./estimate";
import { chipsOf, notAgain, STAGE_NAMES, STAGES, type StageName } from "./stages";

type Site = Schemas["SiteBody"];

export function siteColumns(jobId: number, again: (site: Site, from: StageName) => void): Column<Site>[] {
  return [
    {
      id: "address",
      header: "Address",
      width: 212,
      grows: true,
      twoLines: true,
      cell: (site) => (
        <GoTo to="/sites/$jobId/$siteId" params={{ jobId: String(jobId), siteId: String(site.siteId) }} inherit>
          <span title={site.url}>{shortAddress(site.url)}</span>
        </GoTo>
      ),
    },
    // Beside the address, so that a thumb finds it without moving the list.
    { id: "again", header: "Again", width: 68, cell: (site) => <AgainMenu site={site} again={again} /> },
    ...STAGES.map((stage, index): Column<Site> => ({
      id: stage,
      header: STAGE_NAMES[stage],
      width: 148,
      cell: (site) => <StageChip site={site} index={index} />,
    })),
    { id: "coverage", header: "Coverage", width: 92, align: "right", cell: (site) => <Share share={site.scores?.coverage} /> },
    { id: "visibility", header: "Visibility", width: 86, align: "right", cell: (site) => <Share share={site.scores?.visibility} /> },
    { id: "cost", header: "Cost", width: 68, align: "right", cell: (site) => cost(site.scores?.cost) },
    {
      id: "about",
      header: "Error, or what it waits for",
      width: 360,
      twoLines: true,
      cell: (site) => {
        const text = site.error ?? site.why;
        return text ? (
          <Text span inherit c={site.state === "ERROR" ? "red" : "dimmed"} title={text}>
            {text}
          </Text>
        ) : null;
      },
    },
    { id: "unsupported", header: "Without support", width: 130, align: "right", cell: (site) => count(site.scores?.unsupported) },
  ];
}

export function StageChip({ site, index }: { site: Site | Schemas["SiteDetail"]; index: number }) {
  const chip = chipsOf(site)[index];
  if (chip === undefined) return null;
  const badge = <StateBadge state={chip.state} word={chip.word} />;
  if (!chip.about) return badge;
  return (
    <Tooltip label={chip.about} multiline maw={360}>
      <span>{badge}</span>
    </Tooltip>
  );
}

function Share({ share }: { share: Schemas["Share"] | undefined }) {
  if (share?.value === undefined || share.value === null) return <>–</>;
  const about = `${percent(share.low ?? 0)} to ${percent(share.high ?? 1)}, over ${count(share.count)}`;
  return <span title={about}>{percent(share.value)}</span>;
}

function AgainMenu({ site, again }: { site: Site; again: (site: Site, from: StageName) => void }) {
  const unless = notAgain([site]);
  const button = (
    <ActionIcon variant="subtle" color="gray" aria-label={`Run ${shortAddress(site.url)} again from a stage`}>
      <RotateCcw size={16} aria-hidden />
    </ActionIcon>
  );
  if (unless) return <Allowed role="operator" unless={unless}>{button}</Allowed>;
  return (
    <Menu position="bottom-end">
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Run again from</Menu.Label>
        {STAGES.map((stage) => (
          <Allowed key={stage} role="operator">
            <Menu.Item onClick={() => again(site, stage)}>{STAGE_NAMES[stage]}</Menu.Item>
          </Allowed>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
