/** A field of the form: its control, the mark of a change, and the button that takes the change back. */
import { ActionIcon, Text, Tooltip } from "@mantine/core";
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { IconArrowBackUp } from "@tabler/icons-react";
import { memo } from "react";
import { text } from "../../../texts/index.ts";
import { ChangedField } from "./controls/control.tsx";
import classes from "./editor.module.css";
import { FieldControl } from "./field-control.tsx";
import { shortValue } from "./naming.ts";
import type { RecordForm } from "./use-record-form.ts";

interface FieldRowProps {
  field: FieldDefinition;
  value: JsonValue;
  /** The typed text, for json. */
  typed: string | undefined;
  isChanged: boolean;
  error: string | undefined;
  /** The other user's value, if another user has changed the field meanwhile. */
  theirs: JsonValue | undefined;
  autoFocus: boolean;
  onChange: RecordForm["change"];
  onReset: RecordForm["reset"];
}

/** A form may have a hundred fields: a row is drawn again only when its own field changes. */
export const FieldRow = memo(function FieldRow(props: FieldRowProps) {
  const { field, value, typed, isChanged, error, theirs, autoFocus, onChange, onReset } = props;
  return (
    <div className={classes["row"]} data-field={field.name} data-changed={isChanged || undefined}>
      {isChanged && (
        <div className={classes["reset"]}>
          <Tooltip label={text.editor.reset(field.name)}>
            <ActionIcon
              variant="subtle"
              size="xs"
              aria-label={text.editor.reset(field.name)}
              onClick={() => onReset(field)}
            >
              <IconArrowBackUp size={14} />
            </ActionIcon>
          </Tooltip>
        </div>
      )}
      <ChangedField value={isChanged}>
        <FieldControl
          field={field}
          value={value}
          label={field.name}
          error={error}
          autoFocus={autoFocus}
          onChange={(next) => onChange(field, { value: next })}
          typed={typed}
          onTyped={(next) => onChange(field, { text: next })}
        />
      </ChangedField>
      {theirs !== undefined && (
        <Text size="xs" mt={6} style={{ overflowWrap: "anywhere" }}>
          {text.editor.theirs} <span className="mono">{shortValue(theirs, 200)}</span>
        </Text>
      )}
    </div>
  );
});
