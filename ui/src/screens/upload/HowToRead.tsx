import { NativeSelect } from "@mantine/core";
import { delimiterName, type Preview, type Reading } from "./reading";
import { DELIMITERS } from "./search";

const ENCODINGS = [
  ...["utf-8", "utf-16", "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "iso8859-2", "iso8859-15", "mac-roman"],
  ...["shift_jis", "gb18030", "big5", "euc_kr"],
];
const SIGNS: Record<(typeof DELIMITERS)[number], string> = { comma: "Comma ,", semicolon: "Semicolon ;", tab: "Tab", bar: "Bar |" };

type Props = { found: Preview; reading: Reading; onChange: (part: Partial<Reading>) => void };

/** Only where the guess may be wrong: each field shows what was found out. */
export function HowToRead({ found, reading, onChange }: Props) {
  if (found.kind !== "csv" && found.kind !== "xlsx") return null;
  const sign = delimiterName(found.delimiter);
  return (
    <>
      {found.kind === "csv" && (
        <>
          <NativeSelect
            label="Encoding"
            value={reading.encoding ?? ""}
            onChange={(event) => onChange({ encoding: event.currentTarget.value || undefined })}
            data={[{ value: "", label: found.encoding && !reading.encoding ? `Found: ${found.encoding}` : "Find out" }, ...ENCODINGS]}
          />
          <NativeSelect
            label="Cells end with"
            value={reading.delimiter ?? ""}
            onChange={(event) => onChange({ delimiter: DELIMITERS.find((one) => one === event.currentTarget.value) })}
            data={[
              { value: "", label: sign && !reading.delimiter ? `Found: ${SIGNS[sign]}` : "Find out" },
              ...DELIMITERS.map((one) => ({ value: one, label: SIGNS[one] })),
            ]}
          />
        </>
      )}
      {found.sheets.length > 1 && (
        <NativeSelect label="Sheet" value={found.sheet ?? ""} onChange={(event) => onChange({ sheet: event.currentTarget.value || undefined })} data={found.sheets} />
      )}
      <NativeSelect
        label="First row"
        value={reading.header ?? ""}
        onChange={(event) => onChange({ header: event.currentTarget.value === "" ? undefined : event.currentTarget.value === "yes" ? "yes" : "no" })}
        data={[
          { value: "", label: reading.header === undefined && found.hasHeader !== null ? `Found: ${found.hasHeader ? "headings" : "data"}` : "Find out" },
          { value: "yes", label: "Headings" },
          { value: "no", label: "Data" },
        ]}
      />
    </>
  );
}
