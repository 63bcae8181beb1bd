import { Alert } from "@mantine/core";
import { TriangleAlert } from "lucide-react";

/** Why an answer is not what was asked for, e.g. as the embedder does not answer. */
export function Notice({ text }: { text: string }) {
  return (
    <Alert color="orange" icon={<TriangleAlert aria-hidden />} p="xs" data-notice>
      <span className="stored">{text}</span>
    </Alert>
  );
}
