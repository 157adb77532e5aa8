/** The checks of a draft during typing: the mistakes that the service would refuse. The plan checks the stored data. */
import {
  boundsOf,
  DEFINITION_LIMITS,
  FIELD_OPERATIONS,
  isReservedCollectionName,
  isSearchable,
  isSystemFieldName,
  MAX_DIMENSIONS,
  NAME_PATTERN,
  OPERATIONS,
  RECORD_TIMES,
} from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import { isDefault } from "./defaults.ts";
import { attributesOf, type FieldDraft, keptFields, refName, type SchemaDraft } from "./draft.ts";
import { isMultiple, numberOf, typesFor, valuesOf } from "./rules.ts";

/** The part of a draft that a problem is about. */
export type Part =
  | "name"
  | "type"
  | "min"
  | "max"
  | "regex"
  | "values"
  | "dimensions"
  | "default"
  | "sequence"
  | "onDelete"
  | "collection"
  | "owner"
  | "fields"
  | "rule"
  | "search";

export interface Problem {
  /** The key of a field or an index; null for the collection. */
  readonly key: string | null;
  readonly part: Part;
  readonly message: string;
}

/** The facts outside a draft that its checks need. */
export interface Surroundings {
  /** Names of the collections of the service, without "users". */
  readonly collections: readonly string[];
  /** Whether the name of the draft must be unused. */
  readonly isNew: boolean;
}

const limits = DEFINITION_LIMITS;
const words = text.schema.problems;

function nameProblem(name: string): string | null {
  if (name === "") return words.noName;
  if (NAME_PATTERN.test(name)) return null;
  if (!/^[A-Za-z]/.test(name)) return words.nameStart;
  return name.length > 63 ? words.nameLong : words.namePattern;
}

/** The problem of a new name of a collection, beside the names of other collections. */
export function collectionProblem(name: string, collections: readonly string[]): string | null {
  if (isReservedCollectionName(name)) return words.reserved(name);
  const twin = collections.find((other) => other.toLowerCase() === name.toLowerCase());
  return twin === undefined ? nameProblem(name) : words.collectionTaken(twin);
}

function boundProblems(field: FieldDraft): Problem[] {
  const { key, type, min, max } = field;
  const bounds = boundsOf({ type, multiple: field.isMultiple });
  if (!attributesOf(field).has("min")) return [];
  const problems: Problem[] = [];
  for (const [part, typed] of [
    ["min", min],
    ["max", max],
  ] as const) {
    if (typed.trim() === "") continue;
    const value = numberOf(typed);
    if (value === null) problems.push({ key, part, message: words.noNumber });
    else if (bounds !== "value" && (!Number.isSafeInteger(value) || value < 0))
      problems.push({ key, part, message: words.length });
  }
  const [least, most] = [numberOf(min), numberOf(max)];
  const mostOf = bounds === "items" ? (most ?? limits.itemsByDefault) : most;
  if (bounds === "items" && most !== null && (most < 1 || most > limits.items))
    problems.push({ key, part: "max", message: words.items(limits.items) });
  else if (least !== null && mostOf !== null && least > mostOf)
    problems.push({ key, part: "max", message: words.minOverMax });
  return problems;
}

function valuesProblem(field: FieldDraft): string | null {
  const values = valuesOf(field);
  if (values.length > limits.values) return words.manyValues(limits.values);
  if (values.some((value) => value.length > limits.valueLength)) return words.longValue(limits.valueLength);
  const twin = values.find((value, i) => values.indexOf(value) < i);
  return twin === undefined ? null : words.valueTwice(twin);
}

function dimensionsProblem({ dimensions: typed }: FieldDraft): string | null {
  const dimensions = numberOf(typed) ?? 0;
  const isCount = Number.isInteger(dimensions) && dimensions >= 1 && dimensions <= MAX_DIMENSIONS;
  return isCount ? null : words.dimensions(MAX_DIMENSIONS);
}

