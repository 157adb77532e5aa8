/** The parts that all pages share. */
export { Action, LinkAction, TextLink } from "./action.tsx";
export { Choice, choicesOf, FilterChoice } from "./choice.tsx";
export { CodeBlock, jsonText } from "./code-block.tsx";
export { Confirmation, confirmDanger, FormFoot, LeaveGuard, TypedWord } from "./confirm.tsx";
export { CopyAction, IdText } from "./copy.tsx";
export { actionColumn, CheckRow, type Column, DataTable, type Selection, timeColumn } from "./data-table.tsx";
export { DetailsDrawer, DetailsSection, Fact, Facts } from "./details-drawer.tsx";
export { differencesOf, type FieldChange } from "./diff.ts";
export { DiffView } from "./diff-view.tsx";
export { ErrorBlock, ErrorText, ScriptProblems } from "./error-text.tsx";
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
export { Keys } from "./keys.tsx";
export { LiveList } from "./live-list.tsx";
export { Mark, StatusMark, TailMark, type Tone, Warning } from "./mark.tsx";
export { notifyDone, notifyError, notifyFailure } from "./notify.ts";
export { FilledPage, Page, Panel, Toolbar } from "./page.tsx";
export { ListTable, PagedTable, Pager } from "./paged-table.tsx";
export { offsetOf, pageSize } from "./paging.ts";
export { maxWhole, useObjectUrl, usePicture } from "./picture.tsx";
export { RunLog } from "./run-log.tsx";
export { lastStack } from "./run-log-entries.ts";
export { saveBlob } from "./save-blob.ts";
export { SearchBox } from "./search-box.tsx";
export { keyNames, useListedShortcut, useShortcut, useShortcutList } from "./shortcuts.tsx";
export { EmptyState, ErrorState, messageOf, NothingFound, Notice, QueryView, RowsSkeleton } from "./states.tsx";
export { type TailState, useBatch, useTail } from "./tail.ts";
export { RelativeTime, WholeTime } from "./time.tsx";
export { UserLink, UserName, UserSelect } from "./user.tsx";
export { Complaint, Dim } from "./words.tsx";
