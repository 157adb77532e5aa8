/** The fields that a definition of `users` adds: in the drawer of a user, and in the form of a new user. */
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { USERS } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { DetailsSection, Form, FormFoot, notifyChange, QueryView } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { writable } from "../records/editor/edits.ts";
import { RecordFields } from "../records/editor/record-form.tsx";
import { NEW_RECORD, recordQuery, useLiveRecord } from "../records/editor/record-query.ts";
import { type RecordForm, useRecordForm } from "../records/editor/use-record-form.ts";

/** The collection of the users, with the fields that a form writes; undefined without a definition of `users`. */
export function useUserFields(): CollectionEntry | undefined {
  const { data } = useQuery(collectionsQuery);
  const entry = data?.find(({ name }) => name === USERS);
  return useMemo(() => entry && writable(entry), [entry]);
}

/** The fields of a user, with a button that saves the changes. */
export function UserFields({ collection, id }: { collection: CollectionEntry; id: string }) {
  useLiveRecord(USERS, id);
  const query = useQuery(recordQuery(USERS, id));
  return (
    <DetailsSection title={text.users.fields}>
      <QueryView query={query}>{(record) => <StoredFields collection={collection} record={record} />}</QueryView>
    </DetailsSection>
  );
}

function StoredFields({ collection, record }: { collection: CollectionEntry; record: StoredRecord }) {
  const form = useRecordForm({
    ...{ collection, recordId: record.id, record, isDeleted: false },
    onSaved: (_record, _isStaying, change) => notifyChange(text.users.fieldsSaved, change),
  });
  return (
    <Form onSubmit={() => form.save(true)}>
      <RecordFields collection={collection} record={record} form={form} isDeleted={false} />
      {form.isDirty && (
        <FormFoot size="xs" label={text.users.saveFields} isBusy={form.isSaving} onCancel={form.discard} />
      )}
    </Form>
  );
}

/** The state of the fields of a new user. The service makes the user and the record together. */
export function useNewFields(collection: CollectionEntry): RecordForm {
  return useRecordForm({ collection, recordId: NEW_RECORD, record: null, isDeleted: false, onSaved: () => undefined });
}

export function NewFields({ collection, form }: { collection: CollectionEntry; form: RecordForm }) {
  return <RecordFields collection={collection} record={null} form={form} isDeleted={false} hasFocus={false} />;
}
