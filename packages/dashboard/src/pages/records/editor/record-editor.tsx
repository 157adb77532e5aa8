/** The inside of the drawer: head, tabs, form, foot. `record-drawer.tsx` loads this file when a first record opens. */
import { Badge, Button, Group, Kbd, Stack, Tabs, Text } from "@mantine/core";
import { getHotkeyHandler } from "@mantine/hooks";
import { type CollectionEntry, type StoredRecord, USERS } from "@socle/protocol";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useMemo, useState } from "react";
import { IconFileX } from "../../../icons/index.ts";
import {
  Action,
  CopyAction,
  confirmDanger,
  Dim,
  EmptyState,
  ErrorState,
  IdText,
  JsonEditor,
  keyNames,
  notifyChange,
  RelativeTime,
  RowsSkeleton,
  UserName,
  Warning,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { countPointers } from "../../../service/pointers.ts";
import { isGone } from "../../../service/refusals.ts";
import { makeChange } from "../../../service/undo.ts";
import { text } from "../../../texts/index.ts";
import { RecordLink } from "../record-link.tsx";
import classes from "./editor.module.css";
import { writable } from "./edits.ts";
import { HistoryTab } from "./history-tab.tsx";
import { recordName } from "./naming.ts";
import { RecordFields } from "./record-form.tsx";
import { NEW_RECORD, recordQuery, useLiveRecord } from "./record-query.ts";
import { type RecordForm, useRecordForm } from "./use-record-form.ts";

export interface RecordEditorProps {
  collection: CollectionEntry;
  /** The id of the record, or "new". */
  recordId: string;
  /** Called when the drawer should close, also after a save. */
  onClose: () => void;
  /** Called with the answer of the service: the new or the changed record. */
  onSaved: (record: StoredRecord) => void;
  handlers: RefObject<EditorHandlers | null>;
}

/** Decisions of the editor inside the drawer: how to leave the record, and how to handle keys. */
export interface EditorHandlers {
  /** Calls back at once if a draft holds the changes; otherwise after a question. */
  leave: (go: () => void) => void;
  press: (event: KeyboardEvent<HTMLElement>) => void;
}

export function RecordEditor(props: RecordEditorProps) {
  const { collection, recordId } = props;
  const isNew = recordId === NEW_RECORD;
  const query = useQuery(recordQuery(collection.name, recordId));
  const live = useLiveRecord(collection.name, recordId);
  if (isNew) return <LoadedEditor {...props} record={null} isDeleted={false} changedTo={null} />;
  if (query.data !== undefined) {
    const isDeleted = live.isDeleted || isGone(query.error);
    return <LoadedEditor {...props} record={query.data} isDeleted={isDeleted} changedTo={live.changedTo} />;
  }
  return query.isError ? (
    <NotLoaded collection={collection} id={recordId} error={query.error} onRetry={query.refetch} />
  ) : (
    <RowsSkeleton rows={6} height={54} />
  );
}

interface NotLoadedProps {
  collection: CollectionEntry;
  id: string;
  error: unknown;
  onRetry: () => void;
}

function NotLoaded({ collection, id, error, onRetry }: NotLoadedProps) {
  if (!isGone(error)) return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <div className={classes["body"]}>
      <EmptyState icon={IconFileX} title={text.editor.gone} body={text.editor.goneBody} />
      <HistoryTab collection={collection} id={id} record={null} onRestored={() => undefined} />
    </div>
  );
}

interface LoadedEditorProps extends RecordEditorProps {
  record: StoredRecord | null;
  isDeleted: boolean;
  changedTo: string | null;
}

