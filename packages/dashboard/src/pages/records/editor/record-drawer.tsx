/** The drawer that creates or changes a record. The inside is loaded when a first record opens. */
import { Drawer, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useRef } from "react";
import { drawerMark, useEscape } from "../../../kit/details-drawer.tsx";
import { preloadable } from "../../../kit/preloadable.tsx";
import { RowsSkeleton } from "../../../kit/states.tsx";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import { preloadControls } from "./field-control.tsx";
import { recordName } from "./naming.ts";
import type { DrawerHandlers, RecordDrawerProps, RecordEditorProps } from "./record-editor.tsx";
import { NEW_RECORD, recordQuery } from "./record-query.ts";

const editor = preloadable<RecordEditorProps>(async () => (await import("./record-editor.tsx")).RecordEditor);

/** Loads the editor and its controls before the drawer opens. */
export async function preloadEditor(): Promise<void> {
  await Promise.all([editor.preload(), preloadControls()]);
}

export function RecordDrawer(props: RecordDrawerProps) {
  const { collection, recordId, onClose } = props;
  const handlers = useRef<DrawerHandlers | null>(null);
  const close = (): void => (handlers.current === null ? onClose() : handlers.current.close());
  useEscape(true, close);
  // The editor inside reads the record; the title shows the name of the loaded record.
  const { data: record } = useQuery({ ...recordQuery(collection.name, recordId), enabled: false });
  const title =
    recordId === NEW_RECORD
      ? text.editor.newRecord(collection.name)
      : record === undefined
        ? text.editor.record(collection.name)
        : recordName(record, collection.fields);
  return (
    <Drawer.Root
      opened
      onClose={close}
      position="right"
      size={640}
      closeOnEscape={false}
      attributes={{ content: drawerMark }}
      onKeyDown={(event) => handlers.current?.press(event)}
    >
      <Drawer.Overlay backgroundOpacity={0.25} />
      <Drawer.Content classNames={{ content: classes["content"] ?? "" }}>
        <div className={classes["titleBar"]}>
          <Drawer.Title
            className={`cut ${classes["title"]}`}
            // A new record has the focus in its first field, a stored record on its name.
            {...(recordId !== NEW_RECORD && { tabIndex: -1, "data-autofocus": true })}
          >
            {title}
            {record !== undefined && (
              <Text span size="sm" c="dimmed" fw={400} ml={8}>
                {collection.name}
              </Text>
            )}
          </Drawer.Title>
          <Drawer.CloseButton aria-label={text.common.close} />
        </div>
        <Suspense fallback={<RowsSkeleton rows={6} height={54} />}>
          <editor.Component key={`${collection.name}/${recordId}`} {...props} handlers={handlers} />
        </Suspense>
      </Drawer.Content>
    </Drawer.Root>
  );
}
