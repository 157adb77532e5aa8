/** The editor of one record: a drawer, and the controls for its values. */
export { FieldControl, type FieldControlProps } from "./field-control.tsx";
export { preloadEditor, RecordDrawer, type RecordDrawerProps } from "./record-drawer.tsx";
