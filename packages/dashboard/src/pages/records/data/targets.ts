/** The target of each relation of a collection, and the field that shows a record of the target. */
import type { CollectionEntry, FieldDefinition } from "@socle/protocol";

export interface Target {
  readonly collection: string;
  /** The target's first text field; null without a text field: the cell then shows the id. */
  readonly label: string | null;
  /** Whether the relation is multiple. */
  readonly isMultiple: boolean;
}

export type Targets = { readonly [field: string]: Target };

/** The API expands at most this many paths in a query. */
const mostExpanded = 20;

export function targetsOf(fields: readonly FieldDefinition[], collections: readonly CollectionEntry[]): Targets {
  const targets: { [field: string]: Target } = {};
  for (const { name, type, collection, multiple } of fields) {
    const isMultiple = multiple === true;
    if (type !== "relation" || collection === undefined) continue;
    if (collection === "users") {
      targets[name] = { collection, label: "email", isMultiple };
      continue;
    }
    const target = collections.find((each) => each.name === collection);
    targets[name] = {
      collection,
      label: target?.fields.find((each) => each.type === "string" && each.multiple !== true)?.name ?? null,
      isMultiple,
    };
  }
  return targets;
}

/** The searched fields with snippets in the grid. A field with the name `snippet` would hide the snippets. */
export function snippetsOf(searched: readonly string[], fields: readonly FieldDefinition[]): string | undefined {
  return searched.length === 0 || fields.some(({ name }) => name === "snippet") ? undefined : searched.join(",");
}

/** The `fields` of the grid's query: all fields of the record, and only the label of each target. */
export function selectionOf(fields: readonly FieldDefinition[], targets: Targets): string | undefined {
  if (fields.some(({ name }) => name === "expand")) return undefined;
  const paths = Object.entries(targets)
    .slice(0, mostExpanded)
    // Without a name, the id shows at least whether the record exists.
    .flatMap(([field, { label, isMultiple }]) => [
      `${field}.${label ?? "id"}`,
      // The names of a multiple relation need ids, because names may be equal.
      ...(isMultiple && label !== null ? [`${field}.id`] : []),
    ]);
  return paths.length === 0 ? undefined : ["*", ...paths].join(",");
}
