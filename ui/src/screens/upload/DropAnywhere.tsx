import { Overlay, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { FileUp } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";
import { choose } from "./chosen";

/** A file that is dropped on any screen goes to Upload. Screens with a drop place of their own take it before: they prevent the default. */
export function DropAnywhere() {
  const [over, setOver] = useState(false);
  const navigate = useNavigate();
  const taken = useEffectEvent((files: FileList) => {
    choose(files);
    void navigate({ to: "/upload" });
  });

  useEffect(() => {
    let depth = 0;
    const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const elsewhere = (event: DragEvent) => event.target instanceof Element && event.target.closest("[data-drop]") !== null;
    const enter = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      depth += 1;
      setOver(!elsewhere(event));
    };
    const leave = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      depth -= 1;
      if (depth <= 0) setOver(false);
    };
    const hover = (event: DragEvent) => {
      // Else the browser would open the file instead of this page.
      if (holdsFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      depth = 0;
      setOver(false);
      if (!holdsFiles(event) || event.defaultPrevented) return;
      event.preventDefault();
      if (event.dataTransfer) taken(event.dataTransfer.files);
    };
    window.addEventListener("dragenter", enter);
    window.addEventListener("dragleave", leave);
    window.addEventListener("dragover", hover);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragenter", enter);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("dragover", hover);
      window.removeEventListener("drop", drop);
    };
  }, []);

  if (!over) return null;
  return (
    <Overlay fixed center zIndex={500} style={{ pointerEvents: "none" }} data-drop-overlay>
      <Stack align="center" c="white">
        <FileUp size={48} aria-hidden />
        <Text fw={600}>Drop it to upload: a table, a workbook, images or a zip of images</Text>
      </Stack>
    </Overlay>
  );
}
