/** The drawer in which a record is made or changed. */
import { Drawer } from "@mantine/core";
import type { CollectionEntry, StoredRecord } from "@socle/protocol";

export interface RecordDrawerProps {
  collection: CollectionEntry;
  /** The id of the record, or "new". */
  recordId: string;
  onClose: () => void;
  /** Called with what the service answered: the new or the changed record. */
  onSaved?: (record: StoredRecord) => void;
}

export function RecordDrawer({ recordId, onClose }: RecordDrawerProps) {
  return (
    <Drawer opened onClose={onClose} position="right" title={recordId}>
      …
    </Drawer>
  );
}
