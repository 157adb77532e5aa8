/** The checks of a draft during typing: the mistakes that the service would refuse. The plan checks the stored data. */
import { FIELD_OPERATIONS, isReservedCollectionName, NAME_PATTERN, OPERATIONS } from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import { hasDefault, isDefault } from "./defaults.ts";
import { type FieldDraft, keptFields, refName, type SchemaDraft } from "./draft.ts";
import { isMultiple, isText, numberOf, rulesOf, typesFor, valuesOf } from "./rules.ts";

/** The part of a draft that a problem is about. */
export type Part =
  | "name"
  | "type"
  | "min"
  | "max"
  | "regex"
  | "values"
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

/** Reserved names in lower case: the names are reserved in any case of their letters. */
const systemFields: readonly string[] = ["id", "createdat", "updatedat"];
export const indexableTimes: readonly string[] = ["createdAt", "updatedAt"];
const maxFields = 500;
const maxValues = 200;
const maxValueLength = 100;
/** Items of a multiple field: the most items that a bound may allow, and the bound of a field without its own bound. */
const mostItems = 1_000;
const usualItems = 100;
export const maxIndexes = 20;
export const maxIndexFields = 8;
export const maxSearched = 10;

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
  const { key, min, max } = field;
  const { bounds } = rulesOf(field);
  if (bounds === null) return [];
  const problems: Problem[] = [];
  for (const [part, typed] of [
    ["min", min],
    ["max", max],
  ] as const) {
    if (typed.trim() === "") continue;
    const value = numberOf(typed);
    if (value === null) problems.push({ key, part, message: words.noNumber });
    else if (bounds !== "number" && (!Number.isSafeInteger(value) || value < 0))
      problems.push({ key, part, message: words.length });
  }
  const [least, most] = [numberOf(min), numberOf(max)];
  const mostOf = bounds === "items" ? (most ?? usualItems) : most;
  if (bounds === "items" && most !== null && (most < 1 || most > mostItems))
    problems.push({ key, part: "max", message: words.items(mostItems) });
  else if (least !== null && mostOf !== null && least > mostOf)
    problems.push({ key, part: "max", message: words.minOverMax });
  return problems;
}

function valuesProblem(field: FieldDraft): string | null {
  const values = valuesOf(field);
  if (values.length > maxValues) return words.manyValues(maxValues);
  if (values.some((value) => value.length > maxValueLength)) return words.longValue(maxValueLength);
  const twin = values.find((value, i) => values.indexOf(value) < i);
  return twin === undefined ? null : words.valueTwice(twin);
}

/** The service's patterns run in linear time. The browser finds syntax errors; look-around and back references are checked here. */
function regexProblem(field: FieldDraft): string | null {
  const { regex } = field;
  if (!rulesOf(field).regex || regex === "") return null;
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
  report("name", systemFields.includes(name.toLowerCase()) ? words.systemField(name) : nameProblem(name));
  // The service takes a field with the name of a dropped field for the dropped field, whatever the user wants.
  const isOfDropped = draft.fields.some((other) => other.isDropped && other.stored?.name === name);
  if (isOfDropped && stored?.name !== name && name !== "") report("name", words.droppedName(name));
  if (stored !== null && !typesFor(field).includes(type)) report("type", words.typeChange(stored.type, type));
  problems.push(...boundProblems(field));
  report("regex", regexProblem(field));
  const isEmptyRule = FIELD_OPERATIONS.some((operation) => field.permissions[operation]?.trim() === "");
  report("rule", isEmptyRule ? text.schema.permissions.emptyRule : null);
  if (type === "integer" && field.sequence !== null) {
    const gone = field.sequence.find((each) => !keptFields(draft).some((other) => other.name.trim() === each));
    report("sequence", gone === undefined ? null : words.unknownScope(gone));
    return problems;
  }
  report("values", valuesProblem(field));
  if (field.default !== null && hasDefault(field)) {
    if (!isDefault(field, field.default, valuesOf(field)))
      report("default", isMultiple(field) ? words.noDefaultItems : words.noDefault[type]);
    else if (field.isUnique && rulesOf(field).unique && type !== "relation") report("default", words.sameDefault);
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
  for (const { key, refs } of draft.indexes) {
    if (refs.length === 0) report(key, words.emptyIndex);
    if (refs.length > maxIndexFields) report(key, words.longIndex(maxIndexFields));
    for (const [i, ref] of refs.entries()) {
      const field = draft.fields.find((each) => each.key === ref);
      const name = refName(draft, ref);
      if (refs.indexOf(ref) < i) report(key, words.indexTwice(name));
      else if (field === undefined && !indexableTimes.includes(ref)) report(key, words.indexUnknown(name));
      else if (field?.isDropped === true) report(key, words.indexDropped(name));
      else if (field?.type === "json") report(key, words.indexJson(name));
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
  if (draft.search.length > maxSearched) report(words.manySearched(maxSearched));
  for (const [i, ref] of draft.search.entries()) {
    const field = draft.fields.find((each) => each.key === ref);
    const name = refName(draft, ref);
    if (draft.search.indexOf(ref) < i) report(words.indexTwice(name));
    else if (field === undefined) report(words.indexUnknown(name));
    else if (field.isDropped) report(words.indexDropped(name));
    else if (!isText(field.type) || isMultiple(field)) report(words.noWords(name));
  }
  return problems;
}

/** All problems of a draft, in the order of the form. */
export function problemsOf(draft: SchemaDraft, surroundings: Surroundings): readonly Problem[] {
  const fields = keptFields(draft);
  const problems: Problem[] = [];
  const nameMessage = surroundings.isNew ? collectionProblem(draft.name.trim(), surroundings.collections) : null;
  if (nameMessage !== null) problems.push({ key: null, part: "name", message: nameMessage });
  if (fields.length > maxFields) problems.push({ key: null, part: "fields", message: words.manyFields(maxFields) });
  if (draft.indexes.length > maxIndexes)
    problems.push({ key: null, part: "fields", message: words.manyIndexes(maxIndexes) });
  for (const operation of OPERATIONS)
    if (draft.permissions[operation]?.trim() === "")
      problems.push({ key: null, part: "rule", message: text.schema.permissions.emptyRule });
  for (const field of fields) problems.push(...fieldProblems(field, draft, surroundings));
  return [...problems, ...twinProblems(fields), ...indexProblems(draft), ...searchProblems(draft)];
}
