/** The props and the parts shared by all controls. */
import { CloseButton, Input, type InputWrapperProps } from "@mantine/core";
import type { CollectionEntry, FieldDefinition, JsonValue, Visibility } from "@socle/protocol";
import { createContext, type MouseEvent, type ReactNode, type Ref, useContext } from "react";
import { text } from "../../../../texts/index.ts";
import classes from "./controls.module.css";

export interface ControlProps {
  field: FieldDefinition;
  value: JsonValue;
  onChange: (value: JsonValue) => void;
  error: string | undefined;
  /** The visible label with its hints; undefined in a cell, where the field's name is only the accessible name. */
  label: ReactNode | undefined;
  size: "xs" | "sm";
  autoFocus: boolean;
  /** For json: the typed text, and a function that keeps the text. */
  typed?: string | undefined;
  onTyped?: ((text: string) => void) | undefined;
}

/** Whether a control is in a cell of the grid. */
export function isCompact({ size }: Pick<ControlProps, "size">): boolean {
  return size === "xs";
}

/** The note is below the input. */
const order: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

/** Props shared by all controls with an input: the label, the accessible name, the error and the focus. */
export function inputProps({ field, label, size, error, autoFocus }: ControlProps) {
  return {
    label,
    size,
    error,
    autoFocus,
    "data-autofocus": autoFocus || undefined,
    "aria-label": label === undefined ? field.name : undefined,
    "aria-required": field.required === true || undefined,
    inputWrapperOrder: order,
    classNames: { label: classes["label"] ?? "", description: classes["note"] ?? "" },
  };
}

/** The same for a typed value, with a placeholder in place of null, and a button that sets the value to null. */
export function typedProps(props: ControlProps) {
  const shared = inputProps(props);
  return {
    ...shared,
    placeholder: props.field.required === true ? "" : text.editor.notSet,
    rightSection: <ClearButton {...props} />,
    classNames: { ...shared.classNames, input: classes["nullable"] ?? "" },
  };
}

/** The label, the error and the warning around a control without an input of its own. */
export function ControlFrame(props: InputWrapperProps & { ref?: Ref<HTMLDivElement> }) {
  const names = { label: classes["label"] ?? "", description: classes["warning"] ?? "" };
  return <Input.Wrapper labelElement="div" inputWrapperOrder={order} classNames={names} {...props} />;
}

/** Whether the field is changed in a form. The form then has a button that takes the change back. */
export const ChangedField = createContext(false);

export function canClear({ field, value }: Pick<ControlProps, "field" | "value">): boolean {
  return value !== null && field.required !== true;
}

/**
 * The button that sets a field to null, while the value is not null and the field is not required. In a form, Tab skips the
 * button of a changed field: the button appears with the first character, and Tab goes to the next field.
 */
export function ClearButton(props: Pick<ControlProps, "field" | "value" | "onChange">) {
  const { field, onChange } = props;
  const isChanged = useContext(ChangedField);
  if (!canClear(props)) return null;
  const label = text.editor.clear(field.name);
  const clear = (event: MouseEvent<HTMLElement>): void => {
    // The button disappears with the value, so the focus moves to the control.
    const control = event.currentTarget.closest("[data-control]");
    control?.querySelector<HTMLElement>('input, textarea, [contenteditable="true"], [role="combobox"]')?.focus();
    onChange(null);
  };
  return (
    <CloseButton
      size="sm"
      iconSize={14}
      aria-label={label}
      title={label}
      onClick={clear}
      tabIndex={isChanged ? -1 : undefined}
    />
  );
}

interface UploadVisibility {
  readonly visibility: Visibility;
  /** The reason, in a sentence. */
  readonly reason: string;
}

export function uploadVisibilityOf({ name, permissions }: CollectionEntry): UploadVisibility {
  // Without a rule, everybody may read.
  return (permissions?.read ?? "public") === "public"
    ? { visibility: "public", reason: text.editor.uploadPublic(name) }
    : { visibility: "protected", reason: text.editor.uploadProtected(name) };
}

/** The visibility for the uploads of a form. */
export const UploadVisibilityContext = createContext<UploadVisibility>({ visibility: "protected", reason: "" });
