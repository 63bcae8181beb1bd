import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { GitMerge } from "lucide-react";
import { When } from "~/blocks/When";
import { Diff } from "./Diff";
import type { Current, Draft } from "./draft";

type Props = {
  theirs: Current;
  mine: Draft;
  saving: boolean;
  onMine: () => void;
  onTheirs: () => void;
  onMerge: () => void;
};

/** Two people wrote at the same time: nothing was stored, both texts are there, and somebody chooses. */
export function Conflict({ theirs, mine, saving, onMine, onTheirs, onMerge }: Props) {
  return (
    <Alert color="orange" icon={<GitMerge aria-hidden />} title={`${theirs.author} saved revision ${theirs.revision} while you were writing`} role="alert">
      <Stack gap="sm">
        <Text size="sm">
          Yours is not stored yet. Theirs is of <When at={theirs.updatedAt} />. Lines with − are theirs, lines with + are yours.
        </Text>
        {theirs.title !== mine.title && (
          <Text size="sm" className="stored">
            Their title: “{theirs.title}”, yours: “{mine.title}”.
          </Text>
        )}
        <Diff before={theirs.content} after={mine.content} label="Their text and yours" />
        <Group gap="xs">
          <Button size="xs" onClick={onMerge}>
            Merge by hand
          </Button>
          <Button size="xs" variant="default" loading={saving} onClick={onMine}>
            Save mine as the next revision
          </Button>
          <Button size="xs" variant="default" onClick={onTheirs}>
            Take theirs, drop mine
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
