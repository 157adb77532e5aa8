/** The control over a cell during an edit. The typed text stays when the service refuses the value. */
import { Loader } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { messageOf, notifyError } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { makeChange, type OwnChange } from "../../../service/undo.ts";
import { text } from "../../../texts/index.ts";
import type { PlacedColumn } from "../columns/use-columns.ts";
import type { Row } from "../data/rows.ts";
import { FieldControl } from "../editor/field-control.tsx";
import classes from "./grid.module.css";

/** The least width; the control never makes the editor wider. */
const editorWidth = 260;
/** Pixels of the control with its hint. */
const editorHeight = 60;
/** Pixels for an error message of two more lines. */
const roomBelow = 36;

/** Whether a choice completes the edit: a record, or a value of a fixed list. */
function choosesAtOnce({ type, values }: PlacedColumn["field"]): boolean {
  return type === "relation" || values !== undefined;
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
  onSaved: (saved: StoredRecord, column: string, change: OwnChange | null) => void;
}

/** The value of the edit, and the save of the value. */
function useEdit({ collection, row, column: { name }, onEnd, onSaved }: InlineEditorProps) {
  // Live changes do not touch the typed text.
  const [initial] = useState<JsonValue>(row.record[name] ?? null);
  const [value, setValue] = useState(initial);
  const [error, setError] = useState<string | undefined>(undefined);
  const [isSaving, setSaving] = useState(false);
  const store = async (next: JsonValue): Promise<void> => {
    const { value: saved, change } = await makeChange(text.undo.changes.cell(name, collection), (options) =>
      client.collection<StoredRecord>(collection).update(row.id, { [name]: next }, options),
    );
    onSaved(saved, name, change);
  };
  const latest = useRef({ value, store });
  latest.current = { value, store };
  const isOver = useRef(false);
  // A click on another cell keeps the value, as Tab does.
  useEffect(
    () => () => {
      const { value, store } = latest.current;
      if (isOver.current || value === initial) return;
      store(value).catch((thrown: unknown) =>
        notifyError(text.records.cellNotSaved(name), new Error(reasonOf(thrown, name))),
      );
    },
    [initial, name],
  );
  const end = (step: Step): void => {
    isOver.current = true;
    onEnd(step);
  };
  const save = async (step: Step, next = value): Promise<void> => {
    if (isSaving) return;
    setSaving(true);
    isOver.current = true;
    setError(undefined);
    try {
      if (next !== initial) await store(next);
      onEnd(step);
    } catch (thrown) {
      setError(reasonOf(thrown, name));
      setSaving(false);
      isOver.current = false;
    }
  };
  return { value, setValue, error, isSaving, end, save };
}

interface Edges {
  readonly isEnd: boolean;
  readonly isLow: boolean;
}

/** The edges of the grid at the editor, and the focus for the control. Null before the first layout. */
function useEdges(frame: RefObject<HTMLDivElement | null>): Edges | null {
  // At the right edge of the grid the editor grows to the left, at the lower edge upwards.
  const [edges, setEdges] = useState<Edges | null>(null);
  useLayoutEffect(() => {
    const own = frame.current?.getBoundingClientRect();
    const grid = frame.current?.closest('[role="grid"]')?.getBoundingClientRect();
    if (own === undefined || grid === undefined) return;
    // A double click selects a word, and the selection would now be in the control.
    window.getSelection()?.removeAllRanges();
    setEdges({ isEnd: own.right > grid.right, isLow: own.top + editorHeight + roomBelow > grid.bottom });
  }, [frame]);
  useEffect(() => {
    // The control may have taken the focus already.
    if (edges === null || frame.current?.contains(document.activeElement) === true) return;
    const control =
      frame.current?.querySelector<HTMLElement>("input:checked") ??
      frame.current?.querySelector<HTMLElement>("input, textarea, button, select");
    control?.focus({ preventScroll: true });
    if (control instanceof HTMLInputElement && control.type === "text") control.select();
  }, [edges, frame]);
  return edges;
}

export function InlineEditor(props: InlineEditorProps) {
  const { field, size } = props.column;
  const { value, setValue, error, isSaving, end, save } = useEdit(props);
  const isChoice = choosesAtOnce(field);
  const frame = useRef<HTMLDivElement>(null);
  const edges = useEdges(frame);
  const change = (next: JsonValue): void => {
    setValue(next);
    if (isChoice) void save(0, next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // The keys of the grid do not apply during an edit.
    event.stopPropagation();
    // An open list of choices handles Enter and Escape first.
    if (event.defaultPrevented) return;
    const isSave = event.key === "Tab" || (event.key === "Enter" && !event.shiftKey);
    if (!isSave && event.key !== "Escape") return;
    event.preventDefault();
    if (isSave) void save(event.key === "Enter" ? 0 : event.shiftKey ? -1 : 1);
    else end(0);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys come from the control inside.
    <div
      ref={frame}
      className={classes["editor"]}
      data-is-end={edges?.isEnd === true || undefined}
      data-is-low={edges?.isLow === true || undefined}
      data-is-number={kinds[field.type].isNumber}
      onKeyDown={onKeyDown}
      onDoubleClick={(event) => event.stopPropagation()}
      style={{ width: Math.max(size, editorWidth) }}
    >
      {/* Not before it has its place: the browser scrolls to what gets the focus, and the page with it. */}
      {edges !== null && <FieldControl field={field} value={value} onChange={change} error={error} autoFocus />}
      <div className={classes["editorHint"]}>
        {isSaving ? (
          <>
            <Loader size={10} /> {text.records.saving}
          </>
        ) : (
          text.records[isChoice ? "choiceHint" : "editHint"]
        )}
      </div>
    </div>
  );
}
