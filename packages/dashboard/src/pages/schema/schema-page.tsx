/** The page of a collection's schema: its draft, the review of the change, and the merge with changes by others. */
import { Box, Code, Kbd, Menu } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { type CollectionEntry, isView, USERS } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import {
  IconClipboard,
  IconCopyPlus,
  IconDatabaseOff,
  IconDots,
  IconPencil,
  IconTable,
  IconTrash,
} from "../../icons/index.ts";
import {
  Action,
  CodeText,
  Dim,
  EmptyState,
  ErrorState,
  FilledPage,
  focusPage,
  IconAction,
  keyNames,
  LinkAction,
  notifyDone,
  RowsSkeleton,
  useShortcut,
} from "../../kit/index.ts";
import { collectionQuery, collectionsQuery, queryClient } from "../../service/queries.ts";
import { isGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { isSameDefinition, rebased } from "./draft/change.ts";
import { definitionOf, draftOf, isPlaceholder } from "./draft/draft.ts";
import { fieldStatus } from "./fields/field-row.tsx";
import { jsonOf } from "./json/json-tab.tsx";
import { ChangeBar, ChangedNotice, GoneNotice, RestoredNotice } from "./notices.tsx";
import { DeleteDialog } from "./review/delete-dialog.tsx";
import { RenameDialog } from "./review/rename-dialog.tsx";
import { ReviewDialog } from "./review/review-dialog.tsx";
import classes from "./schema.module.css";
import { type SchemaTab, SchemaTabs, tabOf, useTabChange } from "./schema-tabs.tsx";
import { type SchemaForm, useSchemaForm } from "./use-schema-form.ts";
import { ViewPage } from "./view-page.tsx";

/** The changes in short: "1 new · 2 changed · permissions". */
function summaryOf({ draft, change }: SchemaForm): string {
  const words = text.schema;
  // An empty row is not a field yet.
  const statuses = draft.fields.filter((field) => !isPlaceholder(field)).map(fieldStatus);
  const number = (status: string): number => statuses.filter((each) => each === status).length;
  const parts: string[] = [];
  if (number("new") > 0) parts.push(words.newFields(number("new")));
  if (number("changed") > 0) parts.push(words.changedFields(number("changed")));
  if (number("dropped") > 0) parts.push(words.droppedFields(number("dropped")));
  if (change?.permissions !== undefined) parts.push(words.changedPermissions);
  if (change?.indexes !== undefined) parts.push(words.changedIndexes);
  if (change?.search !== undefined) parts.push(words.changedSearch);
  return parts.length === 0 ? words.unsaved : words.summary(parts);
}

function SchemaEditor(props: { entry: CollectionEntry; isDeleted: boolean; tab: SchemaTab }) {
  const { entry, isDeleted, tab } = props;
  const { name } = entry;
  const navigate = useNavigate();
  const changeTab = useTabChange();
  const { data: collections } = useQuery(collectionsQuery);
  const names = useMemo(() => collections?.map((each) => each.name) ?? [name], [collections, name]);
  const surroundings = useMemo(() => ({ collections: names, isNew: false }), [names]);
  const targets = useMemo(() => [...new Set([...names, name, "users"])], [names, name]);
  const form = useSchemaForm({
    storageKey: name,
    first: draftOf(entry.definition, true),
    base: { definition: entry.definition, updatedAt: entry.updatedAt },
    surroundings,
  });
  const { draft, base, change, isDirty, problems, reset } = form;
  const [dialog, setDialog] = useState<"review" | "rename" | "delete" | null>(null);

  const isChanged = base !== null && base.updatedAt !== entry.updatedAt;
  const isOther = isChanged && isDirty && !isSameDefinition(base.definition, entry.definition);
  const stored = { definition: entry.definition, updatedAt: entry.updatedAt };
  // A user without changes needs no question.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed entry is the reason.
  useEffect(() => {
    if (isChanged && !isOther) reset(isDirty ? draft : draftOf(entry.definition, true), stored);
  }, [isChanged, isOther, entry]);

  const discard = (): void => reset(draftOf(entry.definition, true), stored);
  const review = (): void => {
    const first = problems[0];
    form.settle();
    if (form.pending !== null) changeTab("json");
    else if (first === undefined && change !== null && !isOther) setDialog("review");
    else if (first !== undefined) changeTab(tabOf(first, draft));
  };
  const applied = (next: CollectionEntry): void => {
    queryClient.setQueryData(collectionQuery(name).queryKey, next);
    reset(draftOf(next.definition, true), { definition: next.definition, updatedAt: next.updatedAt });
    setDialog(null);
    focusPage();
    notifyDone(text.schema.applied(name));
    void queryClient.invalidateQueries();
  };
  const renamed = (next: CollectionEntry): void => {
    form.forget();
    notifyDone(text.schema.renaming.done(name, next.name));
    queryClient.setQueryData(collectionQuery(next.name).queryKey, next);
    void navigate({ to: "/collections/$name/schema", params: { name: next.name } });
    queryClient.removeQueries({ queryKey: collectionQuery(name).queryKey });
    void queryClient.invalidateQueries();
  };
  const deleted = (): void => {
    form.forget();
    notifyDone(text.schema.deletion.done(name));
    void navigate({ to: "/collections" });
    queryClient.removeQueries({ queryKey: collectionQuery(name).queryKey });
    void queryClient.invalidateQueries({ queryKey: collectionsQuery.queryKey });
  };
  useShortcut({ keys: "mod+s", label: text.schema.shortcutSave, group: text.schema.group }, review, isDirty);
  useShortcut({ keys: "mod+Enter", label: text.schema.shortcutSave, group: text.schema.group }, review, isDirty);
  const reviewer = useRef<HTMLButtonElement>(null);
  const closeReview = (): void => {
    setDialog(null);
    requestAnimationFrame(() => reviewer.current?.focus());
  };

  return (
    <FilledPage
      title={name}
      note={`${text.schema.title} · ${text.collections.records(entry.records)}`}
      actions={
        <SchemaActions
          name={name}
          json={() => jsonOf(draft)}
          onRename={isDirty || isDeleted || name === USERS ? null : () => setDialog("rename")}
          onDelete={() => setDialog("delete")}
        />
      }
    >
      {(isOther || isDeleted || form.wasRestored) && (
        <Box px={16} py={12}>
          {isDeleted && <GoneNotice />}
          {isOther && (
            <ChangedNotice
              onKeep={() => base !== null && reset(rebased(draft, base.definition, entry.definition), stored)}
              onReload={discard}
            />
          )}
          {form.wasRestored && isDirty && !isOther && <RestoredNotice onDiscard={discard} onClose={form.acknowledge} />}
        </Box>
      )}
      <div className={`stretch ${classes["body"]}`} {...form.inputs}>
        <SchemaTabs form={form} tab={tab} stored={entry.definition} surroundings={surroundings} targets={targets} />
        {tab !== "json" && (
          <Dim px={{ base: 12, sm: 16 }} pt={12} pb={20}>
            <CodeText text={text.schema.filesNote} /> <Code>{text.schema.filesCommand}</Code> {text.schema.filesAfter}
          </Dim>
        )}
      </div>
      {isDirty && (
        <Changes form={form} ref={reviewer} isBlocked={isOther || isDeleted} onDiscard={discard} onReview={review} />
      )}
      {dialog === "review" && base !== null && change !== null && (
        <ReviewDialog
          base={base}
          after={definitionOf(draft)}
          change={change}
          onClose={closeReview}
          onApplied={applied}
        />
      )}
      {dialog === "rename" && (
        <RenameDialog
          base={stored}
          names={names}
          onClose={() => {
            setDialog(null);
            focusPage();
          }}
          onRenamed={renamed}
        />
      )}
      {dialog === "delete" && (
        <DeleteDialog
          name={name}
          onClose={() => {
            setDialog(null);
            focusPage();
          }}
          onDeleted={deleted}
        />
      )}
    </FilledPage>
  );
}

interface ChangesProps {
  form: ReturnType<typeof useSchemaForm>;
  ref: RefObject<HTMLButtonElement | null>;
  /** Whether the user must first look at the changed stored definition. */
  isBlocked: boolean;
  onDiscard: () => void;
  onReview: () => void;
}

/** The bar that sums up the changes and opens their review. */
function Changes({ form, ref, isBlocked, onDiscard, onReview }: ChangesProps) {
  const { problems, shown, pending, change } = form;
  return (
    <ChangeBar summary={summaryOf(form)} problems={shown.length + (pending === null ? 0 : 1)}>
      <Action label={text.schema.discard} onClick={onDiscard} />
      <Action
        label={text.schema.review}
        ref={ref}
        onClick={onReview}
        disabled={problems.length > 0 || pending !== null || change === null || isBlocked}
        rightSection={<ShortcutKeys />}
        variant="filled"
      />
    </ChangeBar>
  );
}

/** The keys of the button's shortcut, on wide screens. */
export function ShortcutKeys() {
  return (
    <Kbd size="xs" visibleFrom="sm" aria-hidden>
      {keyNames("mod+s").join(" ")}
    </Kbd>
  );
}

interface SchemaActionsProps {
  name: string;
  json: () => string;
  /** Null for users, and while the form has changes, which would stay behind under the old name. */
  onRename: (() => void) | null;
  onDelete: () => void;
}

function SchemaActions({ name, json, onRename, onDelete }: SchemaActionsProps) {
  const navigate = useNavigate();
  const clipboard = useClipboard();
  return (
    <>
      <LinkAction icon={IconTable} label={text.schema.records} to="/collections/$name" params={{ name }} />
      <Menu position="bottom-end" width={230} shadow="md">
        <Menu.Target>
          <IconAction icon={IconDots} iconSize={16} variant="default" size={30} label={text.schema.actions} />
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => onRename?.()} disabled={onRename === null}>
            {text.schema.rename}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconCopyPlus size={16} />}
            onClick={() => void navigate({ to: "/collections/-/new", search: { from: name } })}
          >
            {text.schema.duplicate}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconClipboard size={16} />}
            onClick={() => {
              clipboard.copy(json());
              notifyDone(text.schema.jsonCopied);
            }}
          >
            {text.schema.copyJson}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="var(--mantine-color-error)" leftSection={<IconTrash size={16} />} onClick={onDelete}>
            {text.schema.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

const route = getRouteApi("/inside/collections/$name/schema");

/** The service sends no event for a changed definition, so the page reads the definition at this interval. */
const lookAgainMs = 10_000;

export function SchemaPage() {
  const { name } = route.useParams();
  const { tab = "fields" } = route.useSearch();
  const query = useQuery({ ...collectionQuery(name), refetchInterval: lookAgainMs });
  if (query.data !== undefined && isView(query.data.definition)) return <ViewPage key={name} entry={query.data} />;
  if (query.data !== undefined)
    return <SchemaEditor key={name} entry={query.data} isDeleted={query.isError && isGone(query.error)} tab={tab} />;
  return (
    <FilledPage title={name} note={text.schema.title}>
      {query.isPending && <RowsSkeleton />}
      {query.isError && isGone(query.error) && (
        <EmptyState icon={IconDatabaseOff} title={text.records.noCollection(name)} body={text.records.noCollectionBody}>
          <LinkAction label={text.records.toCollections} to="/collections" variant="light" size="sm" />
        </EmptyState>
      )}
      {query.isError && !isGone(query.error) && <ErrorState error={query.error} onRetry={query.refetch} />}
    </FilledPage>
  );
}
