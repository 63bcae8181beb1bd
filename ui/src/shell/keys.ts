import { useEffect, useEffectEvent } from "react";

const SEQUENCE_MS = 1200;

export type Key = {
  /** "?", "mod+k", "g j" (one after the other), "Escape". */
  keys: string;
  /** What it does, for the sheet. */
  does: string;
  act: () => void;
  /** Also while somebody types into a field; only sensible with a modifier. */
  whileTyping?: boolean;
};

/** The keys of the screens that are open now, for the sheet behind `?`. */
export const known = new Set<Key[]>();

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select, [role=textbox], [role=combobox]");
}

/** Keys while the component is there. What a field or an open dialog takes is not heard. */
export function useKeys(keys: Key[]): void {
  const heard = useEffectEvent((pressed: string, event: KeyboardEvent): boolean => {
    const typing = isTyping(event.target);
    const inDialog = document.querySelector("[role=dialog][aria-modal=true]") !== null;
    const found = keys.find((one) => one.keys === pressed && (one.whileTyping || (!typing && !inDialog)));
    if (!found) return false;
    event.preventDefault();
    found.act();
    return true;
  });
  useEffect(() => {
    let before = "";
    let at = 0;
    // The second key of a sequence comes first to whoever waits for it: `g j` means Jobs, also in a list that `j` moves in.
    const second = (event: KeyboardEvent) => {
      if (event.isComposing) return;
      const name = nameOf(event);
      if (name === null) return;
      const sequence = before && performance.now() - at < SEQUENCE_MS ? `${before} ${name}` : "";
      before = name;
      at = performance.now();
      if (!sequence || !heard(sequence, event)) return;
      before = "";
      event.stopPropagation();
    };
    const single = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const name = nameOf(event);
      if (name !== null && heard(name, event)) before = "";
    };
    window.addEventListener("keydown", second, { capture: true });
    window.addEventListener("keydown", single);
    return () => {
      window.removeEventListener("keydown", second, { capture: true });
      window.removeEventListener("keydown", single);
    };
  }, []);
  useEffect(() => {
    known.add(keys);
    return () => {
      known.delete(keys);
    };
  }, [keys]);
}

function nameOf(event: KeyboardEvent): string | null {
  if (["Shift", "Control", "Meta", "Alt"].includes(event.key)) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.metaKey || event.ctrlKey) return `mod+${key}`;
  return event.altKey ? null : key;
}
