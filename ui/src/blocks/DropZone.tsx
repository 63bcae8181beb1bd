import { useState, type ReactNode } from "react";
import classes from "./dropZone.module.css";

/** Takes files that are dropped on it, before Upload does. */
export function DropZone({ onFiles, children }: { onFiles: (files: FileList) => void; children: ReactNode }) {
  const [over, setOver] = useState(false);
  return (
    <div
      className={classes.zone}
      data-drop
      data-over={over || undefined}
      onDragOver={() => setOver(true)}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles(event.dataTransfer.files);
      }}
    >
      {children}
    </div>
  );
}
