/** The dialog that exports records into a file. */
import { Modal } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";

export interface ExportDialogProps {
  collection: CollectionEntry;
  filter?: string | undefined;
  sort?: string | undefined;
  /** Only these records; all that the filter finds without it. */
  ids?: readonly string[] | undefined;
  /** The columns that the grid shows, in its order. */
  columns: readonly string[];
  onClose: () => void;
}

export function ExportDialog({ onClose }: ExportDialogProps) {
  return (
    <Modal opened onClose={onClose}>
      …
    </Modal>
  );
}
