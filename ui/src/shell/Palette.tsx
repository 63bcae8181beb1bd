import { Group, Kbd, Modal, ScrollArea, Stack, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { CornerDownLeft } from "lucide-react";
import { useEffect, useId, useMemo, useState, type KeyboardEvent } from "react";
import { matching, type Entry } from "./entries";
import classes from "./palette.module.css";
import { useEntries } from "./useEntries";
import { useInstalled } from "./visible";

type Props = { onClose: () => void; onKeys: () => void; onPauseStage: (stage: { pipeline: string; stage: string }) => void };

/** ⌘K: goes anywhere by name, to a job by number or name, does what has a name, and searches articles for anything else. */
export function Palette({ onClose, onKeys, onPauseStage }: Props) {
  const router = useRouter();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const all = useEntries({ onKeys, onPauseStage });
  const searches = useInstalled("/search");
  const entries = useMemo(() => matching(all, typed, searches), [all, typed, searches]);
  const chosen = Math.min(at, entries.length - 1);

  useEffect(() => {
    document.getElementById(`${list}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [list, chosen]);

  function go(entry: Entry | undefined): void {
    if (!entry) return;
    onClose();
    if (entry.act) entry.act();
    else if (entry.to) router.history.push(entry.to);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (entries.length === 0) return;
    if (event.key === "ArrowDown") setAt((chosen + 1) % entries.length);
    else if (event.key === "ArrowUp") setAt((chosen - 1 + entries.length) % entries.length);
    else if (event.key === "Enter") go(entries[chosen]);
    else return;
    event.preventDefault();
  }

  return (
    <Modal opened onClose={onClose} withCloseButton={false} padding={0} yOffset="12vh" aria-label="Go to">
      <TextInput
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        placeholder="A screen, a job, an action, or words to search for"
        aria-label="Go to"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={`${list}-${chosen}`}
        maxLength={200}
        size="md"
        variant="unstyled"
        px="md"
        data-autofocus
      />
      <ScrollArea.Autosize mah="50vh">
        <Stack gap={0} id={list} role="listbox" aria-label="Places and actions" p={4}>
          {entries.map((entry, index) => (
            <UnstyledButton
              key={`${index} ${entry.name}`}
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === chosen}
              className={classes.entry}
              onClick={() => go(entry)}
              onMouseMove={() => setAt(index)}
              tabIndex={-1}
            >
              <Group justify="space-between" wrap="nowrap">
                <Text truncate>{entry.name}</Text>
                <Group gap={6} wrap="nowrap">
                  <Text size="xs" c="dimmed" style={{ whiteSpace: "nowrap" }}>
                    {entry.hint}
                  </Text>
                  {index === chosen && <CornerDownLeft size={14} aria-hidden />}
                </Group>
              </Group>
            </UnstyledButton>
          ))}
        </Stack>
      </ScrollArea.Autosize>
      <Text size="xs" c="dimmed" p="xs">
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> choose, <Kbd size="xs">Enter</Kbd> goes, <Kbd size="xs">Esc</Kbd> closes
      </Text>
    </Modal>
  );
}
