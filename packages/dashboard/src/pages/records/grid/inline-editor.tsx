/** The control over a cell during an edit. The typed text stays when the service refuses the value. */
import { Loader } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { messageOf, notifyError } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import type { Row } from "../data/rows.ts";
import { FieldControl } from "../editor/index.ts";
import classes from "./grid.module.css";

/** The least width; the control never makes the editor wider. */
const editorWidth = 260;
/** Pixels of the control with its hint. */
const editorHeight = 60;
/** Pixels for an error message of two more lines. */
const roomBelow = 36;

/** Whether a choice completes the edit: a record, or a value of a fixed list. */
function choosesAtOnce({ type, values, multiple }: PlacedColumn["field"]): boolean {
  return multiple !== true && (type === "relation" || values !== undefined);
}

function reasonOf(thrown: unknown, name: string): string {
  const detail = thrown instanceof SocleError ? thrown.details.find(({ field }) => field === name) : undefined;
  return detail?.message ?? messageOf(thrown);
}

/** The direction of the next edit: the next cell, the previous cell, or no further cell. */
export type Step = 1 | -1 | 0;

export interface InlineEditorProps {
  collection: string;
  row: Row;
  column: PlacedColumn;
  onEnd: (step: Step) => void;
  onSaved: (saved: StoredRecord, column: string) => void;
}

export function InlineEditor(props: InlineEditorProps) {
  const { collection, row, column, onEnd, onSaved } = props;
  const before: JsonValue = row.record[column.name] ?? null;
  // Live changes do not touch the typed text.
  const [initial] = useState(before);
  const [value, setValue] = useState(initial);
  const [error, setError] = useState<string | undefined>(undefined);
  const [isSaving, setSaving] = useState(false);
  const isChoice = choosesAtOnce(column.field);
  const frame = useRef<HTMLDivElement>(null);
  // At the right edge of the grid the editor grows to the left, at the lower edge upwards.
  const [edges, setEdges] = useState<{ isEnd: boolean; isLow: boolean } | null>(null);
  useLayoutEffect(() => {
    const own = frame.current?.getBoundingClientRect();
    const grid = frame.current?.closest('[role="grid"]')?.getBoundingClientRect();
    if (own === undefined || grid === undefined) return;
    // A double click selects a word, and the selection would now be in the control.
    window.getSelection()?.removeAllRanges();
    setEdges({ isEnd: own.right > grid.right, isLow: own.top + editorHeight + roomBelow > grid.bottom });
  }, []);
  useEffect(() => {
    if (edges === null) return;
    // The control may have taken the focus already.
    if (frame.current?.contains(document.activeElement) === true) return;
    const control =
      frame.current?.querySelector<HTMLElement>("input:checked") ??
      frame.current?.querySelector<HTMLElement>("input, textarea, button, select");
    control?.focus({ preventScroll: true });
    if (control instanceof HTMLInputElement && control.type === "text") control.select();
  }, [edges]);

  const store = async (next: JsonValue): Promise<void> =>
    onSaved(await client.collection<StoredRecord>(collection).update(row.id, { [column.name]: next }), column.name);
  const latest = useRef({ value, store, isOver: false });
  latest.current = { ...latest.current, value, store };
  const end = (step: Step): void => {
    latest.current.isOver = true;
    onEnd(step);
  };
  // A click on another cell keeps the value, as Tab does.
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

  const save = async (step: Step, next: JsonValue = value): Promise<void> => {
    if (isSaving) return;
    if (next === initial) {
      end(step);
      return;
    }
    setSaving(true);
    latest.current.isOver = true;
    setError(undefined);
    try {
      await store(next);
      onEnd(step);
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
    // The keys of the grid do not apply during an edit.
    event.stopPropagation();
    // An open list of choices handles Enter and Escape first.
    if (event.defaultPrevented) return;
    if (event.key === "Escape") {
      event.preventDefault();
      end(0);
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
      data-is-number={kinds[column.field.type].isNumber || undefined}
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
