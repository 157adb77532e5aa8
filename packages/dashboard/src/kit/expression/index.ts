/** An editor for expressions of the filter language, with completion; loaded at its first display. */
export { errorPosition } from "./completion.ts";
export { ExpressionEditor } from "./expression-editor.tsx";
export { fieldOfPath, type Schema, schemaOf, systemFields } from "./schema.ts";
