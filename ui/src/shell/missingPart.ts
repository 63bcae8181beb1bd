// A screen is a script of its own. After an upgrade the service has no longer the ones that an open page asks for.

const SAID = "A part of this page could not be fetched";
const RELOADED = "penstock-reloaded";
/** What is still missing so soon after a reload will not come by another one. */
const AGAIN_AFTER_MS = 60_000;

/** Marks what the build throws then. Unmarked, the router would load the page anew at once, also from a service that is away. */
export function markMissingParts(): void {
  addEventListener("vite:preloadError", (event) => {
    event.payload.message = `${SAID}. ${event.payload.message}`;
  });
}

export function isMissingPart(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith(SAID);
}

export function wasReloaded(now: number = Date.now()): boolean {
  try {
    return now - Number(sessionStorage.getItem(RELOADED)) < AGAIN_AFTER_MS;
  } catch {
    // Where nothing can be remembered it could go round for ever.
    return true;
  }
}

export function reload(): void {
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
}
