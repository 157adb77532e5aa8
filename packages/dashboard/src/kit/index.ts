/** The parts that all pages share. */
export { confirmDanger } from "./confirm.tsx";
export { CopyAction, IdText } from "./copy.tsx";
export {
  formatBytes,
  formatClock,
  formatCompact,
  formatDateTime,
  formatDuration,
  formatNumber,
  formatRelative,
} from "./format.ts";
export { JsonEditor, type JsonEditorProps } from "./json-editor/index.ts";
export { notifyDone, notifyError, notifyFailure } from "./notify.ts";
export { FilledPage, Page } from "./page.tsx";
export { Panel } from "./panel.tsx";
export { QueryView } from "./query-view.tsx";
export { choiceParam, choicesParam, countParam, type RawSearch, textParam } from "./search-params.ts";
export { keyNames, type Shortcut, ShortcutProvider, useShortcut, useShortcutList } from "./shortcuts.tsx";
export { EmptyState, ErrorState, messageOf, RowsSkeleton } from "./states.tsx";
export { type TailState, useTail } from "./tail.ts";
export { RelativeTime } from "./time.tsx";
