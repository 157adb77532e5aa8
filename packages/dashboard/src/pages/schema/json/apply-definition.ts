/** Applies a definition in JSON to the form: finds the draft's field for each field of the JSON. */
import type { FieldDraft, SchemaDraft } from "../draft/draft.ts";
import { fieldDraft, indexDraft, isPlaceholder, noPermissions, refsOf } from "../draft/draft.ts";
import type { WrittenDefinition, WrittenField } from "./read-definition.ts";

/** The field of the draft for each field of the JSON. */
function matches(written: readonly WrittenField[], draft: SchemaDraft): Map<WrittenField, FieldDraft> {
  const found = new Map<WrittenField, FieldDraft>();
  const free = new Set(draft.fields.filter((field) => !isPlaceholder(field)));
  const match = (isIt: (field: WrittenField, candidate: FieldDraft) => boolean): void => {
    for (const field of written) {
      if (found.has(field)) continue;
      const candidate = [...free].find((each) => isIt(field, each));
      if (candidate === undefined) continue;
      found.set(field, candidate);
      free.delete(candidate);
    }
  };
  match((field, { stored }) => typeof field.renamedFrom === "string" && stored?.name === field.renamedFrom);
  match((field, { isDropped, name }) => !isDropped && name.trim() === field.name);
  match((field, { stored, type }) => stored?.name === field.name && type === field.type);
  // A single missing field and a single added field of the same type are a rename, as for the service.
  const came = written.filter((field) => !found.has(field));
  const went = [...free].filter(({ isDropped }) => !isDropped);
  const [only, old] = [came[0], went[0]];
  const isRename = came.length === 1 && went.length === 1 && only?.renamedFrom !== null && only?.type === old?.type;
  if (isRename && only !== undefined && old !== undefined) found.set(only, old);
  return found;
}

/** The draft with the definition of a JSON text. Stored fields missing in the text are marked as dropped. */
export function withDefinition(draft: SchemaDraft, definition: WrittenDefinition): SchemaDraft {
  const found = matches(definition.fields, draft);
  let nextKey = draft.nextKey;
  const fields = definition.fields.map((field) => {
    const old = found.get(field);
    if (old !== undefined) return fieldDraft(old.key, field, old.stored);
    const key = `#${nextKey}`;
    nextKey += 1;
    return fieldDraft(key, field, null);
  });
  const kept = new Set(fields.map(({ key }) => key));
  for (const [place, field] of draft.fields.entries())
    if (field.stored !== null && !kept.has(field.key)) fields.splice(place, 0, { ...field, isDropped: true });
  const refs = refsOf(fields);
  const indexes = (definition.indexes ?? []).map((index, i) => indexDraft(`#${nextKey + i}`, index, refs));
  return {
    name: definition.name,
    fields,
    permissions: { ...noPermissions, ...definition.permissions },
    indexes,
    search: (definition.search ?? []).map(refs),
    nextKey: nextKey + indexes.length,
  };
}
