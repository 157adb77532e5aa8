/** The editor of a record: a drawer, and the controls for the values. */
export { FieldControl, type FieldControlProps } from "./field-control.tsx";
export { preloadEditor, RecordDrawer, type RecordDrawerProps } from "./record-drawer.tsx";
