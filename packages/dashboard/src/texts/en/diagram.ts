/** Texts of the diagram of relations. */
import { count } from "./count.ts";

export const diagram = {
  title: "Diagram",
  note: (collections: number, relations: number) =>
    `${count(collections, "collection")}, ${count(relations, "relation")}`,
  views: { diagram: "Diagram", table: "As a table" },
  view: "View",
  search: "Find a collection or a field",
  found: (n: number) => (n === 0 ? "Nothing found" : `${n.toLocaleString()} found`),
  canvas: "Diagram of the collections. The same stands in the table.",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  fit: "Fit the window",
  open: (name: string) => `Open ${name}`,
  users: "accounts of the service",
  moreFields: (n: number) => `${count(n, "more field")}`,
  legendRequired: "required relation",
  legendOptional: "optional relation",
  columns: { collection: "Collection", field: "Field", target: "Points to", kind: "Kind" },
  required: "required",
  optional: "optional",
  noRelations: "No relations",
  emptyTitle: "Nothing to draw yet",
  emptyBody: "The diagram shows the collections and the relations between them.",
};
