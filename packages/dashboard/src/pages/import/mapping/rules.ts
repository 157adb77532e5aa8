/** The rules of a definition, for the preview only: the service checks every value again. */
import { type FieldDefinition, FORMATS_IN_WORDS, isFormatted, type JsonValue } from "@socle/protocol";
import { text } from "../../../texts/index.ts";

/** Most characters for a pattern test: patterns of the browser may take exponential time, patterns of the service do not. */
const longestTried = 1_000;

/** Whether the service sets the field of a new record when the row has no value. */
export function isGiven({ owner, sequence, default: value }: FieldDefinition): boolean {
  return owner === true || sequence !== undefined || value !== undefined;
}

/**
 * The first rule that a value breaks; null when the browser finds no broken rule.
 * @param value undefined when the file gives a new record no value.
 */
export function brokenRule(field: FieldDefinition, value: JsonValue | undefined): string | null {
  if (value === undefined) return field.required === true && !isGiven(field) ? text.import.required : null;
  if (value === null || (value === "" && field.required === true))
    return field.required === true && field.owner !== true ? text.import.required : null;
  if (field.multiple === true && Array.isArray(value)) return brokenItems(field, value);
  const measure = typeof value === "string" ? [...value].length : typeof value === "number" ? value : null;
  if (measure !== null && (typeof value === "number" || field.type === "string" || field.type === "text")) {
    const unit = typeof value === "string" ? text.import.characters : String;
    if (field.min !== undefined && measure < field.min) return text.import.atLeast(unit(field.min));
    if (field.max !== undefined && measure > field.max) return text.import.atMost(unit(field.max));
  }
  if (field.values !== undefined && typeof value === "string" && !field.values.includes(value))
    return text.import.mustBe(field.values.join(", "));
  if (field.format !== undefined && typeof value === "string" && !isFormatted(value, field.format))
    return text.import.mustHaveForm(FORMATS_IN_WORDS[field.format]);
  if (field.regex !== undefined && typeof value === "string" && value.length <= longestTried) {
    const pattern = patternOf(field.regex);
    if (pattern !== null && !pattern.test(value)) return text.import.mustMatch(field.regex);
  }
  return null;
}

/** The same for a multiple field: the bounds count the items. */
function brokenItems(field: FieldDefinition, items: readonly JsonValue[]): string | null {
  const { min, max, ...item } = field;
  if (items.length === 0) return field.required === true ? text.import.required : null;
  if (min !== undefined && items.length < min) return text.import.atLeast(text.import.items(min));
  if (max !== undefined && items.length > max) return text.import.atMost(text.import.items(max));
  return items.map((each) => brokenRule({ ...item, required: true }, each)).find((each) => each !== null) ?? null;
}

/** Null for a pattern that the browser does not know. */
function patternOf(source: string): RegExp | null {
  try {
    return new RegExp(source, "u");
  } catch {
    return null;
  }
}
