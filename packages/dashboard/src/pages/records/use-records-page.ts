/** The state of the records page: connects address, list, rows, columns, live changes, deletions and keys. */
import { SocleError } from "@socle/client";
import { type CollectionEntry, isView, type SavedView, type StoredRecord, USERS } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { kinds } from "../../fields/index.ts";
import { useIsNarrow, useListedShortcut, useShortcut } from "../../kit/index.ts";
import { deleteLater, onDeletes, useDeletions } from "../../service/deletes.ts";
import type { OwnChange } from "../../service/undo.ts";
import { text } from "../../texts/index.ts";
import type { RecordSearch } from "../search.ts";
import { fitted, type GridColumn, gridColumns, useColumns } from "./columns/use-columns.ts";
import { searchOf } from "./data/full-text-search.ts";
import { mergeChanges, withoutRows } from "./data/live-merge.ts";
import { changePages, type PageChange, recordsKey } from "./data/record-query.ts";
import type { Row } from "./data/rows.ts";
import { parseSort, toggleSort, writeSort } from "./data/sort.ts";
import { selectionOf, snippetsOf, targetsOf, useTargetDeletes } from "./data/targets.ts";
import { useLive } from "./data/use-live.ts";
import { useRows } from "./data/use-rows.ts";
import type { EditorHandlers } from "./editor/record-editor.tsx";
import { NEW_RECORD } from "./editor/record-query.ts";
import { toBuilder } from "./filter/builder.ts";
import { useGridState } from "./grid/use-grid-state.ts";
import { useSavedViews } from "./views/saved-views.ts";

/** `ids`: only these records; absent for all records of the list. */
type Dialog =
  | { readonly type: "code" | "viewAs" }
  /** `text`: of the clipboard. */
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: "export" | "edit"; readonly ids?: readonly string[] };

/** The words below the grid on the last change of a cell. */
interface Note {
  readonly words: string;
  /** Null for a change that cannot be named. */
  readonly change: OwnChange | null;
}

/** The time until an opened drawer is on the screen. */
const openingMs = 600;

/** The address of the page, and the functions that change the address. @param editor the open record, which may keep the panel. */
function useAddress(name: string, editor: RefObject<EditorHandlers | null>) {
  const search = useSearch({ from: "/inside/collections/$name" });
  const navigate = useNavigate();
  const setSearch = useCallback(
    (change: RecordSearch, replace = false): void =>
      void navigate({
        to: "/collections/$name",
        params: { name },
        search: (before) => ({ ...before, ...change }),
        replace,
      }),
    [navigate, name],
  );
  const openedAt = useRef(Number.NEGATIVE_INFINITY);
  const isClosed = search.record === undefined;
  useEffect(() => {
    if (isClosed) openedAt.current = Number.NEGATIVE_INFINITY;
  }, [isClosed]);
  const open = useCallback(
    (id: string): void => {
      // Until the panel is open, typed letters are for the panel, and not for the grid. Beside an open panel, another record opens at once.
      if (isClosed && performance.now() - openedAt.current < openingMs) return;
      openedAt.current = performance.now();
      // Users are made with an account.
      const go = (): void => {
        if (name === USERS && id === NEW_RECORD) void navigate({ to: "/users", search: { user: id } });
        else setSearch({ record: id });
      };
      if (editor.current === null) go();
      else editor.current.leave(go);
    },
    [setSearch, navigate, name, editor, isClosed],
  );
  return { search, setSearch, open };
}

export interface RecordsPageProps {
  collection: CollectionEntry;
  collections: readonly CollectionEntry[];
}

