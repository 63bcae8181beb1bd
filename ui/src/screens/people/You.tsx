import { Card, SegmentedControl, SimpleGrid, Stack, Text, Title, useMantineColorScheme } from "@mantine/core";
import { Facts } from "~/blocks/Facts";
import { THEMES } from "~/shell/Account";
import { useMe, type Role } from "~/shell/me";
import { Password } from "./Password";
import { Sessions } from "./Sessions";

export const MAY: Record<Role, string> = {
  viewer: "sees what it owns, and the state of the fleet",
  operator: "also submits and controls its own work, and runs the fleet",
  admin: "also sees and controls what others own, and keeps users",
};

export function You() {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Card withBorder component="section" aria-labelledby="who">
          <Title order={2} size="h3" id="who" mb="xs">
            Who you are
          </Title>
          <Facts
            rows={[
              ["Name", me.name],
              ["Role", `${me.role}: ${MAY[me.role]}`],
            ]}
          />
          <Text size="sm" fw={500} mt="md" mb={4} id="theme">
            Theme
          </Text>
          <SegmentedControl
            aria-labelledby="theme"
            value={colorScheme}
            onChange={(value) => setColorScheme(THEMES.find(([one]) => one === value)?.[0] ?? "auto")}
            data={THEMES.map(([value, label]) => ({ value, label }))}
          />
          <Text size="xs" c="dimmed" mt={4}>
            Kept in this browser.
          </Text>
        </Card>
        <Password />
      </SimpleGrid>
      <Sessions />
    </Stack>
  );
}
