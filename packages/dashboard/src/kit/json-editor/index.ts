/** An editor for JSON, loaded at its first display. */
export { JsonArea, JsonEditor } from "./json-editor.tsx";
export { isLarge } from "./large.ts";
export type { Mistake, Path } from "./place.ts";
