import { Group, Kbd, Modal, ScrollArea, Stack, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { CornerDownLeft } from "lucide-react";
import { useId, useMemo, useState, type KeyboardEvent } from "react";
import classes from "./palette.module.css";
import { useVisibleParts } from "./visible";

type Entry = { name: string; hint: string; words: string; to: string };

/** ⌘K: goes anywhere by name, to a job by its number, and searches articles for anything else. */
export function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const parts = useVisibleParts();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();

  const entries = useMemo(() => {
    const screens: Entry[] = parts.flatMap((part) =>
      part.screens.map((one) => ({ name: one.name, hint: part.name, words: one.words ?? "", to: one.to })),
    );
    return matching(screens, typed);
  }, [parts, typed]);
  const chosen = Math.min(at, entries.length - 1);

  function go(entry: Entry | undefined): void {
    if (!entry) return;
    onClose();
    void navigate({ to: entry.to });
  }

  function onKeyDown(event: KeyboardEvent): void {
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
        placeholder="Go to a screen, a job number, or search articles"
        aria-label="Go to"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={`${list}-${chosen}`}
        size="md"
        variant="unstyled"
        px="md"
        data-autofocus
      />
      <ScrollArea.Autosize mah="50vh">
        <Stack gap={0} id={list} role="listbox" aria-label="Places" p={4}>
          {entries.map((entry, index) => (
            <UnstyledButton
              key={entry.to}
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
                <Text size="xs" c="dimmed">
                  {index === chosen ? <CornerDownLeft size={14} aria-label="Enter" /> : entry.hint}
                </Text>
              </Group>
            </UnstyledButton>
          ))}
        </Stack>
      </ScrollArea.Autosize>
      <Text size="xs" c="dimmed" p="xs">
        <Kbd size="xs">?</Kbd> shows every key
      </Text>
    </Modal>
  );
}

/** Screens whose name or words hold every typed word, names that begin with it first; then what else can be meant. */
function matching(screens: Entry[], typed: string): Entry[] {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return screens;
  const found = screens
    .filter((one) => wanted.split(/\s+/).every((word) => `${one.name} ${one.words}`.toLowerCase().includes(word)))
    .sort((a, b) => Number(b.name.toLowerCase().startsWith(wanted)) - Number(a.name.toLowerCase().startsWith(wanted)));
  const number = /^#?(\d{1,18})$/.exec(wanted)?.[1];
  if (number) {
    found.unshift(
      { name: `Job ${number}`, hint: "Job", words: "", to: `/jobs/${number}` },
      { name: `Item ${number}`, hint: "Item", words: "", to: `/items/${number}` },
    );
  }
  const query = encodeURIComponent(typed.trim());
  return [...found, { name: `Search articles for “${typed.trim()}”`, hint: "Search", words: "", to: `/search?q=${query}` }];
}
