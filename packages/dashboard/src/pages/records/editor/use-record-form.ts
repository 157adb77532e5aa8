/** The state of the form of a record: edits, errors, saving. */
import type { CollectionEntry, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { drafts, useDraft } from "../../../kit/use-draft.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import {
  bodyOf,
  changedFields,
  conflicts,
  type Edit,
  type Edits,
  editsForCopy,
  fingerprint,
  isEdits,
  rebased,
  withoutEdits,
} from "./edits.ts";
import { recordQuery } from "./record-query.ts";
import { noErrors, type SaveErrors, saveErrors } from "./save-errors.ts";

interface FormOptions {
  collection: CollectionEntry;
  recordId: string;
  /** The stored record; null for a new record. */
  record: StoredRecord | null;
  isDeleted: boolean;
  /** `isStaying` is true when the user saves and continues with the record. */
  onSaved: (record: StoredRecord, isStaying: boolean) => void;
}

interface Request {
  /** Null for a new record. */
  readonly id: string | null;
  readonly values: { readonly [field: string]: JsonValue };
  readonly isStaying: boolean;
}

function send(collection: string, request: Request): Promise<StoredRecord> {
  const records = client.collection<StoredRecord>(collection);
  return request.id === null ? records.create(request.values) : records.update(request.id, request.values);
}

export function useRecordForm({ collection, recordId, record, isDeleted, onSaved }: FormOptions) {
  const { fields } = collection;
  const queryClient = useQueryClient();
  const id = `${collection.name}/${recordId}`;
  // The form takes an earlier draft at once, as the form of a collection does; a notice tells the user.
  const [kept] = useState(() => drafts.read(id, isEdits));
  const [edits, setEdits] = useState<Edits>(kept?.content ?? {});
  const [errors, setErrors] = useState<SaveErrors>(noErrors);
  /** Counts the failed saves: each failed save moves the focus to the first error. */
  const [failures, setFailures] = useState(0);
  const base = useRef(record);
  base.current = record;

  const edit = useCallback((field: FieldDefinition, make: (from: string) => Edit): void => {
    const from = fingerprint(base.current?.[field.name] ?? null);
    setEdits((before) => ({ ...before, [field.name]: make(before[field.name]?.from ?? from) }));
    setErrors((before) => {
      if (before.fields[field.name] === undefined) return before;
      const { [field.name]: _, ...others } = before.fields;
      return { ...before, fields: others };
    });
  }, []);
  const setValue = useCallback(
    (field: FieldDefinition, value: JsonValue): void => {
      // For json the form keeps the typed text, because the text holds more than the value.
      if (field.type !== "json") edit(field, (from) => ({ value, from }));
    },
    [edit],
  );
  const setTyped = useCallback(
    (field: FieldDefinition, typed: string): void => edit(field, (from) => ({ text: typed, from })),
    [edit],
  );
  const reset = useCallback((field: FieldDefinition): void => setEdits((before) => withoutEdits(before, [field])), []);

  const changed = useMemo(() => changedFields(fields, edits, record), [fields, edits, record]);
  const clashing = useMemo(() => conflicts(fields, edits, record), [fields, edits, record]);
  const isDirty = changed.length > 0;
  const draft = useDraft({ id, kept, content: edits, isDirty });

  const fail = (next: SaveErrors): void => {
    setErrors(next);
    setFailures((before) => before + 1);
  };
  const mutation = useMutation({
    mutationFn: (request: Request) => send(collection.name, request),
    onSuccess: (saved, { isStaying }) => {
      queryClient.setQueryData(recordQuery(collection.name, saved.id).queryKey, saved);
      setErrors(noErrors);
      draft.forget();
      setEdits({});
      onSaved(saved, isStaying);
    },
    onError: (thrown) => fail(saveErrors(thrown, fields)),
  });

  const save = (isStaying: boolean): void => {
    if (mutation.isPending) return;
    // Saving a deleted record creates the record again, from the values on the page.
    const source = record !== null && isDeleted ? editsForCopy(fields, edits, record) : edits;
    const target = isDeleted ? null : record;
    const { values, problems } = bodyOf(fields, source, target);
    const broken = Object.entries(problems);
    if (broken.length > 0) {
      fail({
        ...noErrors,
        fields: Object.fromEntries(broken.map(([name, problem]) => [name, text.editor.problems[problem]])),
        general: [text.editor.problemsBelow(broken.length)],
      });
      return;
    }
    mutation.mutate({ id: target?.id ?? null, values, isStaying });
  };

  return {
    edits,
    errors,
    failures,
    changed,
    clashing,
    isDirty,
    draft,
    isSaving: mutation.isPending,
    setValue,
    setTyped,
    reset,
    save,
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

export type RecordForm = ReturnType<typeof useRecordForm>;
