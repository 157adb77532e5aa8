/** The choice of a visibility: of the next upload, or of a stored file. */
import { SegmentedControl } from "@mantine/core";
import { type StoredFile, VISIBILITIES, type Visibility } from "@socle/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { confirmDanger, notifyFailure } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { fileQuery } from "../../../storage/queries.ts";

interface VisibilityChoiceProps {
  label: string;
  value: Visibility;
  disabled?: boolean;
  onChange: (visibility: Visibility) => void;
}

export function VisibilityChoice({ label, ...choice }: VisibilityChoiceProps) {
  const data = VISIBILITIES.map((value) => ({ value, label: text.storage.visibilities[value] }));
  return <SegmentedControl size="xs" aria-label={label} data={data} {...choice} />;
}

/** The visibility of a stored file. A question comes before the file becomes public. */
export function StoredVisibility({ file, label }: { file: StoredFile; label: string }) {
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: (to: Visibility) => client.admin.setVisibility(file.id, to),
    onSuccess: (changed) => {
      queryClient.setQueryData(fileQuery(changed.id).queryKey, changed);
      void queryClient.invalidateQueries({ queryKey: ["storage", "list"] });
    },
  });
  const choose = (to: Visibility): void => {
    if (to === file.visibility) return;
    if (to !== "public") change.mutate(to, { onError: notifyFailure });
    else
      confirmDanger({
        title: text.storage.publishTitle(file.filename),
        body: text.storage.publishBody,
        action: text.storage.publishAction,
        onConfirm: () => change.mutateAsync(to),
      });
  };
  return <VisibilityChoice label={label} value={file.visibility} disabled={change.isPending} onChange={choose} />;
}
