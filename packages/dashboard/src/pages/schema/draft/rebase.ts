/**
 * Merges two changes: another user changed the stored definition while a draft was open. The draft keeps its own changes;
 * every unchanged part becomes the stored part.
 */
import type { CollectionDefinition } from "@socle/protocol";
import { isSame } from "./change.ts";
import {
  definitionOf,
  draftOf,
  type FieldDraft,
  fieldDraft,
  fieldOf,
  indexDraft,
  refsOf,
  type SchemaDraft,
} from "./draft.ts";

/** Whether a field of the draft equals the stored field. */
function isUntouched(field: FieldDraft): boolean {
  const { stored } = field;
  return stored !== null && !field.isDropped && isSame(fieldOf(field), fieldOf(fieldDraft("", stored, stored)));
}

/** The draft on top of the present stored definition; `before` is the definition at the start of the draft. */
export function rebased(draft: SchemaDraft, before: CollectionDefinition, now: CollectionDefinition): SchemaDraft {
  const current = new Map(now.fields.map((field) => [field.name, field]));
  const fields: FieldDraft[] = [];
  for (const field of draft.fields) {
    if (field.stored === null) {
      const twin = current.get(field.name.trim());
      // Both users added a field of this name: the field is stored now, and takes the draft's options.
      fields.push(twin === undefined ? field : { ...field, stored: twin });
      continue;
    }
    const stored = current.get(field.stored.name);
    if (stored === undefined) {
      // Another user dropped the field. A field with changes in the draft becomes a new field; an unchanged field is removed.
      if (!field.isDropped && !isUntouched(field)) fields.push({ ...field, stored: null });
    } else if (isUntouched(field)) fields.push(fieldDraft(field.key, stored, stored));
    else fields.push({ ...field, stored });
  }
  let nextKey = draft.nextKey;
  const known = new Set(fields.flatMap(({ stored }) => (stored === null ? [] : [stored.name])));
  for (const field of now.fields) {
    if (known.has(field.name)) continue;
    fields.push(fieldDraft(`#${nextKey}`, field, field));
    nextKey += 1;
  }
  const [old, mine, theirs] = [definitionOf(draftOf(before, true)), definitionOf(draft), draftOf(now, true)];
  const permissions = isSame(old.permissions, mine.permissions) ? theirs.permissions : draft.permissions;
  const refs = refsOf(fields);
  const search = isSame(old.search, mine.search) ? (now.search ?? []).map(refs) : draft.search;
  const next = { ...draft, fields, permissions, search, nextKey };
  if (!isSame(old.indexes, mine.indexes)) return next;
  const indexes = (now.indexes ?? []).map((index, i) => indexDraft(`#${nextKey + i}`, index, refs));
  return { ...next, indexes, nextKey: nextKey + indexes.length };
}
