import { Alert, Button, Checkbox, Group, Modal, Progress, Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { CircleCheck, Download } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api, ask } from "~/api/client";
import { fetchFile, handOver, LARGE_ROWS, type Arriving } from "~/api/files";
import { Trouble } from "./Trouble";
import { bytes, count, many, percent } from "./wording";

type Props = {
  /** Answers a POST with the file; takes `format`, and for CSV `form` and `bom`. */
  path: string;
  /** Asks for what is exported: a browser that saves a large file itself does not tell this page of a refusal. */
  look: (signal: AbortSignal) => Promise<unknown>;
  rows: number;
  /** What stands behind the columns that came in. */
  then?: string;
  /** Also as JSON. */
  json?: boolean;
  onClose: () => void;
};

const FORMATS = [
  { value: "csv", label: "CSV", about: "Text with commas, for any program. Begins to arrive at once." },
  { value: "xlsx", label: "Excel (XLSX)", about: "Cells keep their text as it is. Written as a whole first, so large ones take a moment." },
];
const JSON_TOO = [...FORMATS, { value: "json", label: "JSON", about: "A list of objects, for programs. Begins to arrive at once." }];

/** Downloads what is stored as a file. Open while it is rendered. */
export function ExportDialog({ path, look, rows, then = "what was found, the status and the error", json = false, onClose }: Props) {
  const [format, setFormat] = useState("csv");
  const [safe, setSafe] = useState(false);
  const [mark, setMark] = useState(false);
  const [far, setFar] = useState<Arriving | null>(null);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);

  const fetching = useMutation({
    mutationFn: async (address: string) => {
      const { signal } = (ending.current = new AbortController());
      setFar(null);
      if (rows < LARGE_ROWS) return fetchFile(address, { method: "POST", signal }, setFar);
      await look(signal);
      signal.throwIfAborted();
      handOver(address);
      return null;
    },
    meta: { ownProblem: true, touches: [] },
  });
  const download = () => {
    const query = new URLSearchParams({ format });
    if (format === "csv" && safe) query.set("form", "safe");
    if (format === "csv" && mark) query.set("bom", "true");
    fetching.mutate(`${path}?${query}`);
  };
  const handed = fetching.data === null;
  const fixed = fetching.isPending || handed;
  const stopped = fetching.error instanceof DOMException && fetching.error.name === "AbortError";

  return (
    <Modal opened onClose={onClose} title="Export" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm">
          {rows === 0
            ? "Nothing is stored yet; the file would hold only its header."
            : `${many(rows, "row")}: the columns as they came in, then ${then}.`}
        </Text>
        <Radio.Group label="Format" value={format} onChange={setFormat}>
          <Stack gap="xs" mt="xs">
            {(json ? JSON_TOO : FORMATS).map((one) => (
              <Radio key={one.value} value={one.value} label={one.label} description={one.about} disabled={fixed} />
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
              disabled={fixed}
            />
            <Checkbox
              label="Mark as Unicode"
              description="Some spreadsheets need it to show accents."
              checked={mark}
              onChange={(event) => setMark(event.currentTarget.checked)}
              disabled={fixed}
            />
          </Stack>
        )}
        {fetching.isPending && rows < LARGE_ROWS && <Far far={far} />}
        {fetching.isError && !stopped && <Trouble error={fetching.error} />}
        {handed && (
          <Alert icon={<Download aria-hidden />} role="status">
            A new tab asks for the file, and closes when your browser begins to save it. If no tab opens, allow pop-ups for this site, close this and export again.
          </Alert>
        )}
        {fetching.isSuccess && !handed && (
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
          <Button leftSection={<Download size={16} aria-hidden />} loading={fetching.isPending} disabled={handed} onClick={download} data-autofocus>
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

export function ExportJob({ jobId, rows, onClose }: { jobId: number; rows: number; onClose: () => void }) {
  const params = { path: { jobId } };
  return <ExportDialog path={`/api/jobs/${jobId}/export`} look={(signal) => ask(api.GET("/api/jobs/{jobId}", { params, signal }))} rows={rows} onClose={onClose} />;
}
