/** The parts that all pages share. */
export { CodeBlock, jsonText } from "./code-block.tsx";
export { confirmDanger } from "./confirm.tsx";
export { CopyAction, IdText } from "./copy.tsx";
export { type Column, DataTable, type Selection } from "./data-table.tsx";
export { DetailsDrawer, DetailsSection, Facts } from "./details-drawer.tsx";
export { differencesOf, type FieldChange } from "./diff.ts";
export { DiffView } from "./diff-view.tsx";
export { ErrorBlock } from "./error-block.tsx";
export { ErrorText } from "./error-text.tsx";
export { Example, ExampleButton, type ExampleProps } from "./example-help.tsx";
export { FileDrop, PageDrop } from "./file-drop.tsx";
export { focusPage } from "./focus.ts";
export {
  formatBytes,
  formatClock,
  formatCompact,
  formatDateTime,
  formatDay,
  formatDuration,
  formatFieldTime,
  formatNumber,
  visible,
} from "./format.ts";
export { IconAction } from "./icon-action.tsx";
export { isLarge, JsonArea, JsonEditor } from "./json-editor/index.ts";
export { LeaveGuard } from "./leave-guard.tsx";
export { ButtonLink, TextLink } from "./links.tsx";
export { LiveRows } from "./live-rows.tsx";
export { Mark, StatusMark, type Tone, Warning } from "./mark.tsx";
export { notifyDone, notifyError, notifyFailure } from "./notify.ts";
export { FilledPage, Page } from "./page.tsx";
export { PagedTable, Pager } from "./paged-table.tsx";
export { offsetOf, pageSize } from "./paging.ts";
export { Panel } from "./panel.tsx";
export { maxWhole, useObjectUrl, usePicture } from "./picture.tsx";
export { QueryView } from "./query-view.tsx";
export { RunLog } from "./run-log.tsx";
export { lastStack } from "./run-log-entries.ts";
export { saveBlob } from "./save-blob.ts";
export { ScriptProblems } from "./script-problems.tsx";
export { SearchBox } from "./search-box.tsx";
export { keyNames, useListedShortcut, useShortcut, useShortcutList } from "./shortcuts.tsx";
export { EmptyState, ErrorState, messageOf, RowsSkeleton } from "./states.tsx";
export { type TailState, useTail } from "./tail.ts";
export { TailMark } from "./tail-mark.tsx";
export { RelativeTime } from "./time.tsx";
export { Toolbar } from "./toolbar.tsx";
export { UserSelect } from "./user-select.tsx";
export { Complaint, Dim } from "./words.tsx";
