/** An editor for JSON, loaded when it is first shown. */
export { JsonEditor, type JsonEditorProps } from "./json-editor.tsx";
