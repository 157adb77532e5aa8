/** The drawer of a record, the export and the code examples, each loaded on first use. */
import { lazy, Suspense, useEffect } from "react";
import { preloadEditor, RecordDrawer } from "./editor/record-drawer.tsx";
import { inlineEditor } from "./grid/grid-row.tsx";
import type { RecordsPage } from "./use-records-page.ts";

const ExportDialog = lazy(async () => ({ default: (await import("./export/export-dialog.tsx")).ExportDialog }));
const SnippetsDialog = lazy(async () => ({ default: (await import("./snippets/snippets-dialog.tsx")).SnippetsDialog }));

/** Loads the editor before a record opens, so that early keys are not lost. */
function usePreloadedEditor(): void {
  useEffect(() => {
    const timer = setTimeout(() => Promise.all([preloadEditor(), inlineEditor.preload()]), 300);
    return () => clearTimeout(timer);
  }, []);
}

export function RecordDialogs({ page }: { page: RecordsPage }) {
  const { collection, search, setSearch, shown, state, dialog, setDialog } = page;
  usePreloadedEditor();
  const close = (): void => {
    setDialog(null);
    if (search.export === true) setSearch({ export: undefined }, true);
    state.focus();
  };
  const { filter, sort, record: recordId } = search;
  const shared = { collection, filter, sort, search: shown.list.search, onClose: close };
  return (
    <Suspense>
      {recordId !== undefined && (
        <RecordDrawer
          collection={collection}
          recordId={recordId}
          onClose={() => {
            setSearch({ record: undefined });
            state.focus();
          }}
          onSaved={(record) => {
            shown.merge(record);
            if (recordId === "new") state.focusRecord(record.id);
          }}
        />
      )}
      {(dialog?.type === "export" || search.export === true) && (
        <ExportDialog
          {...shared}
          ids={dialog?.type === "export" ? dialog.ids : undefined}
          columns={shown.columns.visible.map((column) => column.name)}
        />
      )}
      {dialog?.type === "code" && <SnippetsDialog {...shared} recordId={recordId === "new" ? undefined : recordId} />}
    </Suspense>
  );
}
