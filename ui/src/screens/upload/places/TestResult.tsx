import { List, Text } from "@mantine/core";
import { GoTo } from "~/blocks/links";
import { reportWords, type Report } from "./place";

const SHOWN = 5;

export function TestResult({ report }: { report: Report }) {
  return (
    <div role="status">
      <Text size="xs" c={report.problem ? "red" : undefined} className="stored">
        {report.problem ?? reportWords(report)}
      </Text>
      {report.files.length > 0 && (
        <List size="xs" withPadding={false}>
          {report.files.slice(0, SHOWN).map((file) => (
            <List.Item key={file.path} className="stored">
              {file.path}: {file.problem ?? file.state}
              {file.jobId !== null && (
                <>
                  {", "}
                  <GoTo to="/jobs/$jobId" params={{ jobId: String(file.jobId) }} size="xs">
                    job {file.jobId}
                  </GoTo>
                </>
              )}
            </List.Item>
          ))}
        </List>
      )}
    </div>
  );
}
