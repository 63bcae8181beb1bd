import { Outlet, useLocation } from "@tanstack/react-router";
import { Empty } from "~/blocks/Empty";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { useMe } from "./me";
import { refusal, screenAt } from "./visible";

/** The screen of this address, or why it is not shown. An old link to it stays a sentence, never a blank page. */
export function Guarded() {
  const me = useMe();
  const { pathname } = useLocation();
  const screen = screenAt(pathname);
  const refused = screen === null ? null : refusal(screen, me);
  if (screen === null || refused === null) return <Outlet />;
  return (
    <Page title={screen.name}>
      {refused === "missing" ? (
        <Empty kind="nothing" title={`${screen.name} is not installed`} action={<GoToButton to="/">To the overview</GoToButton>}>
          The application that runs here does not install this extension.
        </Empty>
      ) : refused === "off" ? (
        <Empty
          kind="nothing"
          title={`${screen.name} is switched off`}
          action={
            me.role === "admin" ? (
              <GoToButton to="/settings" search={{ tab: "features" }}>
                To the features
              </GoToButton>
            ) : (
              <GoToButton to="/">To the overview</GoToButton>
            )
          }
        >
          An admin switched this screen off for everybody. What waits in a job is still shown in that job.
        </Empty>
      ) : (
        <Empty kind="nothing" title={`This needs the role ${screen.role}`} action={<GoToButton to="/">To the overview</GoToButton>}>
          Yours is {me.role}. An admin can change it.
        </Empty>
      )}
    </Page>
  );
}
