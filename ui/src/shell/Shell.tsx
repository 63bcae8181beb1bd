import { ActionIcon, AppShell, Burger, Group, Menu, NavLink, ScrollArea, Text, Tooltip, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { CircleUser, Command, Keyboard, LogOut, Moon, Sun, SunMoon, type LucideIcon } from "lucide-react";
import { Suspense, useEffect, useMemo, useRef } from "react";
import { api, ask } from "~/api/client";
import { Loading } from "~/blocks/Trouble";
import { DropAnywhere } from "~/screens/upload/DropAnywhere";
import { KeySheet } from "./KeySheet";
import { useKeys, type Key } from "./keys";
import { LivePill } from "./LivePill";
import { useMe } from "./me";
import { Palette } from "./Palette";
import classes from "./shell.module.css";
import { useVisibleParts } from "./visible";

export function Shell() {
  const [menu, { toggle: toggleMenu, close: closeMenu }] = useDisclosure();
  const [palette, { open: openPalette, close: closePalette }] = useDisclosure();
  const [sheet, { open: openSheet, close: closeSheet }] = useDisclosure();
  const navigate = useNavigate();
  const parts = useVisibleParts();
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);

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

  // A new screen begins at its top, also for people who hear it.
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    closeMenu();
    main.current?.focus({ preventScroll: true });
  }, [pathname, closeMenu]);

  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 208, breakpoint: "sm", collapsed: { mobile: !menu } }} padding="md">
      <a href="#main" className="skip">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={menu} onClick={toggleMenu} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Link to="/" className={classes.brand}>
              <img src="/icon.svg" alt="" width={24} height={24} /> Penstock
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <LivePill />
            <Tooltip label="Go to … (Ctrl K)">
              <ActionIcon variant="default" size="lg" onClick={openPalette} aria-label="Go to a screen, job or article">
                <Command size={16} aria-hidden />
              </ActionIcon>
            </Tooltip>
            <Account onKeys={openSheet} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label="Screens">
        <AppShell.Section grow component={ScrollArea}>
          {parts.map((part) => (
            <div key={part.name}>
              <Text className={classes.part}>{part.name}</Text>
              {part.screens.map((one) => (
                <NavLink
                  key={one.to}
                  component={Link}
                  to={one.to}
                  label={one.name}
                  active={one.to === "/" ? pathname === "/" : pathname === one.to || pathname.startsWith(`${one.to}/`)}
                  leftSection={<one.icon size={16} aria-hidden />}
                  py={5}
                />
              ))}
            </div>
          ))}
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </AppShell.Main>
      <DropAnywhere />
      {palette && <Palette onClose={closePalette} />}
      {sheet && <KeySheet onClose={closeSheet} />}
    </AppShell>
  );
}

const THEMES: ["light" | "dark" | "auto", string, LucideIcon][] = [
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
  ["auto", "As the system", SunMoon],
];

function Account({ onKeys }: { onKeys: () => void }) {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = useMutation({
    mutationFn: () => ask(api.POST("/api/logout")),
    onSuccess: () => location.assign("/login"),
    meta: { touches: [] },
  });
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <UnstyledButton aria-label={`Account of ${me.name}`} p={4}>
          <Group gap={6} wrap="nowrap">
            <CircleUser size={20} aria-hidden />
            <Text size="sm" visibleFrom="sm" maw={140} truncate>
              {me.name}
            </Text>
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {me.name} · {me.role}
        </Menu.Label>
        {THEMES.map(([value, name, Icon]) => (
          <Menu.Item key={value} leftSection={<Icon size={14} aria-hidden />} aria-current={colorScheme === value} onClick={() => setColorScheme(value)}>
            {name}
            {colorScheme === value ? " ✓" : ""}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Keyboard size={14} aria-hidden />} onClick={onKeys}>
          Keys
        </Menu.Item>
        <Menu.Item leftSection={<LogOut size={14} aria-hidden />} onClick={() => leave.mutate()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
