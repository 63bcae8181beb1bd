import { Button, Group, TextInput } from "@mantine/core";
import { Check, Copy } from "lucide-react";
import { useRef, useState } from "react";

/** A text to take along. Where the browser does not let a page copy (plain HTTP), it is selected, ready for Ctrl C. */
export function CopyField({ label, value }: { label: string; value: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [done, setDone] = useState<"copied" | "selected" | null>(null);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(value);
      setDone("copied");
    } catch {
      field.current?.select();
      setDone("selected");
    }
  }
  return (
    <Group gap="xs" align="flex-end" wrap="nowrap">
      <TextInput ref={field} label={label} value={value} readOnly flex={1} styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }} onFocus={(event) => event.currentTarget.select()} />
      <Button variant="default" leftSection={done === "copied" ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />} onClick={() => void copy()} aria-live="polite">
        {done === "copied" ? "Copied" : done === "selected" ? "Press Ctrl C" : "Copy"}
      </Button>
    </Group>
  );
}