/** The service's patterns run in linear time. The browser finds syntax errors; look-around and back references are checked here. */
function regexProblem({ regex }: FieldDraft): string | null {
  if (/\(\?(?:=|!|<=|<!)/.test(regex)) return words.lookaround;
  if (/(?:^|[^\\])(?:\\\\)*\\(?:[1-9]|k<)/.test(regex)) return words.backreference;
  try {
    new RegExp(regex);
    return null;
  } catch (error) {
    return words.regex(error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : "");
  }
}

function fieldProblems(field: FieldDraft, draft: SchemaDraft, { collections }: Surroundings): Problem[] {
  const { key, stored, type, collection } = field;
  const name = field.name.trim();
  const problems: Problem[] = [];
  const report = (part: Part, message: string | null): void => {
    if (message !== null) problems.push({ key, part, message });
  };
  report("name", isSystemFieldName(name) ? words.systemField(name) : nameProblem(name));
  // The service takes a field with the name of a dropped field for the dropped field, whatever the user wants.
  const isOfDropped = draft.fields.some((other) => other.isDropped && other.stored?.name === name);
  if (isOfDropped && stored?.name !== name && name !== "") report("name", words.droppedName(name));
  if (stored !== null && !typesFor(field).includes(type)) report("type", words.typeChange(stored.type, type));
  problems.push(...boundProblems(field));
  const has = attributesOf(field);
  if (has.has("regex")) report("regex", regexProblem(field));
  const isEmptyRule = FIELD_OPERATIONS.some((operation) => field.permissions[operation]?.trim() === "");
  report("rule", isEmptyRule ? text.schema.permissions.emptyRule : null);
  if (type === "integer" && field.sequence !== null) {
    const gone = field.sequence.find((each) => !keptFields(draft).some((other) => other.name.trim() === each));
    report("sequence", gone === undefined ? null : words.unknownScope(gone));
    return problems;
  }
  report("values", valuesProblem(field));
  if (has.has("dimensions")) report("dimensions", dimensionsProblem(field));
  if (field.default !== null && has.has("default")) {
    if (!isDefault(field, field.default, valuesOf(field)))
      report("default", isMultiple(field) ? words.noDefaultItems : words.noDefault[type]);
    else if (field.isUnique && has.has("unique") && type !== "relation") report("default", words.sameDefault);
  }
  if (type === "relation") {
    if (field.onDelete === "clear" && field.isRequired) report("onDelete", words.clearRequired);
    if (collection === "") report("collection", words.noTarget);
    else if (collection !== "users" && collection !== draft.name.trim() && !collections.includes(collection))
      report("collection", words.unknownTarget(collection));
  }
  return problems;
}

function twinProblems(fields: readonly FieldDraft[]): Problem[] {
  const seen = new Map<string, string>();
  const problems: Problem[] = [];
  for (const { key, name: typed } of fields) {
    const name = typed.trim();
    const twin = seen.get(name.toLowerCase());
    if (name !== "" && twin !== undefined)
      problems.push({ key, part: "name", message: twin === name ? words.twin(name) : words.caseTwin(name, twin) });
    seen.set(name.toLowerCase(), twin ?? name);
  }
  const owners = fields.filter(
    ({ type, collection, isOwner }) => type === "relation" && collection === "users" && isOwner,
  );
  for (const { key } of owners.slice(1)) problems.push({ key, part: "owner", message: words.oneOwner });
  return problems;
}

function indexProblems(draft: SchemaDraft): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const report = (key: string, message: string): void => {
    problems.push({ key, part: "fields", message });
  };
  for (const { key, refs, isUnique } of draft.indexes) {
    if (refs.length === 0) report(key, words.emptyIndex);
    if (refs.length > limits.indexFields) report(key, words.longIndex(limits.indexFields));
    for (const [i, ref] of refs.entries()) {
      const field = draft.fields.find((each) => each.key === ref);
      const name = refName(draft, ref);
      if (refs.indexOf(ref) < i) report(key, words.indexTwice(name));
      else if (field === undefined && !RECORD_TIMES.some((time) => time === ref)) report(key, words.indexUnknown(name));
      else if (field?.isDropped === true) report(key, words.indexDropped(name));
      else if (field?.type === "json" || field?.type === "vector") report(key, words.indexJson(name));
      else if (field?.type === "geo" && isUnique) report(key, words.indexPlace(name));
      else if (field !== undefined && isMultiple(field)) report(key, words.indexMultiple(name));
    }
    const same = refs.join(" ");
    if (refs.length > 0 && seen.has(same)) report(key, words.indexTwin);
    seen.add(same);
  }
  return problems;
}

function searchProblems(draft: SchemaDraft): Problem[] {
  const problems: Problem[] = [];
  const report = (message: string): void => {
    problems.push({ key: null, part: "search", message });
  };
  if (draft.search.length > limits.searched) report(words.manySearched(limits.searched));
  for (const [i, ref] of draft.search.entries()) {
    const field = draft.fields.find((each) => each.key === ref);
    const name = refName(draft, ref);
    if (draft.search.indexOf(ref) < i) report(words.indexTwice(name));
    else if (field === undefined) report(words.indexUnknown(name));
    else if (field.isDropped) report(words.indexDropped(name));
    else if (!isSearchable({ type: field.type, multiple: isMultiple(field) })) report(words.noWords(name));
  }
  return problems;
}

/** All problems of a draft, in the order of the form. */
export function problemsOf(draft: SchemaDraft, surroundings: Surroundings): readonly Problem[] {
  const fields = keptFields(draft);
  const problems: Problem[] = [];
  const nameMessage = surroundings.isNew ? collectionProblem(draft.name.trim(), surroundings.collections) : null;
  if (nameMessage !== null) problems.push({ key: null, part: "name", message: nameMessage });
  if (fields.length > limits.fields)
    problems.push({ key: null, part: "fields", message: words.manyFields(limits.fields) });
  if (draft.indexes.length > limits.indexes)
    problems.push({ key: null, part: "fields", message: words.manyIndexes(limits.indexes) });
  for (const operation of OPERATIONS)
    if (draft.permissions[operation]?.trim() === "")
      problems.push({ key: null, part: "rule", message: text.schema.permissions.emptyRule });
  for (const field of fields) problems.push(...fieldProblems(field, draft, surroundings));
  return [...problems, ...twinProblems(fields), ...indexProblems(draft), ...searchProblems(draft)];
}
