/** The change from a stored definition to a draft: only the parts that differ, with every rename and every new field marked. */
import type { CollectionAdmin } from "@socle/client";
import type { CollectionDefinition } from "@socle/protocol";
import { definitionOf, draftOf, fieldOf, keptFields, type SchemaDraft } from "./draft.ts";

/** A definition as stored by the service, with the time of its last change. */
export interface StoredDefinition {
  readonly definition: CollectionDefinition;
  readonly updatedAt: string;
}

export type SchemaChange = Parameters<CollectionAdmin["update"]>[1];

/** Whether two values have the same JSON, in the same order. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The change from `stored` to the draft; null without a difference. A renamed or new field is marked in the change, so that the
 * service never guesses.
 */
export function changeOf(draft: SchemaDraft, stored: CollectionDefinition): SchemaChange | null {
  const before = definitionOf(draftOf(stored, true));
  const after = definitionOf(draft);
  const fields = keptFields(draft).map((field) => {
    const definition = fieldOf(field);
    if (field.stored === null) return { ...definition, renamedFrom: null };
    return field.stored.name === definition.name ? definition : { ...definition, renamedFrom: field.stored.name };
  });
  // Indexes and searched fields that the change omits follow renamed fields in the service; a change with indexes uses the new names.
  const areFieldsChanged = fields.some((field) => "renamedFrom" in field) || !isSame(before.fields, after.fields);
  const change: SchemaChange = areFieldsChanged ? { fields } : {};
  for (const part of ["permissions", "indexes", "search"] as const)
    if (!isSame(before[part], after[part])) Object.assign(change, { [part]: after[part] ?? null });
  return Object.keys(change).length === 0 ? null : change;
}

/** Whether two definitions have the same meaning, in any spelling. */
export function isSameDefinition(a: CollectionDefinition, b: CollectionDefinition): boolean {
  return isSame(definitionOf(draftOf(a, true)), definitionOf(draftOf(b, true)));
}

/** Whether a new collection's draft differs from its first state. */
export function isTouched(draft: SchemaDraft, first: SchemaDraft): boolean {
  return !isSame(definitionOf(draft), definitionOf(first));
}
