/** Requests as code: curl and the TypeScript client. */
export { SnippetsDialog, type SnippetsDialogProps } from "./snippets-dialog.tsx";
