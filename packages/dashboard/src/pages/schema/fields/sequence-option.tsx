/** The numbering of records by a field: whether the service numbers the records, and by which fields the service counts. */
import { MultiSelect, Stack, Switch } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import type { FieldDraft } from "../draft/draft.ts";
import type { FieldPatch } from "../draft/edits.ts";

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
      <Switch
        size="xs"
        label={words.sequence}
        description={words.sequenceHint}
        checked={sequence !== null}
        onChange={(event) => onPatch({ sequence: event.currentTarget.checked ? [] : null })}
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
