/** The panel that creates or changes a record, beside the grid on a wide screen. The inside is loaded when a first record opens. */
import { Drawer, Group, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, Suspense } from "react";
import { IconChevronDown, IconChevronUp, IconEye } from "../../../icons/index.ts";
import { drawerMark, useEscape } from "../../../kit/details-drawer.tsx";
import { IconAction } from "../../../kit/icon-action.tsx";
import { preloadable } from "../../../kit/preloadable.tsx";
import { RowsSkeleton } from "../../../kit/states.tsx";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import { preloadControls } from "./field-control.tsx";
import { recordName } from "./naming.ts";
import type { RecordEditorProps } from "./record-editor.tsx";
import { NEW_RECORD, recordQuery } from "./record-query.ts";

const editor = preloadable<RecordEditorProps>(async () => (await import("./record-editor.tsx")).RecordEditor);

/** Loads the editor and its controls before the drawer opens. */
export async function preloadEditor(): Promise<void> {
  await Promise.all([editor.preload(), preloadControls()]);
}

interface RecordDrawerProps extends RecordEditorProps {
  /** The ids of the records before and after, in the order of the grid; undefined at an end. */
  previous: string | undefined;
  next: string | undefined;
  onStep: (id: string) => void;
  /** Shows the record as another caller sees the record; null for records of users. */
  onViewAs: (() => void) | null;
}

function focus(element: HTMLElement | null): void {
  element?.focus();
}

export function RecordDrawer({ previous, next, onStep, onViewAs, ...props }: RecordDrawerProps) {
  const { collection, recordId, onClose, handlers } = props;
  // The grid stays in use beside the panel: collections.module.css leaves the room.
  const isBeside = useMediaQuery("(min-width: 75em)", false, { getInitialValueInEffect: false });
  const leave = (go: () => void): void => (handlers.current === null ? go() : handlers.current.leave(go));
  const close = (): void => leave(onClose);
  const step = (id: string | undefined): void => {
    if (id !== undefined) leave(() => onStep(id));
  };
  useEscape(true, close);
  const steps =
    recordId === NEW_RECORD
      ? []
      : [
          { icon: IconChevronUp, label: text.editor.previous, keys: "Alt ↑", id: previous },
          { icon: IconChevronDown, label: text.editor.next, keys: "Alt ↓", id: next },
        ];
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.altKey && event.key === "ArrowUp") step(previous);
    else if (event.altKey && event.key === "ArrowDown") step(next);
    else handlers.current?.press(event);
  };
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
      size={isBeside ? 560 : 640}
      closeOnEscape={false}
      trapFocus={!isBeside}
      lockScroll={!isBeside}
      attributes={{ content: { ...drawerMark, "data-is-beside": isBeside || undefined } }}
      onKeyDown={press}
    >
      {!isBeside && <Drawer.Overlay backgroundOpacity={0.25} />}
      <Drawer.Content
        // The library calls each drawer modal.
        ref={(content) => content?.setAttribute("aria-modal", String(!isBeside))}
        classNames={{ content: classes["content"] ?? "" }}
      >
        <div className={classes["titleBar"]}>
          <Drawer.Title
            key={recordId}
            className={`cut ${classes["title"]}`}
            // A new record has the focus in its first field, each stored record on its name.
            {...(recordId !== NEW_RECORD && { ref: focus, tabIndex: -1, "data-autofocus": true })}
          >
            {title}
            {record !== undefined && (
              <Text span size="sm" c="dimmed" fw={400} ml={8}>
                {collection.name}
              </Text>
            )}
          </Drawer.Title>
          <Group gap={2} wrap="nowrap">
            {onViewAs !== null && recordId !== NEW_RECORD && (
              <IconAction
                icon={IconEye}
                label={text.records.viewAs.open}
                tip={text.records.viewAs.open}
                size={28}
                onClick={() => leave(onViewAs)}
              />
            )}
            {steps.map(({ icon, label, keys, id }) => (
              <IconAction
                key={label}
                {...{ icon, label }}
                tip={`${label} (${keys})`}
                size={28}
                disabled={id === undefined}
                onClick={() => step(id)}
              />
            ))}
            <Drawer.CloseButton aria-label={text.common.close} />
          </Group>
        </div>
        <Suspense fallback={<RowsSkeleton rows={6} height={54} />}>
          <editor.Component key={`${collection.name}/${recordId}`} {...props} />
        </Suspense>
      </Drawer.Content>
    </Drawer.Root>
  );
}
