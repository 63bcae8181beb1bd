import { useMutation } from "@tanstack/react-query";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";

export function ForgetPlace({ name, onClose }: { name: string; onClose: () => void }) {
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/ingestion/sources/{name}", { params: { path: { name } } })),
    meta: { touches: [["jobs", "places"]] },
    onSuccess: () => tellDone(`${name} is not watched any more.`),
  });
  return (
    <Confirm title={`Forget ${name}?`} verb="Forget the place" danger onConfirm={() => remove.mutateAsync()} onClose={onClose}>
      It is not watched any more, and what was seen there is forgotten: watched again, all its files count as new. Jobs and files stay.
    </Confirm>
  );
}
