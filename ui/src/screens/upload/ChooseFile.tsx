import { Button, FileButton, Text, Title } from "@mantine/core";
import { FileUp } from "lucide-react";
import { DropZone } from "~/blocks/DropZone";
import { GoTo } from "~/blocks/links";
import { Allowed } from "~/shell/Allowed";
import { useRefusal, VIEWERS } from "~/shell/me";
import { useInstalled } from "~/shell/visible";
import { choose } from "./chosen";

export function ChooseFile() {
  const refusal = useRefusal("operator");
  if (refusal)
    return (
      <DropZone onFiles={choose}>
        <FileUp size={36} strokeWidth={1.25} aria-hidden />
        <Title order={2} size="h3">
          Uploading needs the role operator
        </Title>
        <Text c="dimmed" size="sm" maw={520}>
          {VIEWERS}
        </Text>
        <Allowed role="operator">
          <Button>Choose a file</Button>
        </Allowed>
      </DropZone>
    );
  return (
    <DropZone onFiles={choose}>
      <FileUp size={36} strokeWidth={1.25} aria-hidden />
      <Title order={2} size="h3">
        Drop a file here, or on any other screen
      </Title>
      <Text c="dimmed" size="sm" maw={520}>
        Or paste cells from a spreadsheet. You see what is in it before anything is sent.
      </Text>
      <FileButton multiple onChange={choose}>
        {(props) => <Button {...props}>Choose a file</Button>}
      </FileButton>
      <Elsewhere />
    </DropZone>
  );
}

/** Where the extensions of this application take what is no list of rows. */
function Elsewhere() {
  const [sites, linking, articles] = [useInstalled("/sites"), useInstalled("/linking"), useInstalled("/articles")];
  if (!sites && !linking && !articles) return null;
  return (
    <Text c="dimmed" size="xs" maw={520}>
      Elsewhere:{" "}
      {sites && (
        <>
          addresses of websites (<GoTo to="/sites" underline="always">Sites</GoTo>){" "}
        </>
      )}
      {linking && (
        <>
          datasets to be matched (<GoTo to="/linking/new" underline="always">Linking</GoTo>){" "}
        </>
      )}
      {articles && (
        <>
          texts (<GoTo to="/articles" underline="always">Articles</GoTo>)
        </>
      )}
    </Text>
  );
}