/** The state of the page: its address, its list, the grid with live changes, and the actions of its buttons and keys. */
export function useRecordsPage({ collection, collections }: RecordsPageProps) {
  const { name } = collection;
  const editor = useRef<EditorHandlers | null>(null);
  const { search, setSearch, open: openRecord } = useAddress(name, editor);
  const hasRecords = !isView(collection.definition);
  const isReadOnly = !hasRecords || search.as !== undefined;
  const open = useCallback((id: string): void => (hasRecords ? openRecord(id) : undefined), [hasRecords, openRecord]);
  const queryClient = useQueryClient();
  const isNarrow = useIsNarrow();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [note, setNote] = useState<Note | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const toTop = useCallback((): void => scroller.current?.scrollTo({ top: 0 }), []);
  const views = useSavedViews(name, search, setSearch);
  const shown = useRecordList({ collection, collections, search, isNarrow, view: views.active });
  const { rows, list, columns } = shown;
  const isPartial = search.filter !== undefined || list.search !== undefined;
  const live = useLive({
    collection: name,
    isOff: search.as !== undefined,
    queryKey: rows.queryKey,
    isPartial,
    isArranged: isPartial || search.sort !== undefined,
    isAtTop: () => rows.first === 0 && (scroller.current?.scrollTop ?? 0) < 8,
  });
  const sort = useCallback(
    (path: string, isAdded: boolean): void => {
      setSearch({ sort: writeSort(toggleSort(parseSort(search.sort), path, isAdded)) });
      toTop();
    },
    [search.sort, setSearch, toTop],
  );
  const state = useGridState({
    rows,
    columns,
    onOpen: open,
    onSort: sort,
    onSaved: (saved, column, change) => {
      shown.merge(saved);
      live.flash([saved.id]);
      setNote({ words: text.records.cellSaved(column), change });
    },
  });
  const reload = (): void => {
    live.settle();
    if (rows.first === 0) toTop();
    void queryClient.invalidateQueries({ queryKey: recordsKey(name) });
  };
  const remove = (ids: readonly string[]): void => {
    deleteLater(name, ids);
    state.clear();
    if (search.record !== undefined && ids.includes(search.record)) setSearch({ record: undefined });
    else state.focus();
  };
  return {
    ...{ name, collection, search, setSearch, open, isNarrow, isPartial, dialog, setDialog, note, scroller },
    ...{ editor, shown, views, live, sort, state, toTop, reload, remove },
    /** Whether the records are users, who are made and deleted with their account. */
    areUsers: name === USERS,
    /** Whether the records can be opened: the rows of a view cannot. */
    hasRecords,
    /** Whether nothing is written here: in a view, and in a list as another caller sees the list. */
    isReadOnly,
    /** The refusals of the service: each names its parameter. */
    filterError: errorOf(rows.error, "filter"),
    searchError: errorOf(rows.error, "search"),
  };
}

export type RecordsPage = ReturnType<typeof useRecordsPage>;

/** The service names the refused parameter. */
function errorOf(error: Error | null, parameter: "filter" | "search"): string | undefined {
  return error instanceof SocleError && error.status === 400 && error.message.startsWith(`"${parameter}"`)
    ? error.message
    : undefined;
}

const nothingSearched: readonly string[] = [];

/** @param options.isNarrow whether the columns have little room. */
function useRecordList(options: {
  collection: CollectionEntry;
  collections: readonly CollectionEntry[];
  search: RecordSearch;
  isNarrow: boolean;
  view: SavedView | null;
}) {
  const { collection, collections, search, isNarrow, view } = options;
  const { name, fields, definition } = collection;
  const targets = useMemo(() => targetsOf(fields, collections), [fields, collections]);
  const inOrder = useMemo(() => {
    const columns = gridColumns({ name, fields, definition }, targets);
    // A caller's view changes nothing.
    return search.as === undefined ? columns : columns.map((column) => ({ ...column, isSystem: true }));
  }, [name, fields, definition, targets, search.as]);
  const searched = definition.search ?? nothingSearched;
  const list = useMemo(
    () => ({
      collection: name,
      as: search.as,
      filter: search.filter,
      search: searched.length === 0 ? undefined : searchOf(search.search ?? ""),
      snippet: snippetsOf(searched, fields),
      sort: search.sort,
      selection: selectionOf(fields, targets),
    }),
    [name, search.as, search.filter, search.search, search.sort, searched, fields, targets],
  );
  const deletions = useDeletions();
  const hidden = useMemo(
    () => new Set(deletions.filter(({ collection: from }) => from === name).flatMap(({ ids }) => ids)),
    [deletions, name],
  );
  const rows = useRows(list, hidden);
  // The first rows decide the widths; later rows move no column.
  const [sample, setSample] = useState(rows.items);
  if (sample.length === 0 && rows.items.length > 0) setSample(rows.items);
  // The records of another caller have no fields that the caller may not read.
  const [first] = search.as === undefined ? [] : rows.items;
  const hiddenFields =
    first === undefined ? "" : inOrder.flatMap(({ name }) => (name in first.record ? [] : [name])).join(" ");
  const all = useMemo(() => {
    const names = hiddenFields.split(" ");
    return fitted(inOrder, sample, isNarrow).filter(({ name }) => !names.includes(name));
  }, [inOrder, sample, isNarrow, hiddenFields]);
  useTargetDeletes(name, targets);
  const merge = usePageChanges(name);
  const quick = list.search === undefined ? toBuilder(search.filter ?? "", fields)?.quick : undefined;
  const columns = useColumns(name, all, view);
  const found = useMemo(
    () => foundColumns(rows.items, columns.visible, quick ?? ""),
    [rows.items, columns.visible, quick],
  );
  /** `found`: the names of the columns with a hit of the search. `all`: also the hidden columns. `hidden`: records with a delayed deletion. `merge`: puts a changed record into its row. */
  return { list, rows, columns, found, all, hidden, merge };
}

