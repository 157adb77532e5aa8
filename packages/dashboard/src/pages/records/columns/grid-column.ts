/** The columns of a grid: the fields of a collection between its id and its times. */
import type { CollectionEntry, FieldDefinition, FieldType } from "@socle/protocol";
import { kinds } from "../../../fields/index.ts";
import type { Target, Targets } from "../data/targets.ts";

export interface GridColumn {
  readonly name: string;
  readonly field: FieldDefinition;
  /** Whether the service manages the value. The user cannot edit the value. */
  readonly isSystem: boolean;
  readonly width: number;
  /** The path for a sort; null when the API cannot sort by the field. A relation is sorted by the name in its cells. */
  readonly sortPath: string | null;
  readonly target: Target | undefined;
}

/** Whether the user edits the value in its cell; other values need the drawer. */
export function isInline({ field, isSystem }: GridColumn): boolean {
  return !isSystem && field.sequence === undefined && field.multiple !== true && kinds[field.type].isInline === true;
}

/** @param isNarrow whether the sticky id column must leave room for other columns. */
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
        // A long name needs room for its icon and its sort arrow.
        width: Math.max(kinds[field.type].width, Math.min(260, field.name.length * 8 + 56)),
        sortPath: field.type === "json" || field.multiple === true ? null : path,
        target,
      };
    }),
    system("createdAt", "datetime", kinds.datetime.width),
    system("updatedAt", "datetime", kinds.datetime.width),
  ];
}
