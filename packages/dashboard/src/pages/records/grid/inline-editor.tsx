/** The control over a cell while its value is changed. The typed text stays when the service refuses it. */
import { Loader } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { messageOf, notifyError } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import type { Row } from "../data/rows.ts";
import { FieldControl } from "../editor/index.ts";
import classes from "./grid.module.css";

/** The least width; the control never makes it wider. */
const editorWidth = 260;
/** Of the control with its hint. */
const editorHeight = 60;
/** A complaint may need two more lines. */
const roomBelow = 36;

/** Whether a choice is the whole of the change: a record, one of several values. */
function choosesAtOnce({ type, values, multiple }: PlacedColumn["field"]): boolean {
  return multiple !== true && (type === "relation" || values !== undefined);
}

function reasonOf(thrown: unknown, name: string): string {
  const detail = thrown instanceof SocleError ? thrown.details.find(({ field }) => field === name) : undefined;
  return detail?.message ?? messageOf(thrown);
}

export interface EditEnd {
  readonly saved: StoredRecord | null;
  /** Where to go on: the next or the previous cell, or nowhere. */
  readonly step: 1 | -1 | 0;
}

export interface InlineEditorProps {
  collection: string;
  row: Row;
  column: PlacedColumn;
  onEnd: (end: EditEnd) => void;
}

export function InlineEditor(props: InlineEditorProps) {
  const { collection, row, column, onEnd } = props;
  const before: JsonValue = row.record[column.name] ?? null;
  // Changes that come meanwhile do not touch what is typed.
  const [initial] = useState(before);
  const [value, setValue] = useState(initial);
  const [error, setError] = useState<string | undefined>(undefined);
  const [isSaving, setSaving] = useState(false);
  const isChoice = choosesAtOnce(column.field);
  const frame = useRef<HTMLDivElement>(null);
  // At the right edge of the grid it grows to the left, at the lower edge upwards.
  const [edges, setEdges] = useState<{ isEnd: boolean; isLow: boolean } | null>(null);
  useLayoutEffect(() => {
    const own = frame.current?.getBoundingClientRect();
    const grid = frame.current?.closest('[role="grid"]')?.getBoundingClientRect();
    if (own === undefined || grid === undefined) return;
    // A double click selects a word, which would be one of the control now.
    window.getSelection()?.removeAllRanges();
    setEdges({ isEnd: own.right > grid.right, isLow: own.top + editorHeight + roomBelow > grid.bottom });
  }, []);
  useEffect(() => {
    if (edges === null) return;
    // A control may have taken the focus by itself.
    if (frame.current?.contains(document.activeElement) === true) return;
    const control =
      frame.current?.querySelector<HTMLElement>("input:checked") ??
      frame.current?.querySelector<HTMLElement>("input, textarea, button, select");
    control?.focus({ preventScroll: true });
    if (control instanceof HTMLInputElement && control.type === "text") control.select();
  }, [edges]);

  const store = (next: JsonValue): Promise<StoredRecord> =>
    client.collection(collection).update(row.id, { [column.name]: next });
  const latest = useRef({ value, store, isOver: false });
  latest.current = { ...latest.current, value, store };
  const end = (ended: EditEnd): void => {
    latest.current.isOver = true;
    onEnd(ended);
  };
  // Another cell was clicked: the value is kept, as it is with Tab.
  useEffect(
    () => () => {
      const { value, store, isOver } = latest.current;
      if (isOver || value === initial) return;
      store(value).catch((thrown: unknown) =>
        notifyError(text.records.cellNotSaved(column.name), new Error(reasonOf(thrown, column.name))),
      );
    },
    [initial, column.name],
  );

  const save = async (step: 1 | -1 | 0, next: JsonValue = value): Promise<void> => {
    if (isSaving) return;
    if (next === initial) {
      end({ saved: null, step });
      return;
    }
    setSaving(true);
    latest.current.isOver = true;
    setError(undefined);
    try {
      onEnd({ saved: await store(next), step });
    } catch (thrown) {
      setError(reasonOf(thrown, column.name));
      setSaving(false);
      latest.current.isOver = false;
    }
  };
  const change = (next: JsonValue): void => {
    setValue(next);
    if (isChoice) void save(0, next);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    // The grid's own keys wait.
    event.stopPropagation();
    // An open list of choices takes Enter and Escape for itself.
    if (event.defaultPrevented) return;
    if (event.key === "Escape") {
      event.preventDefault();
      end({ saved: null, step: 0 });
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void save(0);
    } else if (event.key === "Tab") {
      event.preventDefault();
      void save(event.shiftKey ? -1 : 1);
    }
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys come from the control inside.
    <div
      ref={frame}
      className={classes["editor"]}
      data-is-end={edges?.isEnd === true || undefined}
      data-is-low={edges?.isLow === true || undefined}
      data-is-number={column.field.type === "integer" || column.field.type === "float" || undefined}
      onKeyDown={onKeyDown}
      onDoubleClick={(event) => event.stopPropagation()}
      style={{ width: Math.max(column.size, editorWidth) }}
    >
      {/* Not before it has its place: the browser scrolls to what gets the focus, and the page with it. */}
      {edges !== null && <FieldControl field={column.field} value={value} onChange={change} error={error} autoFocus />}
      <div className={classes["editorHint"]}>
        {isSaving ? (
          <>
            <Loader size={10} /> {text.records.saving}
          </>
        ) : isChoice ? (
          text.records.choiceHint
        ) : (
          text.records.editHint
        )}
      </div>
    </div>
  );
}
