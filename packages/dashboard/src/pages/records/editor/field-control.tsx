/** The control for a value of a field, by its type. */
import { Skeleton } from "@mantine/core";
import type { FieldDefinition } from "@socle/protocol";
import { type ReactNode, Suspense } from "react";
import { kinds } from "../../../fields/index.ts";
import { text } from "../../../texts/index.ts";
import type { ControlProps } from "./controls/control.tsx";
import classes from "./editor.module.css";
import { fieldHint } from "./naming.ts";

/** Loads the controls before the first field appears: calendars, drop zones and search boxes are heavy. */
export async function preloadControls(): Promise<void> {
  await Promise.all(Object.values(kinds).map(({ control }) => control.preload()));
}

/**
 * The props of a control, except its looks. `onChange` gets an unfinished number or time as the typed text, which the service
 * would refuse; unfinished JSON is not passed on.
 */
export interface FieldControlProps
  extends Pick<ControlProps, "field" | "value" | "onChange" | "error" | "autoFocus" | "typed" | "onTyped"> {
  /** A label above the control. Without a label, the field's name is only the accessible name, as in a cell of a grid. */
  label?: string;
}

export function FieldControl({ label, ...props }: FieldControlProps) {
  const { field } = props;
  const shown = label === undefined ? undefined : <FieldLabel field={field} label={label} />;
  const Control = kinds[field.type].control.Component;
  return (
    <div style={{ display: "contents" }} data-control>
      <Suspense fallback={<ControlSkeleton label={shown} />}>
        <Control {...props} label={shown} size={label === undefined ? "xs" : "sm"} />
      </Suspense>
    </div>
  );
}

/** The name with its mark; type and rules are a quiet hint outside the accessible name. */
function FieldLabel({ field, label }: { field: FieldDefinition; label: string }) {
  return (
    <span className={classes["labelLine"]}>
      <span className="breaks">
        {label}
        {field.required === true && (
          <span aria-hidden title={text.editor.required} className={classes["required"]}>
            {" *"}
          </span>
        )}
      </span>
      <span className={`cut ${classes["hint"]}`} aria-hidden title={fieldHint(field)}>
        {fieldHint(field)}
      </span>
    </span>
  );
}

function ControlSkeleton({ label }: { label: ReactNode }) {
  return (
    <div role="status" aria-busy="true" aria-label={text.common.loading}>
      {label}
      <Skeleton height={label === undefined ? 30 : 36} />
    </div>
  );
}
