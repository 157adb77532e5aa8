/** Example collections for the start of a new collection. */
import { type CollectionDefinition, type FieldDefinition, USERS } from "@socle/protocol";
import { defaultPermissions, draftOf, newField, rulesOfUsers, type SchemaDraft } from "./draft.ts";

export const presetNames = ["blank", "posts", "contacts", "tasks"] as const;
export type PresetName = (typeof presetNames)[number];

const fields: { readonly [preset in Exclude<PresetName, "blank">]: FieldDefinition[] } = {
  posts: [
    { name: "title", type: "string", required: true, max: 200 },
    { name: "slug", type: "string", unique: true, regex: "^[a-z0-9-]+$" },
    { name: "body", type: "text" },
    { name: "cover", type: "file" },
    { name: "isPublished", type: "boolean" },
    { name: "publishedAt", type: "datetime" },
    { name: "author", type: "relation", collection: "users", owner: true },
  ],
  contacts: [
    { name: "name", type: "string", required: true, max: 200 },
    { name: "email", type: "string", unique: true, regex: "^[^@\\s]+@[^@\\s]+$" },
    { name: "phone", type: "string", max: 40 },
    { name: "company", type: "string", max: 200 },
    { name: "notes", type: "text" },
  ],
  tasks: [
    { name: "title", type: "string", required: true, max: 200 },
    { name: "description", type: "text" },
    { name: "isDone", type: "boolean" },
    { name: "priority", type: "integer", min: 1, max: 5 },
    { name: "dueAt", type: "datetime" },
    { name: "assignee", type: "relation", collection: "users" },
  ],
};

/** A new collection, with a single row for a first field. */
export function blankDraft(name = ""): SchemaDraft {
  const permissions =
    name === USERS ? rulesOfUsers({ read: null, create: null, update: null, delete: null }) : defaultPermissions;
  return { name, fields: [newField("#1")], permissions, indexes: [], search: [], others: {}, nextKey: 2 };
}

/** The draft of a preset. A name that the user has typed already stays. */
export function presetDraft(preset: PresetName, name: string): SchemaDraft {
  if (preset === "blank") return blankDraft(name);
  const draft = draftOf({ name: name === "" ? preset : name, fields: fields[preset] }, false);
  return { ...draft, permissions: defaultPermissions };
}

/** The copy of a collection, with an unused name. */
export function copyDraft(definition: CollectionDefinition, taken: readonly string[]): SchemaDraft {
  const lower = new Set(taken.map((name) => name.toLowerCase()));
  const base = definition.name.slice(0, 54);
  let name = `${base}_copy`;
  for (let n = 2; lower.has(name.toLowerCase()); n += 1) name = `${base}_copy${n}`;
  return draftOf({ ...definition, name }, false);
}
