import { ActionIcon, AppShell, Burger, Group, NavLink, ScrollArea, Text, Tooltip } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { Command } from "lucide-react";
import { Suspense, useMemo, useState } from "react";
import { Loading } from "~/blocks/Trouble";
import { DropAnywhere } from "~/screens/upload/DropAnywhere";
import { Account } from "./Account";
import { Guarded } from "./Guarded";
import { KeySheet } from "./KeySheet";
import { useKeys, type Key } from "./keys";
import { LivePill } from "./LivePill";
import { Palette } from "./Palette";
import { PauseStage } from "./PauseStage";
import classes from "./shell.module.css";
import { useArrival } from "./useArrival";
import { useVisibleParts } from "./visible";

export function Shell() {
  const [menu, { toggle: toggleMenu, close: closeMenu }] = useDisclosure();
  const [palette, { open: openPalette, close: closePalette }] = useDisclosure();
  const [sheet, { open: openSheet, close: closeSheet }] = useDisclosure();
  const [pausing, setPausing] = useState<{ pipeline: string; stage: string } | null>(null);
  const narrow = useMediaQuery("(max-width: 47.99em)", undefined, { getInitialValueInEffect: false });
  const navigate = useNavigate();
  const parts = useVisibleParts();
  const { pathname } = useLocation();
  useArrival();

  const keys = useMemo(
    (): Key[] => [
      { keys: "mod+k", does: "Go to …", act: openPalette, whileTyping: true },
      { keys: "?", does: "Show the keys", act: openSheet },
      ...parts.flatMap((part) =>
        part.screens
          .filter((one) => one.key)
          .map((one) => ({ keys: `g ${one.key}`, does: `Go to ${one.name}`, act: () => void navigate({ to: one.to }) })),
      ),
    ],
    [parts, navigate, openPalette, openSheet],
  );
  useKeys(keys);

  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 208, breakpoint: "sm", collapsed: { mobile: !menu } }} padding="md">
      <a
        href="#main"
        className="skip"
        onClick={(event) => {
          // Without a hash in the address, which is the state of the screen.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={menu}
              onClick={toggleMenu}
              hiddenFrom="sm"
              size="sm"
              aria-label={menu ? "Close the navigation" : "Navigation"}
              aria-expanded={menu}
              aria-controls="screens"
            />
            <Link to="/" className={classes.brand} aria-label="Penstock, overview">
              <img src="/icon.svg" alt="" width={24} height={24} /> <span className={classes.brandWord}>Penstock</span>
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LivePill />
            <Tooltip label="Go to … (Ctrl K)">
              <ActionIcon variant="default" size="lg" onClick={openPalette} aria-label="Go to a screen, job or action">
                <Command size={16} aria-hidden />
              </ActionIcon>
            </Tooltip>
            <Account onKeys={openSheet} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar
        id="screens"
        aria-label="Screens"
        // Out of sight it must be out of the tab order as well.
        inert={narrow && !menu}
        onKeyDown={(event) => {
          if (event.key === "Escape") closeMenu();
        }}
      >
        <AppShell.Section grow component={ScrollArea}>
          {parts.map((part) => (
            <div key={part.name}>
              <Text className={classes.part}>{part.name}</Text>
              {part.screens.map((one) => {
                const look = {
                  label: one.name,
                  active: one.to === "/" ? pathname === "/" : pathname === one.to || pathname.startsWith(`${one.to}/`),
                  leftSection: <one.icon size={16} aria-hidden />,
                  py: 5,
                  onClick: closeMenu,
                };
                return one.served ? <NavLink key={one.to} component="a" href={one.to} {...look} /> : <NavLink key={one.to} component={Link} to={one.to} {...look} />;
              })}
            </div>
          ))}
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} inert={narrow && menu}>
        <Suspense fallback={<Loading />}>
          <Guarded />
        </Suspense>
      </AppShell.Main>
      <DropAnywhere />
      {palette && <Palette onClose={closePalette} onKeys={openSheet} onPauseStage={setPausing} />}
      {sheet && <KeySheet onClose={closeSheet} />}
      {pausing && <PauseStage {...pausing} onClose={() => setPausing(null)} />}
    </AppShell>
  );
}
