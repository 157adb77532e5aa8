/** The control for a value of a field, by its type. */
import { Skeleton } from "@mantine/core";
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { type ComponentType, type ReactNode, Suspense, useCallback, useEffect, useRef } from "react";
import { kinds } from "../../../fields/index.ts";
import { preloadable } from "../../../kit/preloadable.tsx";
import { text } from "../../../texts/index.ts";
import type { ControlProps } from "./controls/control.ts";
import { SequenceControl } from "./controls/sequence-control.tsx";
import { ValuesControl } from "./controls/values-control.tsx";
import classes from "./editor.module.css";
import { fieldHint } from "./naming.ts";

// The first field of a kind loads its control: calendars, drop zones and search boxes are heavy.
const relations = preloadable(async () => (await import("./controls/relations-control.tsx")).RelationsControl);
const files = preloadable(async () => (await import("./controls/files-control.tsx")).FilesControl);
const tags = preloadable(async () => (await import("./controls/tags-control.tsx")).TagsControl);

/** Loads the controls before the first field appears. */
export async function preloadControls(): Promise<void> {
  const controls = [...Object.values(kinds).map(({ control }) => control), relations, files, tags];
  await Promise.all(controls.map(({ preload }) => preload()));
}

export interface FieldControlProps {
  field: FieldDefinition;
  value: JsonValue;
  /**
   * Called with the value. An unfinished number or time comes as the typed text, which the service would refuse: `onInvalid`
   * reports the problem. Unfinished JSON is not passed on.
   */
  onChange: (value: JsonValue) => void;
  /** The complaint of the service or of the control. */
  error?: string | undefined;
  /** A label above the control. Without a label, the field's name is only the accessible name, as in a cell of a grid. */
  label?: string | undefined;
  autoFocus?: boolean | undefined;
  /** Called with the problem of the text in the control, and with null when the text is a value again. */
  onInvalid?: ((problem: string | null) => void) | undefined;
  /** For json: the typed text, if a form keeps the text. */
  typed?: string | undefined;
  onTyped?: ((text: string) => void) | undefined;
}

export function FieldControl(props: FieldControlProps) {
  const { field, value, onChange, error, label, autoFocus = false, onInvalid, typed, onTyped } = props;
  const latest = useRef(onInvalid);
  useEffect(() => {
    latest.current = onInvalid;
  });
  const tellInvalid = useCallback((problem: string | null) => latest.current?.(problem), []);
  const control: ControlProps = {
    field,
    value,
    onChange,
    error,
    label: label === undefined ? undefined : <FieldLabel field={field} label={label} />,
    size: label === undefined ? "xs" : "sm",
    autoFocus,
    onInvalid: tellInvalid,
    typed,
    onTyped,
  };
  const Control = controlFor(field);
  return (
    <div className={classes["control"]} data-control>
      <Suspense fallback={<ControlSkeleton label={control.label} />}>
        <Control {...control} />
      </Suspense>
    </div>
  );
}

/** The control for a field: by its type, except for sequences, fields with `values`, and multiple fields. */
function controlFor({ sequence, multiple, type, values }: FieldDefinition): ComponentType<ControlProps> {
  if (sequence !== undefined) return SequenceControl;
  if (multiple === true) return { relation: relations, file: files }[String(type)]?.Component ?? tags.Component;
  return values === undefined ? kinds[type].control.Component : ValuesControl;
}

/** The name with its mark; type and rules are a quiet hint outside the accessible name. */
function FieldLabel({ field, label }: { field: FieldDefinition; label: string }) {
  return (
    <span className={classes["labelLine"]}>
      <span className={classes["labelName"]}>
        {label}
        {field.required === true && (
          <span aria-hidden title={text.editor.required} className={classes["required"]}>
            {" *"}
          </span>
        )}
      </span>
      <span className={classes["hint"]} aria-hidden title={fieldHint(field)}>
        {fieldHint(field)}
      </span>
    </span>
  );
}

function ControlSkeleton({ label }: { label: ReactNode }) {
  return (
    <div role="status" aria-label={text.common.loading}>
      {label}
      <Skeleton height={label === undefined ? 30 : 36} />
    </div>
  );
}
