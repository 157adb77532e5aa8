/** The drawer of a record, the export and the code examples, each loaded on first use. */
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { lazy, Suspense, useEffect } from "react";
import { preloadable } from "../../kit/preloadable.tsx";
import type { RecordDrawerProps } from "./editor/record-drawer.tsx";
import { inlineEditor } from "./grid/grid-row.tsx";
import type { RecordSearch } from "./search.ts";
import type { RecordList } from "./use-record-list.ts";

const drawer = preloadable<RecordDrawerProps>(async () => (await import("./editor/record-drawer.tsx")).RecordDrawer);
const ExportDialog = lazy(async () => ({ default: (await import("./export/export-dialog.tsx")).ExportDialog }));
const SnippetsDialog = lazy(async () => ({ default: (await import("./snippets/snippets-dialog.tsx")).SnippetsDialog }));

export type Dialog = { readonly type: "code" } | { readonly type: "export"; readonly ids?: readonly string[] };

/** Loads the editor before a record opens, so that early keys are not lost. */
function usePreloadedEditor(): void {
  useEffect(() => {
    const timer = setTimeout(async () => {
      await Promise.all([drawer.preload(), inlineEditor.preload()]);
      await (await import("./editor/record-drawer.tsx")).preloadEditor();
    }, 300);
    return () => clearTimeout(timer);
  }, []);
}

export function RecordDialogs(props: {
  collection: CollectionEntry;
  search: RecordSearch;
  shown: RecordList;
  dialog: Dialog | null;
  onClose: () => void;
  onRecordClose: () => void;
  onSaved: (record: StoredRecord) => void;
}) {
  const { collection, search, shown, dialog, onClose, onRecordClose, onSaved } = props;
  usePreloadedEditor();
  const { filter, sort } = search;
  const shared = { collection, filter, sort, search: shown.list.search, onClose };
  return (
    <Suspense>
      {search.record !== undefined && (
        <drawer.Component collection={collection} recordId={search.record} onClose={onRecordClose} onSaved={onSaved} />
      )}
      {(dialog?.type === "export" || search.export === true) && (
        <ExportDialog
          {...shared}
          ids={dialog?.type === "export" ? dialog.ids : undefined}
          columns={shown.columns.visible.map((column) => column.name)}
        />
      )}
      {dialog?.type === "code" && (
        <SnippetsDialog {...shared} recordId={search.record === "new" ? undefined : search.record} />
      )}
    </Suspense>
  );
}