function LoadedEditor(props: LoadedEditorProps) {
  const { recordId, record, isDeleted, changedTo, onClose, onSaved, handlers } = props;
  const collection = useMemo(() => writable(props.collection), [props.collection]);
  const areUsers = collection.name === USERS;
  const [tab, setTab] = useState<string | null>("fields");
  const [ownSave, setOwnSave] = useState<string | null>(null);
  const form = useRecordForm({
    ...{ collection, recordId, record, isDeleted },
    onSaved: (saved, isStaying, change) => {
      setOwnSave(saved.updatedAt);
      onSaved(saved);
      // While the drawer stays open, a notification would cover its buttons: the foot shows the save.
      if (isStaying && saved.id === recordId) return;
      notifyChange(record === null || isDeleted ? text.editor.savedNew : text.editor.saved, change);
      // A new record has a new address: the drawer of "new" closes.
      onClose();
    },
  });
  const remove = useDeletion(props, form);
  const leave = (go: () => void): void => {
    if (form.draft.flush()) go();
    else askToClose(form, go);
  };
  // A deleted user cannot be made again from the fields.
  const canSave = isDeleted ? !areUsers : record === null || form.isDirty;
  const save = (isStaying: boolean): void => {
    setTab("fields");
    if (canSave) form.save(isStaying);
  };
  useEffect(() => {
    const press = getHotkeyHandler([
      ["mod+S", () => save(true)],
      ["mod+Enter", () => save(false)],
    ]);
    handlers.current = { leave, press };
    return () => {
      handlers.current = null;
    };
  });
  const isChangedElsewhere = changedTo !== null && changedTo !== ownSave && !form.isSaving;
  const fields = <RecordFields collection={collection} record={record} form={form} isDeleted={isDeleted} />;
  const history = record !== null && (
    <HistoryTab
      collection={props.collection}
      id={record.id}
      record={isDeleted ? null : record}
      onRestored={(saved) => {
        setOwnSave(saved.updatedAt);
        onSaved(saved);
      }}
    />
  );
  return (
    <>
      <RecordHead collection={collection} record={record} isChangedElsewhere={isChangedElsewhere} />
      <EditorTabs {...{ record, tab, fields, history }} onTab={setTab} />
      <Foot
        {...{ record, isDeleted, form, canSave, wasSaved: ownSave !== null }}
        onDelete={areUsers ? null : remove}
        onClose={() => leave(onClose)}
        onSave={() => save(false)}
      />
    </>
  );
}

/** Asks before the loss of changes that no draft holds. */
function askToClose(form: RecordForm, onClose: () => void): void {
  confirmDanger({
    title: text.editor.closeTitle,
    body: text.editor.closeBody,
    action: text.editor.closeAction,
    onConfirm: () => {
      form.discard();
      onClose();
    },
  });
}

/** Answers the function that deletes the record after a question. */
function useDeletion({ collection, record, onClose }: LoadedEditorProps, form: RecordForm): () => void {
  const queryClient = useQueryClient();
  return () => {
    if (record === null) return;
    confirmDanger({
      title: text.editor.deleteTitle,
      body: <DeleteBody collection={collection.name} id={record.id} name={recordName(record, collection.fields)} />,
      action: text.editor.deleteAction,
      onConfirm: async () => {
        const { change } = await makeChange(text.undo.changes.deleted(1, collection.name), (options) =>
          client.collection(collection.name).delete(record.id, options),
        );
        form.discard();
        queryClient.removeQueries({ queryKey: recordQuery(collection.name, record.id).queryKey });
        notifyChange(text.editor.deleted, change);
        onClose();
      },
    });
  };
}

