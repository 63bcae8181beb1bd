import { List, Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import { bytes, count } from "~/blocks/wording";
import type { Preview } from "./reading";
import classes from "./upload.module.css";

const SHOWN = 24;

/** Images that were chosen are shown from this computer; those in a zip by name. */
export function Pictures({ files, found }: { files: File[]; found: Preview }) {
  if (found.kind === "image") {
    return (
      <div>
        <div className={classes.pictures}>
          {files.slice(0, SHOWN).map((file, at) => (
            <Thumbnail key={at} file={file} />
          ))}
        </div>
        {files.length > SHOWN && (
          <Text size="sm" c="dimmed">
            and {count(files.length - SHOWN)} more
          </Text>
        )}
      </div>
    );
  }
  return (
    <div>
      <Text size="sm" c="dimmed" mb={4}>
        {found.rowsEstimate !== null && found.rowsEstimate > found.images.length ? `The first ${found.images.length} entries` : "What is in it"}
      </Text>
      <List size="sm" aria-label="Entries of the archive">
        {found.images.map((one, at) => (
          <List.Item key={at} className="stored">
            {one.name}{" "}
            <Text span size="xs" c="dimmed">
              {one.problem ? `left out: ${one.problem}` : bytes(one.sizeBytes)}
            </Text>
          </List.Item>
        ))}
      </List>
    </div>
  );
}

function Thumbnail({ file }: { file: File }) {
  const image = useRef<HTMLImageElement>(null);
  useEffect(() => {
    const address = URL.createObjectURL(file);
    if (image.current) image.current.src = address;
    return () => URL.revokeObjectURL(address);
  }, [file]);
  return (
    <figure style={{ margin: 0 }}>
      <img ref={image} alt="" />
      <Text component="figcaption" size="xs" className="stored" lineClamp={2}>
        {file.name}
      </Text>
    </figure>
  );
}
