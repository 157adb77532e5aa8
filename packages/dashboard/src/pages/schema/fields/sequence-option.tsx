/** The numbering of records by a field: whether the service numbers the records, and by which fields the service counts. */
import { MultiSelect, Stack } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import type { FieldDraft } from "../draft/draft.ts";
import type { FieldPatch } from "../draft/edits.ts";
import { Flag } from "./flag.tsx";

const words = text.schema.fields;

export function SequenceOption(props: {
  field: FieldDraft;
  /** Names of the fields by which the sequence may count. */
  scopes: readonly string[];
  onPatch: (patch: FieldPatch) => void;
}) {
  const { field, scopes, onPatch } = props;
  const { sequence } = field;
  const names = [...new Set([...scopes, ...(sequence ?? [])])];
  return (
    <Stack gap={6}>
      <Flag
        label={words.sequence}
        hint={words.sequenceHint}
        isOn={sequence !== null}
        onChange={(isOn) => onPatch({ sequence: isOn ? [] : null })}
      />
      {sequence !== null && (
        <MultiSelect
          size="xs"
          maw={420}
          label={words.sequenceBy}
          placeholder={sequence.length === 0 ? words.sequenceAll : ""}
          data={names}
          value={[...sequence]}
          maxValues={4}
          onChange={(next) => onPatch({ sequence: next })}
        />
      )}
    </Stack>
  );
}