/** The question before the deletion of a record: its name, and the records that point to the record. */
function DeleteBody({ collection, id, name }: { collection: string; id: string; name: string }) {
  const { data } = useQuery({
    queryKey: ["pointers", collection, id],
    queryFn: () => countPointers(collection, [id]),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  return (
    <>
      {text.editor.deleteBody(name)}
      <Text size="sm" mt="xs" component="div" mih={22} role="status">
        {data === undefined || data === null ? (
          ""
        ) : data.length === 0 ? (
          text.editor.noPointers
        ) : (
          <Warning>{text.records.pointers(data, 1)}</Warning>
        )}
      </Text>
    </>
  );
}

interface EditorTabsProps extends Pick<LoadedEditorProps, "record"> {
  tab: string | null;
  onTab: (tab: string | null) => void;
  fields: ReactNode;
  history: ReactNode;
}

/** The fields, the JSON and the history of a record. A new record has only fields. */
function EditorTabs({ record, tab, onTab, fields, history }: EditorTabsProps) {
  return (
    // The form stays while another tab is looked at: an upload goes on.
    <Tabs keepMountedMode="display-none" value={tab} onChange={onTab} className="stretch">
      {record !== null && (
        <Tabs.List px={12} flex="none">
          <Tabs.Tab value="fields">{text.editor.fields}</Tabs.Tab>
          <Tabs.Tab value="json">{text.editor.json}</Tabs.Tab>
          <Tabs.Tab value="history">{text.history.title}</Tabs.Tab>
        </Tabs.List>
      )}
      {record === null ? (
        <div className={classes["body"]}>{fields}</div>
      ) : (
        <>
          <Tabs.Panel value="fields" className={classes["body"]}>
            {fields}
          </Tabs.Panel>
          <Tabs.Panel value="json" className={classes["body"]} tabIndex={0}>
            {tab === "json" && <JsonTab record={record} />}
          </Tabs.Panel>
          <Tabs.Panel value="history" className={classes["body"]} tabIndex={0}>
            {tab === "history" && history}
          </Tabs.Panel>
        </>
      )}
    </Tabs>
  );
}

/** The whole stored record as JSON. */
function JsonTab({ record }: { record: StoredRecord }) {
  const json = useMemo(() => JSON.stringify(record, null, 2), [record]);
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap">
        <Dim>{text.editor.savedJson}</Dim>
        <CopyAction value={json} label={text.editor.copyJson} />
      </Group>
      <JsonEditor value={json} readOnly label={text.editor.json} minHeight={200} maxHeight={10_000} />
    </Stack>
  );
}

interface FootProps extends Pick<LoadedEditorProps, "record" | "isDeleted"> {
  form: RecordForm;
  canSave: boolean;
  wasSaved: boolean;
  /** Null for users, who are deleted on the page of the users. */
  onDelete: (() => void) | null;
  onClose: () => void;
  onSave: () => void;
}

function Foot({ record, isDeleted, form, canSave, wasSaved, onDelete, onClose, onSave }: FootProps) {
  const quiet = record === null ? "" : wasSaved ? text.editor.savedState : text.editor.noChanges;
  return (
    <div className={classes["foot"]}>
      {record !== null && !isDeleted && onDelete !== null && (
        <Action
          label={text.common.delete}
          isDanger
          variant="subtle"
          color="red"
          size="sm"
          onClick={onDelete}
          ml={-12}
          mr="auto"
          px={12}
        />
      )}
      <Dim className={classes["state"]} role="status">
        {form.isDirty ? text.editor.changes(form.changed.length) : quiet}
      </Dim>
      <Button variant="default" onClick={onClose}>
        {record !== null && !form.isDirty ? text.common.close : text.common.cancel}
      </Button>
      <Button
        onClick={onSave}
        loading={form.isSaving}
        disabled={!canSave}
        aria-keyshortcuts="Control+S Meta+S"
        rightSection={
          <Kbd className={classes["kbd"]} aria-hidden>
            {keyNames("mod+s").join(" ")}
          </Kbd>
        }
      >
        {isDeleted ? text.editor.saveCopy : record === null ? text.common.create : text.common.save}
      </Button>
    </div>
  );
}

interface RecordHeadProps {
  collection: CollectionEntry;
  record: StoredRecord | null;
  isChangedElsewhere: boolean;
}

function RecordHead({ collection, record, isChangedElsewhere }: RecordHeadProps) {
  const ownerField = collection.fields.find(({ owner }) => owner === true);
  const owner = ownerField === undefined ? undefined : record?.[ownerField.name];
  if (record === null) return <div className={classes["headLine"]} />;
  return (
    <Group gap="2px 16px" fz="xs" c="dimmed" mih={20} className={classes["headLine"]}>
      <IdText id={record.id} />
      <span>
        {text.editor.created} <RelativeTime at={record.createdAt} />
      </span>
      <span>
        {text.editor.updated} <RelativeTime at={record.updatedAt} />
      </span>
      {owner !== undefined && (
        <span className="cut">
          {text.editor.owner}{" "}
          {typeof owner !== "string" ? (
            text.editor.noOwner
          ) : (
            <Text span inherit c="var(--mantine-color-text)">
              <UserName id={owner} nobody="" />
            </Text>
          )}
        </span>
      )}
      {collection.name === USERS && (
        <RecordLink collection={USERS} id={record.id}>
          {text.editor.account}
        </RecordLink>
      )}
      <span role="status">
        {isChangedElsewhere && (
          <Badge size="sm" variant="light" tt="none" fw={500}>
            {text.editor.changedElsewhere}
          </Badge>
        )}
      </span>
    </Group>
  );
}
