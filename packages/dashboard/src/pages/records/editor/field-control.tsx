/** The control for a value of a field, by its type. */
import { Skeleton } from "@mantine/core";
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { type ReactNode, Suspense, useCallback, useEffect, useRef } from "react";
import { preloadable } from "../../../kit/preloadable.tsx";
import { text } from "../../../texts/index.ts";
import { BooleanControl } from "./controls/boolean-control.tsx";
import type { ControlProps } from "./controls/control.ts";
import type { JsonControlProps } from "./controls/json-control.tsx";
import { NumberControl } from "./controls/number-control.tsx";
import { SequenceControl } from "./controls/sequence-control.tsx";
import { StringControl } from "./controls/string-control.tsx";
import { TagsControl } from "./controls/tags-control.tsx";
import { ValuesControl } from "./controls/values-control.tsx";
import classes from "./editor.module.css";
import { fieldHint } from "./naming.ts";

// Calendars, drop zones and search boxes are loaded by the first field that needs them.
const datetime = preloadable<ControlProps>(
  async () => (await import("./controls/datetime-control.tsx")).DatetimeControl,
);
const json = preloadable<JsonControlProps>(async () => (await import("./controls/json-control.tsx")).JsonControl);
const relation = preloadable<ControlProps>(
  async () => (await import("./controls/relation-control.tsx")).RelationControl,
);
const relations = preloadable<ControlProps>(
  async () => (await import("./controls/relations-control.tsx")).RelationsControl,
);
const file = preloadable<ControlProps>(async () => (await import("./controls/file-control.tsx")).FileControl);
const files = preloadable<ControlProps>(async () => (await import("./controls/files-control.tsx")).FilesControl);

/** Loads the controls ahead of the first field that needs them. */
export async function preloadControls(): Promise<void> {
  await Promise.all([datetime, json, relation, relations, file, files].map(({ preload }) => preload()));
}

export interface FieldControlProps {
  field: FieldDefinition;
  value: JsonValue;
  /**
   * Called with the value. A number or a time that is not finished comes as the text that was typed, which the service
   * would refuse: `onInvalid` tells. JSON that is not finished does not come.
   */
  onChange: (value: JsonValue) => void;
  /** The service's or the control's own complaint. */
  error?: string | undefined;
  /** A label above it; without one it has the field's name as its accessible name only, as in a cell of a grid. */
  label?: string | undefined;
  autoFocus?: boolean | undefined;
  /** Called with what is wrong with the text in the control, and with null when it is a value again. */
  onInvalid?: ((problem: string | null) => void) | undefined;
  /** For json: the text as it was typed, where a form keeps it. */
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
  };
  return (
    <div className={classes["control"]} data-control>
      <Suspense fallback={<ControlSkeleton label={control.label} />}>{controlOf(control, typed, onTyped)}</Suspense>
    </div>
  );
}

function controlOf(control: ControlProps, typed: string | undefined, onTyped: ((text: string) => void) | undefined) {
  if (control.field.sequence !== undefined) return <SequenceControl {...control} />;
  if (control.field.multiple === true) return controlOfItems(control);
  switch (control.field.type) {
    case "string":
    case "text":
      return control.field.values === undefined ? <StringControl {...control} /> : <ValuesControl {...control} />;
    case "integer":
    case "float":
      return <NumberControl {...control} />;
    case "boolean":
      return <BooleanControl {...control} />;
    case "datetime":
      return <datetime.Component {...control} />;
    case "json":
      return <json.Component {...control} typed={typed} onTyped={onTyped} />;
    case "relation":
      return <relation.Component {...control} />;
    case "file":
      return <file.Component {...control} />;
  }
}

/** The control for the items of a multiple field. */
function controlOfItems(control: ControlProps) {
  if (control.field.type === "relation") return <relations.Component {...control} />;
  return control.field.type === "file" ? <files.Component {...control} /> : <TagsControl {...control} />;
}

/** The name with its mark, and the type and the rules as a quiet hint that is no part of the accessible name. */
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
