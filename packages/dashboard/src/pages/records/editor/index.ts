/** The editor of one record: a drawer, and the controls for its values. */
export { FieldControl, type FieldControlProps } from "./field-control.tsx";
export { RecordDrawer, type RecordDrawerProps } from "./record-drawer.tsx";
