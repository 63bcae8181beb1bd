import { Alert, List } from "@mantine/core";
import { CircleCheck, OctagonX, TriangleAlert } from "lucide-react";
import { count, many } from "~/blocks/wording";
import type { Preview } from "./reading";

const SHOWN = 8;

export function Problems({ found }: { found: Preview }) {
  const blocking = found.problems.filter((one) => one.blocks);
  const others = found.problems.filter((one) => !one.blocks);
  const seen = found.whole ? "" : " in the part that was looked at";
  return (
    <>
      {blocking.length > 0 && (
        <Alert color="red" icon={<OctagonX aria-hidden />} title="This file cannot be taken as it is" role="alert">
          <Sentences problems={blocking} />
        </Alert>
      )}
      {others.length > 0 && (
        <Alert color="orange" icon={<TriangleAlert aria-hidden />} title={`${found.moreProblems ? `More than ${count(others.length)} problems` : many(others.length, "problem")}${seen}`}>
          <Sentences problems={others} />
        </Alert>
      )}
      {found.problems.length === 0 && (
        <Alert color="green" icon={<CircleCheck aria-hidden />} title={`No problems were found${seen}`} py="xs" />
      )}
    </>
  );
}

function Sentences({ problems }: { problems: Preview["problems"] }) {
  const [first, rest] = [problems.slice(0, SHOWN), problems.slice(SHOWN)];
  return (
    <>
      <List size="sm" aria-label="Problems">
        {first.map((one, index) => (
          <Sentence key={index} problem={one} />
        ))}
      </List>
      {rest.length > 0 && (
        <details>
          <summary>{many(rest.length, "more problem")}</summary>
          <List size="sm" aria-label="More problems">
            {rest.map((one, index) => (
              <Sentence key={index} problem={one} />
            ))}
          </List>
        </details>
      )}
    </>
  );
}

function Sentence({ problem }: { problem: Preview["problems"][number] }) {
  const where = [problem.row !== null && `Row ${count(problem.row)}`, problem.column].filter(Boolean).join(", ");
  return (
    <List.Item className="stored">
      {where && <strong>{where}: </strong>}
      {problem.sentence}
    </List.Item>
  );
}
