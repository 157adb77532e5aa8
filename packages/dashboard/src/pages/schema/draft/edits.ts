/** The edits of a draft, as a reducer: each edit answers a new draft and leaves the old draft unchanged. */
import type { FieldType, Operation, Rule } from "@socle/protocol";
import { type FieldDraft, newField, type PermissionDraft, type SchemaDraft } from "./draft.ts";

/** The parts of a field that the form changes. */
export type FieldPatch = Partial<Omit<FieldDraft, "key" | "stored" | "isDropped" | "extra">>;

export type Edit =
  | { readonly edit: "replace"; readonly draft: SchemaDraft }
  | { readonly edit: "name"; readonly name: string }
  /** Adds the field at the end, or after the field `after`. */
  | { readonly edit: "addField"; readonly type?: FieldType; readonly after?: string }
  | { readonly edit: "changeField"; readonly key: string; readonly patch: FieldPatch }
  /** A new field is removed; a stored field is marked as dropped, and can be restored. */
  | { readonly edit: "removeField"; readonly key: string }
  | { readonly edit: "restoreField"; readonly key: string }
  | { readonly edit: "moveField"; readonly key: string; readonly over: string }
  | { readonly edit: "rule"; readonly operation: Operation; readonly rule: Rule | null }
  | { readonly edit: "permissions"; readonly permissions: PermissionDraft }
  | { readonly edit: "addIndex" }
  | {
      readonly edit: "changeIndex";
      readonly key: string;
      readonly refs?: readonly string[];
      readonly isUnique?: boolean;
    }
  | { readonly edit: "removeIndex"; readonly key: string }
  | { readonly edit: "search"; readonly refs: readonly string[] }
  /** @param time null for no trash. */
  | { readonly edit: "trash"; readonly time: string | null };

/** The key of the next field or index. */
export function nextKey(draft: SchemaDraft): string {
  return `#${draft.nextKey}`;
}

/** The same items, with an item moved to the place of another item. */
export function moved<T>(items: readonly T[], from: number, to: number): readonly T[] {
  const item = items[from];
  if (item === undefined || to < 0 || from === to) return items;
  const rest = items.filter((_, i) => i !== from);
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}

function changeField(draft: SchemaDraft, key: string, change: (field: FieldDraft) => FieldDraft): SchemaDraft {
  return { ...draft, fields: draft.fields.map((field) => (field.key === key ? change(field) : field)) };
}

/** Sequences name fields, so a renamed field changes the sequences. */
function renameScopes(draft: SchemaDraft, from: string, to: string): SchemaDraft {
  if (from === to || from === "" || to === "") return draft;
  const fields = draft.fields.map((field) =>
    field.sequence?.includes(from) === true
      ? { ...field, sequence: field.sequence.map((name) => (name === from ? to : name)) }
      : field,
  );
  return { ...draft, fields };
}

function addField(draft: SchemaDraft, type: FieldType | undefined, after: string | undefined): SchemaDraft {
  const field = { ...newField(nextKey(draft), type), isTypeChosen: type !== undefined };
  const place = after === undefined ? -1 : draft.fields.findIndex(({ key }) => key === after);
  const at = place === -1 ? draft.fields.length : place + 1;
  return {
    ...draft,
    fields: [...draft.fields.slice(0, at), field, ...draft.fields.slice(at)],
    nextKey: draft.nextKey + 1,
  };
}

/** Indexes and the search keep a dropped field: the form shows the service's refusal until the user removes the field. */
function removeField(draft: SchemaDraft, key: string): SchemaDraft {
  const field = draft.fields.find((each) => each.key === key);
  if (field === undefined) return draft;
  if (field.stored !== null) return changeField(draft, key, (each) => ({ ...each, isDropped: true }));
  return {
    ...draft,
    fields: draft.fields.filter((each) => each.key !== key),
    indexes: draft.indexes.map((index) => ({ ...index, refs: index.refs.filter((ref) => ref !== key) })),
    search: draft.search.filter((ref) => ref !== key),
  };
}

export function edited(draft: SchemaDraft, edit: Edit): SchemaDraft {
  switch (edit.edit) {
    case "replace":
      return edit.draft;
    case "name":
      return { ...draft, name: edit.name };
    case "addField":
      return addField(draft, edit.type, edit.after);
    case "changeField": {
      const { key, patch } = edit;
      const before = draft.fields.find((field) => field.key === key);
      const changed = changeField(draft, key, (field) => {
        const isOther = patch.type !== undefined && patch.type !== field.type;
        const isTurned = patch.isMultiple !== undefined && patch.isMultiple !== field.isMultiple;
        return {
          ...field,
          // A default fits the type, and a single or several values; bounds measure a value, or count its items.
          ...((isOther || isTurned) && { default: null }),
          ...(isTurned && { min: "", max: "" }),
          ...patch,
        };
      });
      if (before === undefined || patch.name === undefined) return changed;
      return renameScopes(changed, before.name.trim(), patch.name.trim());
    }
    case "removeField":
      return removeField(draft, edit.key);
    case "restoreField":
      return changeField(draft, edit.key, (field) => ({ ...field, isDropped: false }));
    case "moveField": {
      const place = (key: string): number => draft.fields.findIndex((field) => field.key === key);
      return { ...draft, fields: moved(draft.fields, place(edit.key), place(edit.over)) };
    }
    case "rule":
      return { ...draft, permissions: { ...draft.permissions, [edit.operation]: edit.rule } };
    case "permissions":
      return { ...draft, permissions: edit.permissions };
    case "addIndex": {
      const index = { key: nextKey(draft), refs: [], isUnique: false };
      return { ...draft, indexes: [...draft.indexes, index], nextKey: draft.nextKey + 1 };
    }
    case "changeIndex": {
      const { key, refs, isUnique } = edit;
      const indexes = draft.indexes.map((index) =>
        index.key === key ? { ...index, ...(refs && { refs }), ...(isUnique !== undefined && { isUnique }) } : index,
      );
      return { ...draft, indexes };
    }
    case "removeIndex":
      return { ...draft, indexes: draft.indexes.filter(({ key }) => key !== edit.key) };
    case "search":
      return { ...draft, search: edit.refs };
    case "trash": {
      const { trash: _, ...others } = draft.others;
      return { ...draft, others: edit.time === null ? others : { ...others, trash: edit.time } };
    }
  }
}
