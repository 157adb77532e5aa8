/**
 * The column of the file, or the constant, for the value of each field, and the conversion. The first mapping is a guess, which
 * the user can change.
 */
import { type CollectionEntry, type FieldDefinition, isUnique } from "@socle/protocol";
import { type CellStyle, readCell } from "@socle/protocol/cells";
import type { Cell } from "../source/source.ts";
import { toUtcFrom } from "./dates.ts";

type FieldSource =
  | { readonly kind: "skip" }
  | { readonly kind: "column"; readonly column: number }
  | { readonly kind: "constant"; readonly value: string };

const SEPARATORS = [",", ";", "|", ""] as const;
/** The character between the items of a multiple field, in cells that are not JSON; "" when a cell is a single item. */
type Separator = (typeof SEPARATORS)[number];

const DATE_ORDERS = ["iso", "dmy", "mdy"] as const;
/** The order of a date that is not in ISO 8601. ISO 8601 is always accepted. */
type DateOrder = (typeof DATE_ORDERS)[number];

const DECIMALS = ["plain", "point", "comma"] as const;
/** Numbers as 1234.5, as 1,234.5 or as 1.234,5. `plain` takes no number that may mean several numbers. */
type Decimal = (typeof DECIMALS)[number];

/** The conversion of cells to values; each type of field uses some of these options. */
export interface Conversion {
  /** The value of an empty cell. */
  readonly empty: "null" | "text";
  readonly decimal: Decimal;
  readonly dateOrder: DateOrder;
  /** For dates without a time zone: a name of the IANA. */
  readonly timeZone: string;
  /** Relations: `id`, or a unique field of the target by which the record is looked up. */
  readonly relationBy: string;
  readonly separator: Separator;
}

export interface FieldMapping {
  readonly field: FieldDefinition;
  readonly source: FieldSource;
  readonly conversion: Conversion;
}

/** The field and the column that identify the records to update. */
export interface Match {
  /** `id`, or a unique field. */
  readonly field: string;
  readonly column: number;
}

