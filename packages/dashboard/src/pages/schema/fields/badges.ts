/** The badges of a field: its rules in short, and its difference from the stored field. */
import { text } from "../../../texts/index.ts";
import { isSame } from "../draft/change.ts";
import { hasDefault } from "../draft/defaults.ts";
import { type FieldDraft, fieldDraft, fieldOf, hasRules } from "../draft/draft.ts";
import { isMultiple, rulesOf, valuesOf } from "../draft/rules.ts";

export interface FieldBadge {
  readonly label: string;
  readonly tone: "rule" | "new" | "changed" | "drop";
}

const words = text.schema.fields;

/** The difference of a field from the stored field. */
export function fieldStatus(field: FieldDraft): "new" | "dropped" | "changed" | "stored" {
  if (field.stored === null) return "new";
  if (field.isDropped) return "dropped";
  return isSame(fieldOf(field), fieldOf(fieldDraft("", field.stored, field.stored))) ? "stored" : "changed";
}

/** The badges of a field. The page cuts a long pattern or name; a long number is shortened here. */
export function badgesOf(field: FieldDraft, isNewCollection: boolean): readonly FieldBadge[] {
  const { type, stored } = field;
  const { bounds, regex, unique, target, owner } = rulesOf(field);
  const badges: FieldBadge[] = [];
  const rule = (label: string): void => {
    badges.push({ label, tone: "rule" });
  };
  const status = fieldStatus(field);
  if (status === "dropped") badges.push({ label: words.willDrop, tone: "drop" });
  if (status === "new" && !isNewCollection) badges.push({ label: words.new, tone: "new" });
  if (status === "changed") {
    const isRenamed = stored !== null && stored.name !== field.name.trim();
    badges.push({ label: isRenamed ? words.renamed(stored.name) : words.changed, tone: "changed" });
  }
  if (target && field.collection !== "") rule(words.badges.target(field.collection));
  if (isMultiple(field)) rule(words.badges.multiple);
  if (owner && field.isOwner) rule(words.badges.owner);
  if (target && field.onDelete !== null) rule(words.badges.onDelete[field.onDelete]);
  if (field.isRequired) rule(words.badges.required);
  if (unique && field.isUnique) rule(words.badges.unique);
  if (field.default !== null && hasDefault(field)) rule(words.badges.default(field.default.slice(0, 20)));
  if (hasRules(field)) rule(words.badges.rules);
  if (type === "integer" && field.sequence !== null) {
    rule(words.badges.sequence);
    return badges;
  }
  const values = valuesOf(field);
  if (values.length > 0) rule(words.badges.values(values.length));
  if (bounds !== null && field.min !== "") rule(words.badges.min[bounds](field.min));
  if (bounds !== null && field.max !== "") rule(words.badges.max[bounds](field.max));
  if (regex && field.regex !== "") rule(words.badges.pattern);
  return badges;
}
