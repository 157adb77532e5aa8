/** Export of the records that a query finds. */
export { ExportDialog, type ExportDialogProps } from "./export-dialog.tsx";
