/** The indexes that the service makes automatically: ids, unique fields, relations, and the owner if rules use the owner. */
import { text } from "../../../texts/index.ts";
import { attributesOf, keptFields, type SchemaDraft } from "../draft/draft.ts";
import { isMultiple } from "../draft/rules.ts";
import { effectiveRule } from "../permissions/rules.ts";

export interface ImplicitIndex {
  readonly name: string;
  readonly reason: string;
}

export function implicitIndexes(draft: SchemaDraft): readonly ImplicitIndex[] {
  const words = text.schema.indexes;
  const fields = keptFields(draft).filter(({ name }) => name.trim() !== "");
  const indexes: ImplicitIndex[] = [{ name: "id", reason: words.becauseId }];
  for (const field of fields) {
    const { name, type, isUnique } = field;
    if (isUnique && attributesOf(field).has("unique")) indexes.push({ name: name.trim(), reason: words.becauseUnique });
    else if (type === "relation" || isMultiple(field))
      indexes.push({ name: name.trim(), reason: isMultiple(field) ? words.becauseMultiple : words.becauseRelation });
  }
  const hasOwnerField = fields.some(
    ({ type, isOwner, collection }) => type === "relation" && isOwner && collection === "users",
  );
  if (effectiveRule(draft.permissions, "read").rule === "owner" && !hasOwnerField)
    indexes.push({ name: words.owner, reason: words.becauseOwner });
  return indexes;
}
