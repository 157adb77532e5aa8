/** The dialog that shows what is on the page as code: curl and the TypeScript client. */
import { Modal } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";

export interface SnippetsDialogProps {
  collection: CollectionEntry;
  filter?: string | undefined;
  sort?: string | undefined;
  /** The record that is open, if one is. */
  recordId?: string | undefined;
  onClose: () => void;
}

export function SnippetsDialog({ onClose }: SnippetsDialogProps) {
  return (
    <Modal opened onClose={onClose}>
      …
    </Modal>
  );
}
