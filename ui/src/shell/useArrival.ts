import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

/** How long a screen may take until its heading is there. */
const PATIENCE_MS = 5000;

/** A new screen begins at its heading, also for people who hear it: focus moves there, which reads it out. */
export function useArrival(): void {
  const router = useRouter();
  useEffect(() => {
    let stop: () => void = () => undefined;
    const leave = router.subscribe("onRendered", ({ pathChanged, fromLocation }) => {
      // The first screen of a visit is read from its top by itself.
      if (!pathChanged || fromLocation === undefined) return;
      stop();
      stop = whenThere("#main h1", moveTo);
    });
    return () => {
      leave();
      stop();
    };
  }, [router]);
}

function moveTo(heading: HTMLElement): void {
  const now = document.activeElement;
  // A screen that put the cursor into a field of its own knows better; an open dialog too.
  if (now instanceof HTMLElement && (now.closest("[role=dialog]") || (now.closest("#main") && now.matches("input, textarea")))) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function whenThere(selector: string, act: (found: HTMLElement) => void): () => void {
  const found = document.querySelector<HTMLElement>(selector);
  if (found) {
    act(found);
    return () => undefined;
  }
  const end = () => {
    clearTimeout(timer);
    observer.disconnect();
  };
  const observer = new MutationObserver(() => {
    const come = document.querySelector<HTMLElement>(selector);
    if (!come) return;
    end();
    act(come);
  });
  const timer = setTimeout(end, PATIENCE_MS);
  observer.observe(document.body, { childList: true, subtree: true });
  return end;
}
