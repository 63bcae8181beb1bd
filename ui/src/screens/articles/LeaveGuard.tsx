import { useBlocker } from "@tanstack/react-router";
import { Confirm } from "~/blocks/Confirm";

/** Asks before unsaved text is left behind: by a link, by the way back, or by closing the tab. */
export function LeaveGuard({ unsaved }: { unsaved: boolean }) {
  const blocker = useBlocker({
    // Another tab of the same article keeps the draft.
    shouldBlockFn: ({ current, next }) => unsaved && current.pathname !== next.pathname,
    enableBeforeUnload: () => unsaved,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return (
    <Confirm
      title="Leave without saving?"
      verb="Leave and lose it"
      danger
      onConfirm={() => {
        blocker.proceed();
        return Promise.resolve();
      }}
      onClose={() => blocker.reset()}
    >
      What you wrote has not been saved. It is lost when you leave.
    </Confirm>
  );
}
