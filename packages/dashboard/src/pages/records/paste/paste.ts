/**
 * A paste of cells from a spreadsheet onto the grid: rows with tabs between the cells, and quotes around a cell with a newline. A cell
 * means the same as in an import. The records exist: a paste makes no record.
 */
import type { CollectionEntry, JsonValue } from "@socle/protocol";
import { type CsvCell, CsvRows } from "@socle/protocol/cells";
import { text } from "../../../texts/index.ts";
import { type FieldMapping, guessConversion, relationKeys } from "../../import/mapping/mapping.ts";
import { brokenRule } from "../../import/mapping/rules.ts";
import { prepareRow, type Resolve } from "../../import/run/prepare.ts";
import type { GridColumn } from "../columns/use-columns.ts";
import { type Rows, rowAt } from "../data/use-rows.ts";
import type { CellPlace } from "../grid/navigation.ts";

const words = text.records.paste;
/** Cells of a paste, and characters of a row, at most. */
const [mostCells, longestRow] = [20_000, 1_000_000];

/** The rows of a text of the clipboard. A text with broken quotes has no quotes: `"` then stands for itself. */
export function rowsOf(pasted: string): (readonly CsvCell[])[] {
  const newline = pasted.includes("\n") ? "\n" : "\r";
  const read = (quote: string) => new CsvRows({ delimiter: "\t", quote, newline }, longestRow).push(pasted, true);
  const quoted = read('"');
  const rows = quoted.some(({ problem }) => problem !== null) ? read("") : quoted;
  return rows.map(({ cells }) => cells);
}

interface RefusedCell {
  readonly id: string;
  /** The name of the field; null for cells beside or below the grid. */
  readonly field: string | null;
  readonly reason: string;
}

export interface Paste {
  /** The changed fields, by the id of the record. */
  readonly changes: ReadonlyMap<string, { readonly [field: string]: JsonValue }>;
  readonly cells: number;
  readonly same: number;
  readonly refused: readonly RefusedCell[];
}

interface Target {
  readonly collection: CollectionEntry;
  readonly collections: readonly CollectionEntry[];
  /** The visible columns, and the loaded rows. */
  readonly columns: readonly GridColumn[];
  readonly rows: Pick<Rows, "first" | "items">;
  /** The cell of the first pasted cell. */
  readonly at: CellPlace;
}

/** The reason why a column takes no paste; null for a column that takes a paste. */
function readOnlyReason({ name, field, isSystem }: GridColumn): string | null {
  if (isSystem) return words.system(name);
  return field.sequence === undefined ? null : words.sequence(name);
}

/** Reads the cells and compares the values with the records. @throws Error for too many cells, errors of `resolve`. */
export async function planPaste(pasted: string, target: Target, resolve: Resolve): Promise<Paste> {
  const { collection, collections, columns, rows, at } = target;
  const found = rowsOf(pasted);
  const width = Math.max(0, ...found.map((cells) => cells.length));
  if (width * found.length > mostCells) throw new Error(words.tooMany(mostCells));
  const reached = columns.slice(at.column, at.column + width);
  const refused: RefusedCell[] = [];
  const mappings = reached.flatMap((column, i): FieldMapping[] => {
    if (readOnlyReason(column) !== null) return [];
    const samples = found.flatMap((cells) => cells[i] || []);
    const keys = column.field.type === "relation" ? relationKeys(column.field.collection, collections) : [];
    const conversion = guessConversion(column.field, samples, keys);
    return [{ field: column.field, source: { kind: "column", column: i }, conversion }];
  });
  const plan = { collection: collection.name, match: null, isProtected: false, hasTypes: false };
  const changes = new Map<string, { [field: string]: JsonValue }>();
  let [cells, same] = [0, 0];
  for (const [i, row] of found.entries()) {
    const shown = rowAt(rows, at.row + i);
    if (shown === undefined) {
      refused.push({ id: "", field: null, reason: words.below(found.length - i) });
      break;
    }
    const { id, record } = shown;
    const refuse = (field: string | null, reason: string): void => void refused.push({ id, field, reason });
    if (row.length > reached.length) refuse(null, words.beside(row.length - reached.length));
    for (const column of reached.slice(0, row.length)) {
      const reason = readOnlyReason(column);
      if (reason !== null) refuse(column.name, reason);
    }
    // A short row has no cells for the last columns.
    const own = mappings.filter(({ source }) => source.kind === "column" && source.column < row.length);
    const prepared = await prepareRow({ cells: row, problem: null }, { ...plan, mappings: own }, resolve);
    const change: { [field: string]: JsonValue } = {};
    for (const { field } of own) {
      const { name } = field;
      const problem = prepared.problems.find((each) => each.field === name)?.message;
      const value = prepared.values[name];
      const reason = problem ?? (value === undefined ? text.import.required : brokenRule(field, value));
      if (value === undefined || reason !== null) refuse(name, reason ?? text.import.required);
      else if (!shown.cut.has(name) && JSON.stringify(record[name] ?? null) === JSON.stringify(value)) same += 1;
      else {
        change[name] = value;
        cells += 1;
      }
    }
    if (Object.keys(change).length > 0) changes.set(id, change);
  }
  return { changes, cells, same, refused };
}
