import { Alert, Button, Checkbox, Group, Modal, Progress, Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { CircleCheck, Download } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Trouble } from "~/blocks/Trouble";
import { bytes, count, many, percent } from "~/blocks/wording";
import { fetchFile, handOver, LARGE_ROWS, type Arriving } from "./exporting";

type Format = "csv" | "xlsx";

type Props = {
  /** Answers a POST with the file; takes `format`, and for CSV `form` and `bom`. */
  path: string;
  rows: number;
  onClose: () => void;
};

const FORMATS: { value: Format; label: string; about: string }[] = [
  { value: "csv", label: "CSV", about: "Text with commas, for any program. Begins to arrive at once." },
  { value: "xlsx", label: "Excel (XLSX)", about: "Cells keep their text as it is. Written as a whole first, so large ones take a moment." },
];

/** Downloads what is stored as a file. Open while it is rendered. */
export function ExportDialog({ path, rows, onClose }: Props) {
  const [format, setFormat] = useState<Format>("csv");
  const [safe, setSafe] = useState(false);
  const [mark, setMark] = useState(false);
  const [far, setFar] = useState<Arriving | null>(null);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);

  const [handed, setHanded] = useState(false);
  const fetching = useMutation({
    mutationFn: (address: string) => {
      const leaving = new AbortController();
      ending.current = leaving;
      setFar(null);
      return fetchFile(address, leaving.signal, setFar);
    },
    meta: { ownProblem: true, touches: [] },
  });
  const download = () => {
    const query = new URLSearchParams({ format });
    if (format === "csv" && safe) query.set("form", "safe");
    if (format === "csv" && mark) query.set("bom", "true");
    const address = `${path}?${query}`;
    if (rows < LARGE_ROWS) return fetching.mutate(address);
    handOver(address);
    setHanded(true);
  };
  const stopped = fetching.error instanceof DOMException && fetching.error.name === "AbortError";

  return (
    <Modal opened onClose={onClose} title="Export" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm">
          {rows === 0
            ? "Nothing is stored yet; the file would hold only its header."
            : `${many(rows, "row")}: the columns as they came in, then what was found, the status and the error.`}
        </Text>
        <Radio.Group label="Format" value={format} onChange={(value) => setFormat(value === "xlsx" ? "xlsx" : "csv")}>
          <Stack gap="xs" mt="xs">
            {FORMATS.map((one) => (
              <Radio key={one.value} value={one.value} label={one.label} description={one.about} disabled={fetching.isPending} />
            ))}
          </Stack>
        </Radio.Group>
        {format === "csv" && (
          <Stack gap="xs">
            <Checkbox
              label="Keep formulas from running"
              description="Puts an apostrophe before cells that a spreadsheet would run."
              checked={safe}
              onChange={(event) => setSafe(event.currentTarget.checked)}
              disabled={fetching.isPending}
            />
            <Checkbox
              label="Mark as Unicode"
              description="Some spreadsheets need it to show accents."
              checked={mark}
              onChange={(event) => setMark(event.currentTarget.checked)}
              disabled={fetching.isPending}
            />
          </Stack>
        )}
        {fetching.isPending && <Far far={far} />}
        {fetching.isError && !stopped && <Trouble error={fetching.error} />}
        {handed && (
          <Alert icon={<Download aria-hidden />} role="status">
            Your browser saves the file as it comes, and shows how far it is. If it is refused, a new tab says why.
          </Alert>
        )}
        {fetching.isSuccess && (
          <Alert color="green" icon={<CircleCheck aria-hidden />} role="status">
            <span className="stored">
              {fetching.data} is in your downloads, {bytes(far?.bytes)}.
            </span>
          </Alert>
        )}
        <Group justify="flex-end">
          <Button
            variant="default"
            onClick={() => {
              if (fetching.isPending) ending.current?.abort();
              else onClose();
            }}
          >
            {fetching.isPending ? "Stop" : "Close"}
          </Button>
          <Button leftSection={<Download size={16} aria-hidden />} loading={fetching.isPending} onClick={download} data-autofocus>
            {rows === 0 ? "Download" : `Download ${count(rows)} ${rows === 1 ? "row" : "rows"}`}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Far({ far }: { far: Arriving | null }) {
  const share = far?.sizeBytes ? far.bytes / far.sizeBytes : null;
  return (
    <div role="status">
      <Progress value={share === null ? 100 : share * 100} animated={share === null} aria-label="How much of the file has arrived" />
      <Text size="xs" c="dimmed">
        {far === null ? "The file is being written." : share === null ? `${bytes(far.bytes)} have arrived.` : `${percent(share)} of ${bytes(far.sizeBytes)}`}
      </Text>
    </div>
  );
}
