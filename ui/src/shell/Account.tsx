import { Group, Menu, Text, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Check, CircleUser, Keyboard, LogOut, Moon, Settings, Sun, SunMoon, type LucideIcon } from "lucide-react";
import { useMe } from "./me";
import { useSignOut } from "./useSignOut";

export const THEMES: ["light" | "dark" | "auto", string, LucideIcon][] = [
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
  ["auto", "As the system", SunMoon],
];

/** Who is signed in, the theme, and the way out. */
export function Account({ onKeys }: { onKeys: () => void }) {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
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
        <Menu.Label className="stored">
          {me.name} · {me.role}
        </Menu.Label>
        <Menu.Item component={Link} to="/settings" leftSection={<Settings size={14} aria-hidden />}>
          Settings
        </Menu.Item>
        <Menu.Divider />
        {THEMES.map(([value, name, Icon]) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={14} aria-hidden />}
            rightSection={colorScheme === value ? <Check size={14} aria-label="chosen" /> : null}
            aria-current={colorScheme === value}
            onClick={() => setColorScheme(value)}
          >
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Keyboard size={14} aria-hidden />} onClick={onKeys}>
          Keys
        </Menu.Item>
        <Menu.Item leftSection={<LogOut size={14} aria-hidden />} onClick={signOut}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
