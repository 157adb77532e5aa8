/** The drawer in which a record is made or changed. Its inside is loaded when a record is first opened. */
import { Drawer } from "@mantine/core";
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { type KeyboardEvent, lazy, Suspense, useRef } from "react";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import { FormSkeleton } from "./form-skeleton.tsx";
import { NEW_RECORD } from "./record-query.ts";

const RecordEditor = lazy(async () => ({ default: (await import("./record-editor.tsx")).RecordEditor }));

export interface RecordDrawerProps {
  collection: CollectionEntry;
  /** The id of the record, or "new". */
  recordId: string;
  /** Called when the drawer is to go: after a save, too. */
  onClose: () => void;
  /** Called with what the service answered: the new or the changed record. */
  onSaved?: (record: StoredRecord) => void;
  onDeleted?: (recordId: string) => void;
}

/** What the editor inside decides: how it closes, and which keys it takes. */
export interface DrawerHandlers {
  close: () => void;
  press: (event: KeyboardEvent<HTMLElement>) => void;
}

export function RecordDrawer(props: RecordDrawerProps) {
  const { collection, recordId, onClose } = props;
  const handlers = useRef<DrawerHandlers | null>(null);
  const close = (): void => (handlers.current === null ? onClose() : handlers.current.close());
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    handlers.current?.press(event);
    // A dropdown that is open, and dialogs on top, take Escape for themselves.
    const { target, currentTarget } = event;
    if (event.key !== "Escape" || !(target instanceof Element) || !currentTarget.contains(target)) return;
    if (target.getAttribute("data-mantine-stop-propagation") !== "true") close();
  };
  const title = recordId === NEW_RECORD ? text.editor.newRecord(collection.name) : text.editor.record(collection.name);
  return (
    <Drawer.Root opened onClose={close} position="right" size={640} closeOnEscape={false} onKeyDown={press}>
      <Drawer.Overlay backgroundOpacity={0.25} />
      <Drawer.Content classNames={{ content: classes["content"] ?? "" }}>
        <div className={classes["titleBar"]}>
          <Drawer.Title className={classes["title"] ?? ""}>{title}</Drawer.Title>
          <Drawer.CloseButton aria-label={text.common.close} />
        </div>
        <Suspense fallback={<FormSkeleton />}>
          <RecordEditor key={`${collection.name}/${recordId}`} {...props} handlers={handlers} />
        </Suspense>
      </Drawer.Content>
    </Drawer.Root>
  );
}
