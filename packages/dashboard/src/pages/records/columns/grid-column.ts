/** The columns of a grid: the fields of a collection between its id and its times. */
import type { CollectionEntry, FieldDefinition, FieldType } from "@socle/protocol";
import type { Target, Targets } from "../data/targets.ts";

export interface GridColumn {
  readonly name: string;
  readonly field: FieldDefinition;
  /** Managed by the service: never edited. */
  readonly isSystem: boolean;
  readonly width: number;
  /** How to sort by it; null where the API cannot. A relation is sorted by the name that its cells show. */
  readonly sortPath: string | null;
  readonly target: Target | undefined;
}

const widths: { readonly [type in FieldType]: number } = {
  string: 232,
  text: 260,
  integer: 110,
  float: 110,
  boolean: 104,
  datetime: 196,
  json: 220,
  relation: 176,
  file: 184,
};

/** Kinds of values that a cell edits by itself; the others need the drawer. */
const inlineTypes: readonly FieldType[] = ["string", "integer", "float", "boolean", "datetime", "relation"];

export function isInline({ field, isSystem }: GridColumn): boolean {
  return !isSystem && field.sequence === undefined && field.multiple !== true && inlineTypes.includes(field.type);
}

/** @param isNarrow the id, which stays in view, leaves room for the others then. */
export function gridColumns(
  { fields }: Pick<CollectionEntry, "fields">,
  targets: Targets,
  isNarrow = false,
): GridColumn[] {
  const system = (name: string, type: FieldType, width: number): GridColumn => ({
    name,
    field: { name, type },
    isSystem: true,
    width,
    sortPath: name,
    target: undefined,
  });
  return [
    system("id", "string", isNarrow ? 88 : 128),
    ...fields.map((field): GridColumn => {
      const target = targets[field.name];
      const path = target === undefined || target.label === null ? field.name : `${field.name}.${target.label}`;
      return {
        name: field.name,
        field,
        isSystem: false,
        // A long name needs room for its icon and its arrow.
        width: Math.max(widths[field.type], Math.min(260, field.name.length * 8 + 56)),
        sortPath: field.type === "json" || field.multiple === true ? null : path,
        target,
      };
    }),
    system("createdAt", "datetime", widths.datetime),
    system("updatedAt", "datetime", widths.datetime),
  ];
}
