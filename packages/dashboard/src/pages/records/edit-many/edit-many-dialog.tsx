/** The dialog that gives a field of many records a value: of the selected records, or of all records that match. */
import { Modal, Progress, Select, Stack, Text } from "@mantine/core";
import type { CollectionEntry, JsonValue, RecordQuery } from "@socle/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Action, Dim, ErrorState, Form, FormFoot, messageOf, notifyChange } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { recordsKey } from "../data/record-query.ts";
import { FieldControl } from "../editor/field-control.tsx";
import classes from "../records.module.css";
import { type EditOutcome, editMany, matchingIds, sharedFields } from "./edit-many.ts";

const words = text.records.editMany;
/** The most refusals in the dialog; the number of all is above. */
export const mostShown = 200;

export interface EditManyProps {
  collection: CollectionEntry;
  filter?: string | undefined;
  search?: string | undefined;
  /** Only these records; undefined edits all records that match. */
  ids?: readonly string[] | undefined;
  /** The number of the records that match; undefined while unknown. */
  total: number | undefined;
  onClose: () => void;
}

export function EditManyDialog({ collection, filter, search, ids, total, onClose }: EditManyProps) {
  const { name } = collection;
  const queryClient = useQueryClient();
  const [reading] = useState(() => new AbortController());
  useEffect(() => () => reading.abort(), [reading]);
  // Changed records may match no more: the number stays that of the choice.
  const [wanted] = useState(ids?.length ?? total);
  const [progress, setProgress] = useState({ done: 0, of: wanted ?? 0 });
  const edit = useMutation({
    mutationFn: async ({ field, value }: { field: string; value: JsonValue }) => {
      const chosen = ids ?? (await matchingIds(name, queryOf(filter, search), reading.signal));
      const onProgress = (done: number): void => setProgress({ done, of: chosen.length });
      const body = { [field]: value };
      return editMany({
        collection: name,
        ids: chosen,
        bodyOf: () => body,
        words: (changed) => text.undo.changes.editedMany(field, changed, name),
        onProgress,
      });
    },
    onSuccess: ({ changed, failed, change }) => {
      if (changed > 0) notifyChange(words.done(changed), change);
      if (failed.length === 0) onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: recordsKey(name) }),
  });
  return (
    <Modal
      opened
      onClose={() => !edit.isPending && onClose()}
      withCloseButton={!edit.isPending}
      closeOnClickOutside={false}
      title={ids === undefined ? text.records.editAll(wanted) : words.title(ids.length)}
    >
      {edit.isPending ? (
        <Stack>
          <Progress value={(progress.done / Math.max(1, progress.of)) * 100} aria-label={words.progress} />
          <Text size="sm" role="status" className="numbers">
            {words.running(progress.done, progress.of)}
          </Text>
        </Stack>
      ) : edit.isSuccess ? (
        <Refusals {...edit.data} onClose={onClose} />
      ) : (
        <EditForm collection={collection} error={edit.error} onCancel={onClose} onSend={edit.mutate} />
      )}
    </Modal>
  );
}

function queryOf(filter: string | undefined, search: string | undefined): RecordQuery {
  return { ...(filter !== undefined && { filter }), ...(search !== undefined && { search }) };
}

interface EditFormProps {
  collection: CollectionEntry;
  error: Error | null;
  onCancel: () => void;
  onSend: (edit: { field: string; value: JsonValue }) => void;
}

function EditForm({ collection, error, onCancel, onSend }: EditFormProps) {
  const fields = sharedFields(collection);
  const [name, setName] = useState<string | null>(null);
  const [value, setValue] = useState<JsonValue>(null);
  const field = fields.find((each) => each.name === name);
  return (
    <Form onSubmit={() => field !== undefined && onSend({ field: field.name, value })}>
      <Stack>
        <Select
          label={words.field}
          data={fields.map((each) => each.name)}
          value={name}
          onChange={(next) => {
            setName(next);
            setValue(null);
          }}
          searchable
          allowDeselect={false}
          data-autofocus
        />
        {field !== undefined && (
          <FieldControl
            key={field.name}
            field={field}
            label={words.value(field.name)}
            value={value}
            onChange={setValue}
            error={undefined}
            autoFocus={false}
          />
        )}
        <Dim>{words.hint}</Dim>
        {error !== null && <ErrorState error={error} />}
        <FormFoot label={words.action} isBusy={false} disabled={field === undefined} onCancel={onCancel} />
      </Stack>
    </Form>
  );
}

/** The records that the service refused, each with its reason. */
export function Refusals({ changed, failed, onClose }: EditOutcome & { onClose: () => void }) {
  return (
    <Stack>
      <Text size="sm" role="status">
        {words.refused(changed, failed.length)}
      </Text>
      <ul className={`plain ${classes["refusals"]}`}>
        {failed.slice(0, mostShown).map(({ id, reason }) => (
          <li key={id}>
            <Text size="xs">
              <span className="mono">{id}</span>: {messageOf(reason)}
            </Text>
          </li>
        ))}
      </ul>
      <Action label={text.common.close} onClick={onClose} data-autofocus ml="auto" />
    </Stack>
  );
}
