/** Where the relations of a collection point to, and by which field a record of the target is shown. */
import type { CollectionEntry, FieldDefinition } from "@socle/protocol";

export interface Target {
  readonly collection: string;
  /** The target's first text; null where it has none: then its id is shown. */
  readonly label: string | null;
  /** Whether the relation points to several. */
  readonly isMultiple: boolean;
}

export type Targets = { readonly [field: string]: Target };

/** The API expands no more paths in one query. */
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

/** The searched fields whose snippets the grid shows; a field of that name would hide them. */
export function snippetsOf(searched: readonly string[], fields: readonly FieldDefinition[]): string | undefined {
  return searched.length === 0 || fields.some(({ name }) => name === "snippet") ? undefined : searched.join(",");
}

/** The `fields` of the grid's query: everything, and of each target its label only. */
export function selectionOf(fields: readonly FieldDefinition[], targets: Targets): string | undefined {
  if (fields.some(({ name }) => name === "expand")) return undefined;
  const paths = Object.entries(targets)
    .slice(0, mostExpanded)
    // Without a name the id says at least whether the record is there.
    .flatMap(([field, { label, isMultiple }]) => [
      `${field}.${label ?? "id"}`,
      // Names of several are told apart by the ids.
      ...(isMultiple && label !== null ? [`${field}.id`] : []),
    ]);
  return paths.length === 0 ? undefined : ["*", ...paths].join(",");
}
