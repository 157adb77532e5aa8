/** Export of the records that match a query. */
export { ExportDialog, type ExportDialogProps } from "./export-dialog.tsx";
