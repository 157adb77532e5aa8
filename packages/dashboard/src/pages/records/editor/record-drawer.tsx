/** The drawer in which a record is made or changed. Its inside is loaded when a record is first opened. */
import { Drawer } from "@mantine/core";
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, Suspense, useRef } from "react";
import { preloadable } from "../../../kit/preloadable.tsx";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import { preloadControls } from "./field-control.tsx";
import { FormSkeleton } from "./form-skeleton.tsx";
import { recordName } from "./naming.ts";
import type { RecordEditorProps } from "./record-editor.tsx";
import { NEW_RECORD, recordQuery } from "./record-query.ts";

const editor = preloadable<RecordEditorProps>(async () => (await import("./record-editor.tsx")).RecordEditor);

/** Loads what the drawer shows, before it is opened. */
export async function preloadEditor(): Promise<void> {
  await Promise.all([editor.preload(), preloadControls()]);
}

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

/** Decisions of the editor inside the drawer: how it closes, and which keys it takes. */
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
  // The editor inside reads it; the title shows it once it is there.
  const { data: record } = useQuery({ ...recordQuery(collection.name, recordId), enabled: false });
  const title =
    recordId === NEW_RECORD
      ? text.editor.newRecord(collection.name)
      : record === undefined
        ? text.editor.record(collection.name)
        : recordName(record, collection.fields);
  return (
    <Drawer.Root opened onClose={close} position="right" size={640} closeOnEscape={false} onKeyDown={press}>
      <Drawer.Overlay backgroundOpacity={0.25} />
      <Drawer.Content classNames={{ content: classes["content"] ?? "" }}>
        <div className={classes["titleBar"]}>
          <Drawer.Title className={classes["title"] ?? ""}>
            {title}
            {record !== undefined && <span className={classes["titleNote"]}>{collection.name}</span>}
          </Drawer.Title>
          <Drawer.CloseButton aria-label={text.common.close} />
        </div>
        <Suspense fallback={<FormSkeleton />}>
          <editor.Component key={`${collection.name}/${recordId}`} {...props} handlers={handlers} />
        </Suspense>
      </Drawer.Content>
    </Drawer.Root>
  );
}
