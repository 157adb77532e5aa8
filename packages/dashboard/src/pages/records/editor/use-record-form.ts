/** The state of the form of a record: edits, errors, saving. */
import { SocleError } from "@socle/client";
import type { CollectionEntry, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { messageOf } from "../../../kit/states.tsx";
import { drafts, useDraft } from "../../../kit/use-draft.tsx";
import { client } from "../../../service/client.ts";
import { makeChange, type OwnChange } from "../../../service/undo.ts";
import { text } from "../../../texts/index.ts";
import {
  bodyOf,
  changedFields,
  conflicts,
  type Edits,
  editsForCopy,
  fingerprint,
  isEdits,
  rebased,
  type Typed,
  withoutEdits,
} from "./edits.ts";
import { recordQuery } from "./record-query.ts";

interface FormOptions {
  collection: CollectionEntry;
  recordId: string;
  /** The stored record; null for a new record. */
  record: StoredRecord | null;
  isDeleted: boolean;
  /** `isStaying` is true when the user saves and continues with the record. `change` is null for a change that cannot be named. */
  onSaved: (record: StoredRecord, isStaying: boolean, change: OwnChange | null) => void;
}

/** The edits of the form, with their draft. */
function useEdits({ collection: { name, fields }, recordId, record }: FormOptions) {
  const id = `${name}/${recordId}`;
  // The form takes an earlier draft at once, as the form of a collection does; a notice tells the user.
  const [kept] = useState(() => drafts.read(id, isEdits));
  const [edits, setEdits] = useState<Edits>(kept?.content ?? {});
  const base = useRef(record);
  base.current = record;
  const change = useCallback((field: FieldDefinition, typed: Typed): void => {
    const from = fingerprint(base.current?.[field.name] ?? null);
    setEdits((before) => ({ ...before, [field.name]: { ...typed, from: before[field.name]?.from ?? from } }));
  }, []);
  const reset = useCallback((field: FieldDefinition): void => setEdits((before) => withoutEdits(before, [field])), []);
  const changed = useMemo(() => changedFields(fields, edits, record), [fields, edits, record]);
  const clashing = useMemo(() => conflicts(fields, edits, record), [fields, edits, record]);
  const isDirty = changed.length > 0;
  const draft = useDraft({ id, kept, content: edits, isDirty });
  return {
    ...{ edits, change, reset, changed, clashing, isDirty, draft },
    takeTheirs: () => setEdits(withoutEdits(edits, clashing)),
    keepMine: () => {
      if (record !== null) setEdits(rebased(edits, clashing, record));
    },
    /** Discards all edits. */
    discard: () => {
      draft.forget();
      setEdits({});
    },
  };
}

/** A failed save. An error of a field holds until the next edit of the field. */
interface Failure {
  readonly errors: SaveErrors;
  readonly edits: Edits;
}

interface Request {
  /** Null for a new record. */
  readonly id: string | null;
  readonly values: { readonly [field: string]: JsonValue };
  readonly isStaying: boolean;
}

export function useRecordForm(options: FormOptions) {
  const { collection, record, isDeleted, onSaved } = options;
  const queryClient = useQueryClient();
  const form = useEdits(options);
  const { edits } = form;
  const [failure, setFailure] = useState<Failure | null>(null);
  const fail = (errors: SaveErrors): void => setFailure({ errors, edits });
  const mutation = useMutation({
    mutationFn: ({ id, values }: Request) => {
      const { name } = collection;
      const records = client.collection<StoredRecord>(name);
      const words = id === null ? text.undo.changes.created(name) : text.undo.changes.saved(name);
      return makeChange(words, (options) =>
        id === null ? records.create(values, options) : records.update(id, values, options),
      );
    },
    onSuccess: ({ value: saved, change }, { isStaying }) => {
      queryClient.setQueryData(recordQuery(collection.name, saved.id).queryKey, saved);
      setFailure(null);
      form.discard();
      onSaved(saved, isStaying, change);
    },
    onError: (thrown) => fail(saveErrors(thrown, { fields: collection.fields, elsewhere: [] })),
  });
  const target = isDeleted ? null : record;
  /** The values of a request; null, with the problems at the fields, for texts that are no values. */
  const collect = (): Request["values"] | null => {
    // Saving a deleted record creates the record again, from the values on the page.
    const source = record !== null && isDeleted ? editsForCopy(collection.fields, edits, record) : edits;
    const { values, problems } = bodyOf(collection.fields, source, target);
    const broken = Object.entries(problems).map(([name, problem]) => [name, text.editor.problems[problem]]);
    if (broken.length === 0) return values;
    fail({ ...noErrors, fields: Object.fromEntries(broken), general: [text.editor.problemsBelow(broken.length)] });
    return null;
  };
  const save = (isStaying: boolean): void => {
    const values = mutation.isPending ? null : collect();
    if (values !== null) mutation.mutate({ id: target?.id ?? null, values, isStaying });
  };
  return {
    ...form,
    save,
    collect,
    /** Shows the refusal of a request that this form did not send. @param elsewhere the fields of other controls. */
    refuse: (thrown: unknown, elsewhere: readonly string[]): void =>
      fail(saveErrors(thrown, { fields: collection.fields, elsewhere })),
    isSaving: mutation.isPending,
    /** The last failed save; null after a save. */
    failure,
    errorAt: (name: string): string | undefined =>
      failure?.edits[name] === edits[name] ? failure?.errors.fields[name] : undefined,
  };
}

export type RecordForm = ReturnType<typeof useRecordForm>;

export interface SaveErrors {
  readonly fields: { readonly [field: string]: string };
  /** Messages without a field. */
  readonly general: readonly string[];
  /** The id of the request in the log, after a failure of the service. */
  readonly requestId: string | null;
}

const noErrors: SaveErrors = { fields: {}, general: [], requestId: null };

function saveErrors(
  thrown: unknown,
  { fields, elsewhere }: { fields: readonly FieldDefinition[]; elsewhere: readonly string[] },
): SaveErrors {
  if (!(thrown instanceof SocleError)) return { ...noErrors, general: [messageOf(thrown)] };
  if (thrown.status === 401) return { ...noErrors, general: [text.editor.sessionEnded] };
  const names = new Set(fields.map(({ name }) => name));
  const atFields: { [field: string]: string } = {};
  const general: string[] = [];
  for (const { field, message } of thrown.details) {
    if (elsewhere.includes(field)) continue;
    if (!names.has(field)) general.push(message.startsWith(field) ? message : `${field}: ${message}`);
    else atFields[field] = atFields[field] === undefined ? message : `${atFields[field]}; ${message}`;
  }
  if (thrown.details.length === 0) general.push(messageOf(thrown));
  return { fields: atFields, general, requestId: thrown.status >= 500 ? thrown.requestId : null };
}
