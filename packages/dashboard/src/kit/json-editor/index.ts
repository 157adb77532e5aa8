/** An editor for JSON, loaded when it is first shown. */
export { JsonEditor } from "./json-editor.tsx";