/** A name without case and punctuation: "First Name", "first_name" and "firstName" are the same. */
function plainName(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** The column for a name: the exact name first, then the name without case and punctuation. -1 without a match. */
export function guessColumn(columns: readonly string[], name: string): number {
  const exact = columns.indexOf(name);
  if (exact !== -1) return exact;
  const plain = plainName(name);
  return columns.findIndex((column) => plainName(column) === plain);
}

/** The fields that identify a record: `id` and the unique fields. */
export function keysOf(fields: readonly FieldDefinition[]): string[] {
  const isKey = (field: FieldDefinition): boolean =>
    isUnique(field) && ["string", "text", "integer"].includes(field.type);
  return ["id", ...fields.filter(isKey).map(({ name }) => name)];
}

/** The fields that can identify the target of a relation. */
export function relationKeys(target: string | undefined, collections: readonly CollectionEntry[]): string[] {
  if (target === "users") return ["id", "email"];
  return keysOf(collections.find(({ name }) => name === target)?.fields ?? []);
}

/** The choices that read each cell of a sample, but cells that no choice reads. */
function choicesFor<T>(
  samples: readonly string[],
  choices: readonly T[],
  reads: (sample: string, choice: T) => boolean,
): T[] {
  const readable = samples.filter((sample) => choices.some((choice) => reads(sample, choice)));
  return choices.filter((choice) => readable.every((sample) => reads(sample, choice)));
}

/** The order of dates that alone reads the sample; without a certain order, ISO 8601, and the page asks. */
function guessDateOrder(field: FieldDefinition, samples: readonly string[]): DateOrder {
  const reads = (sample: string, order: DateOrder): boolean => "value" in readCell(sample, field, dateStyle(order));
  const orders = choicesFor(samples, DATE_ORDERS, reads);
  const [first, second] = orders;
  // With points between the parts, the day comes first wherever dates are written so.
  const hasPoints = samples.every((sample) => reads(sample, "iso") || /^\s*\d+\.\d+\./.test(sample));
  if (first === "iso" || first === undefined) return "iso";
  return second === undefined || hasPoints ? first : "iso";
}

/** How the sample writes numbers, if a single way reads the sample; otherwise `plain`, and the page asks. */
function guessDecimal(field: FieldDefinition, samples: readonly string[]): Decimal {
  const reads = (sample: string, decimal: Decimal): boolean =>
    "value" in readCell(sample, field, decimalStyle(decimal));
  const [first = "plain", second] = choicesFor(samples, DECIMALS, reads);
  return first === "plain" || second === undefined ? first : "plain";
}

function decimalStyle(decimal: Decimal): CellStyle {
  return { decimal: decimal === "plain" ? undefined : decimal };
}

function dateStyle(order: DateOrder): CellStyle {
  return { dates: order === "iso" ? undefined : order };
}

/** The style of the cells of a column. */
export function styleOf({ decimal, dateOrder, timeZone, separator }: Conversion): CellStyle {
  return { ...decimalStyle(decimal), ...dateStyle(dateOrder), toUtc: toUtcFrom(timeZone), separator };
}

/** The conversion that reads the samples. @param keys the fields that identify the target of a relation. */
export function guessConversion(
  field: FieldDefinition,
  samples: readonly string[],
  keys: readonly string[],
): Conversion {
  const isId = samples.length === 0 || samples.some((sample) => /^(?:\[")?(?:rec|usr)_/.test(sample));
  return {
    empty: "null",
    decimal: field.type === "float" || field.type === "integer" ? guessDecimal(field, samples) : "plain",
    dateOrder: field.type === "datetime" ? guessDateOrder(field, samples) : "iso",
    timeZone: "UTC",
    relationBy: isId ? "id" : (keys[1] ?? "id"),
    separator: guessSeparator(samples),
  };
}

function guessSeparator(samples: readonly string[]): Separator {
  const plain = samples.filter((sample) => !sample.trim().startsWith("["));
  return SEPARATORS.find((separator) => plain.some((sample) => sample.includes(separator))) ?? "";
}

/** The first guess: columns by name, conversions by the values in the sample. */
export function guessMapping(options: {
  fields: readonly FieldDefinition[];
  columns: readonly string[];
  /** The first rows. */
  sample: readonly (readonly Cell[])[];
  collections: readonly CollectionEntry[];
}): FieldMapping[] {
  const { fields, columns, sample, collections } = options;
  const named = fields.map(({ name }) => guessColumn(columns, name));
  return fields.map((field, i) => {
    const column = named[i] ?? -1;
    if (column !== -1 || field.type !== "relation") return mappingFor({ field, column, sample, collections });
    // "author" is often called "author_id", or by the lookup field: "author email".
    const keys = relationKeys(field.collection, collections);
    const key = keys.find((each) => guessColumn(columns, field.name + each) !== -1);
    const found = key === undefined ? -1 : guessColumn(columns, field.name + key);
    if (key === undefined || named.includes(found)) return mappingFor({ field, column: -1, sample, collections });
    const mapping = mappingFor({ field, column: found, sample, collections });
    return { ...mapping, conversion: { ...mapping.conversion, relationBy: key } };
  });
}

/** The mapping of a field to a column, with a conversion guessed from the column's cells. */
export function mappingFor(options: {
  field: FieldDefinition;
  column: number;
  sample: readonly (readonly Cell[])[];
  collections: readonly CollectionEntry[];
}): FieldMapping {
  const { field, column, sample, collections } = options;
  const samples = sample
    .map((cells) => cells[column])
    .filter((cell) => typeof cell === "string" && cell !== "")
    .map(String);
  // The service numbers the records, and accepts no other number.
  const source: FieldSource =
    column === -1 || field.sequence !== undefined ? { kind: "skip" } : { kind: "column", column };
  return { field, source, conversion: guessConversion(field, samples, relationKeys(field.collection, collections)) };
}

/** The key of the records to update, if a column has the name of a key field; null otherwise. */
export function guessMatch(fields: readonly FieldDefinition[], columns: readonly string[]): Match | null {
  for (const field of keysOf(fields)) {
    const column = guessColumn(columns, field);
    if (column !== -1) return { field, column };
  }
  return null;
}