/** Rows in which hits are looked for. */
const lookedAt = 100;

/** The columns with a hit of the searched words. @param quick the text of the quick search; empty without such a search. */
function foundColumns(rows: readonly Row[], columns: readonly GridColumn[], quick: string): string {
  const words = quick.toLowerCase();
  const isHit = ({ record, found }: Row, { name, field }: GridColumn): boolean =>
    found?.get(name)?.some(({ isMatch }) => isMatch) ??
    (words !== "" &&
      kinds[field.type].isText === true &&
      String(record[name] ?? "")
        .toLowerCase()
        .includes(words));
  const looked = rows.slice(0, lookedAt);
  return columns
    .filter((column) => looked.some((row) => isHit(row, column)))
    .map(({ name }) => name)
    .join(" ");
}

/** Removes deleted rows. Answers a function that puts a changed record into its row. */
function usePageChanges(name: string): (record: StoredRecord) => void {
  const queryClient = useQueryClient();
  const change = useCallback(
    (update: PageChange): void => {
      changePages(queryClient, name, update);
      for (const part of ["count", "map"])
        void queryClient.invalidateQueries({ queryKey: [...recordsKey(name), part] });
      void queryClient.invalidateQueries({ queryKey: ["collections"], exact: true });
    },
    [queryClient, name],
  );
  useEffect(
    () =>
      onDeletes(({ collection: from, deleted }) => {
        if (from === name) change((pages) => withoutRows(pages, deleted));
      }),
    [name, change],
  );
  return (record) =>
    change((pages) => mergeChanges(pages, new Map([[record.id, { type: "updated", record }]]), 0).pages);
}

export function useRecordShortcuts(
  page: RecordsPage,
  /** `hasFocus`: whether the grid has the focus. */
  { hasFocus, onSearch }: { hasFocus: boolean; onSearch: () => void },
): void {
  const { state, remove } = page;
  // A drawer that opens has the keys from its first moment on.
  const isFree = page.search.record === undefined;
  const group = text.shortcuts.page;
  const words = text.records.shortcuts;
  const open = (): void => {
    if (state.activeId !== undefined) page.open(state.activeId);
  };
  // The grid has the focus until the control of an edit is loaded: a key is then for the control.
  const canDelete =
    !page.areUsers && !page.isReadOnly && isFree && !state.editing && (hasFocus || state.selected.size > 0);
  useShortcut({ keys: "n", label: words.new, group }, () => page.open("new"), isFree && !page.isReadOnly);
  useShortcut({ keys: "/", label: words.search, group }, onSearch, isFree);
  useShortcut({ keys: "o", label: words.open, group }, open, isFree);
  useShortcut({ keys: "Delete", label: words.delete, group }, () => remove(state.chosen()), canDelete);
  useShortcut({ keys: "mod+a", label: words.selectAll, group }, state.selectAll, hasFocus && !state.editing);
  useShortcut({ keys: "Escape", label: words.clear, group }, state.clear, state.selected.size > 0);
  useListedShortcut({ keys: "ArrowUp ArrowDown ArrowLeft ArrowRight", label: words.move, group });
  useListedShortcut({ keys: "Enter", label: words.edit, group });
  useListedShortcut({ keys: "Space", label: words.select, group });
  useListedShortcut({ keys: "alt+ArrowUp alt+ArrowDown", label: words.steps, group });
  useListedShortcut({ keys: "mod+v", label: words.paste, group });
  useListedShortcut({ keys: "mod+s", label: words.save, group });
}
