/** The parts that all pages share. */

export { Action, LinkAction, TextLink } from "./action.tsx";
export { CauseText } from "./cause.tsx";
export { Choice, choicesOf, FilterChoice } from "./choice.tsx";
export { CodeBlock, CopyAction, IdText, jsonText } from "./code-block.tsx";
export { Confirmation, confirmDanger, Form, FormFoot, LeaveGuard, TypedWord } from "./confirm.tsx";
export { actionColumn, CheckRow, type Column, DataTable, type Selection, timeColumn } from "./data-table.tsx";
export { DetailsDrawer, DetailsSection, Fact, Facts } from "./details-drawer.tsx";
export { differencesOf, isObject, recordChanges } from "./diff.ts";
export { DiffView } from "./diff-view.tsx";
export { ErrorBlock, ErrorText, ScriptProblems } from "./error-text.tsx";
export { Example, ExampleButton, type ExampleProps } from "./example-help.tsx";
export { FileDrop, PageDrop } from "./file-drop.tsx";
export { focusPage, useFirstFocus } from "./focus.ts";
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
export { LiveList } from "./live-list.tsx";
export { Mark, StatusMark, TailMark, type Tone, Warning } from "./mark.tsx";
export { Markdown } from "./markdown/index.ts";
export { notifyDone, notifyError, notifyFailure } from "./notify.ts";
export { notifyChange, undoChange, undoLast } from "./own-changes.tsx";
export { FilledPage, Page, Panel, Toolbar, useIsNarrow } from "./page.tsx";
export { ListTable, PagedTable, Pager } from "./paged-table.tsx";
export { offsetOf, pageSize } from "./paging.ts";
export { maxWhole, saveBlob, useObjectUrl, usePicture } from "./picture.tsx";
export { lastStack, RunLog } from "./run-log.tsx";
export { RunPreview } from "./run-preview.tsx";
export { SearchBox, SearchInput } from "./search-box.tsx";
export { Keys, keyNames, useListedShortcut, useShortcut, useShortcutList } from "./shortcuts.tsx";
export { SourceBlock } from "./source-block.tsx";
export {
  EmptyState,
  ErrorState,
  messageOf,
  NothingFound,
  Notice,
  QueryView,
  RowsSkeleton,
} from "./states.tsx";
export { type TailState, useBatch, useTail } from "./tail.ts";
export { RelativeTime, WholeTime } from "./time.tsx";
export { UndoAction, UndoCause } from "./undo-dialog.tsx";
export { nameOfUser, UserLink, UserName, UserSelect } from "./user.tsx";
export { CodeText, Complaint, Dim } from "./words.tsx";
