/**
 * Plans: a query as plain data, which runs on the event loop or is sent to a reader thread. A plan depends on the collection,
 * on the parameters and on the rights of the caller's class; the caller's id and the time are bound when the plan runs.
 */
import type { FieldDefinition, VectorMetric } from "@socle/protocol";
import type { LongText, SearchTerm } from "../../base/kernel/index.ts";
import type { Value } from "../../store/database/index.ts";
import type { EvaluationContext, SqlPart } from "../expressions/index.ts";
import type { ValueType } from "../fields/index.ts";

export interface KeyPlan extends SqlPart {
  readonly isDescending: boolean;
  /** Whether some records may have no value. */
  readonly isNullable: boolean;
  readonly valueType: ValueType;
  /** The field, if the key is the stored value of a field; absent for any other key. */
  readonly field?: string;
}

export interface SortPlan {
  readonly keys: readonly KeyPlan[];
  /** The hidden number of a record in the order of creation, as SQL. */
  readonly seq: string;
  readonly isSeqDescending: boolean;
  /** Whether an index, or the table, gives the order. Without an index, SQL joins the segments and sorts the records. */
  readonly isIndexed: boolean;
}

/** The fields of a record that are read and answered, and the records beside this record. */
export interface SelectionPlan {
  /** The quoted SQL name of the table. */
  readonly table: string;
  /** The selected columns, each value under the name of the field, and the columns of the guards. */
  readonly columns: SqlPart;
  /** Fields that are left out of a record unless the column, which is no field, is 1. */
  readonly guards: readonly { readonly column: string; readonly fields: readonly string[] }[];
  readonly decoded: readonly FieldDefinition[];
  /**
   * The fields that are answered, in their order, with the paths into the JSON, from the outermost member; null answers
   * all that is read.
   */
  readonly answered: readonly (readonly [name: string, paths: readonly (readonly string[])[] | null])[] | null;
  readonly expansions: readonly ExpansionPlan[];
}

/** Records beside a record: the record that a field points to, or the records that point here. */
export interface ExpansionPlan {
  /** The name in the query, and in the answer. */
  readonly name: string;
  /** The field that holds the id, or several: of the record, or of the records that point here. */
  readonly field: string;
  /** The records that the path leads to; null for records that the caller may not read. */
  readonly target: {
    /** The collection, for error messages. */
    readonly name: string;
    /** The order of the records that point here, as SQL. */
    readonly newestFirst: string;
    readonly selection: SelectionPlan;
    /** The column of the field by which records point here; null for a field of the record. */
    readonly pointer: PointerPlan | null;
    /** A condition on the records that the caller may read; null for all. */
    readonly condition: SqlPart | null;
  } | null;
}

/** A field by which records point to others: the column, and of a multiple field the table of items, as quoted SQL names. */
export interface PointerPlan {
  readonly column: string;
  readonly items: string | null;
}

/** A search: the records that match, and the texts around what is found. */
export interface SearchPlan {
  /** The quoted SQL name of the search table. */
  readonly table: string;
  /** The query in the language of FTS5. */
  readonly match: string;
  readonly terms: readonly SearchTerm[];
  /** Whether nothing but the search says which records are on a page: the records that match need not be read for that. */
  readonly isAlone: boolean;
  /**
   * The columns with the text that weighs the matches, as SQL; null for the rank of FTS5, which counts the words of
   * every record and field.
   */
  readonly weighed: readonly string[] | null;
  readonly snippets: readonly { readonly field: string; readonly column: string }[];
}

/** An order by the distance of the vectors of a field, nearest first, for candidates from memory: see `VectorMemory`. */
export interface NearestPlan {
  /** The name of the collection, and the quoted SQL names. */
  readonly collection: string;
  readonly table: string;
  readonly column: string;
  readonly dimensions: number;
  readonly metric: VectorMetric;
  /** The numbers of the query in the stored form of a vector. */
  readonly wanted: string;
}

export interface PagePlan {
  readonly type: "records";
  readonly search: SearchPlan | null;
  readonly selection: SelectionPlan;
  /** A condition on the records of the list; null for the whole collection. */
  readonly where: SqlPart | null;
  /** Whether the event loop tries the list: no word is sought, and no record takes long by itself. */
  readonly isTried: boolean;
  /** See `IndexUse`. */
  readonly isLookedUp: boolean;
  readonly sort: SortPlan;
  /** The first key of the sort, if vectors in memory can tell the first records; null for any other list. */
  readonly nearest: NearestPlan | null;
  readonly limit: number;
  readonly offset: number;
  /** Whether a page that would be too heavy is refused: with `offset`, a page that ends early would lose records. */
  readonly isExact: boolean;
  /** Whether the records of the list are counted by SQL. */
  readonly isCounted: boolean;
}

/** A column of groups: a key, which is a value that the records of a group share, or an aggregate over these records. */
export interface GroupColumn extends SqlPart {
  /** The name in the query, and in the answer. */
  readonly name: string;
  readonly valueType: ValueType;
  /** The texts behind values that are positions; null for other values. */
  readonly texts: readonly string[] | null;
  readonly isNullable: boolean;
}

export interface CursorPosition {
  /** The id of the last record of the page before. */
  readonly id: string;
  /** The hidden number of the record; null in a cursor of an earlier version, and for groups. */
  readonly seq: number | null;
  /** Null for values that were too long: the values are read again, and must have this digest. */
  readonly values: readonly Value[] | null;
  readonly digest: string | null;
}

export interface GroupsPlan {
  readonly type: "groups";
  /** The quoted SQL name of the table. */
  readonly table: string;
  /** For each multiple field of the keys, in order: the JSON of the items. The rows of the items are named `_i0`, `_i1`, …. */
  readonly items: readonly SqlPart[];
  readonly where: SqlPart | null;
  /** The keys, then the aggregates, named `_c0`, `_c1`, … in SQL: no field begins with an underscore. */
  readonly columns: readonly GroupColumn[];
  /** The number of columns that are keys. Without keys, all records are a single group. */
  readonly keys: number;
  /** A complete order of the groups. */
  readonly sort: readonly KeyPlan[];
  readonly limit: number;
}

/** A column that holds the ids of files. */
export interface FileColumn extends PointerPlan, Pick<NonNullable<ExpansionPlan["target"]>, "newestFirst"> {
  readonly collection: string;
  readonly field: string;
  /** The quoted SQL names of the table and of the column. */
  readonly table: string;
}

/** The part that every input has. */
interface Input {
  readonly context: EvaluationContext;
  /** Runs that take longer, in milliseconds, report how SQLite reads. */
  readonly slowMs: number;
  /** The beginning of each statement of a query of a view; absent for any other query. */
  readonly view?: string;
}

export interface PageInput extends Input {
  readonly type: "page";
  readonly plan: PagePlan | GroupsPlan;
  /** The beginning of the page; null for the first page. */
  readonly position: CursorPosition | null;
  /** The most bytes of the vectors that a thread keeps for `nearest` of the plan; 0 for a list that SQL alone reads. */
  readonly vectorMemory: number;
}

export interface RecordInput extends Input {
  readonly type: "record";
  readonly selection: SelectionPlan;
  readonly id: string;
}

/** The records that hold the id of a file. */
export interface FileUsesInput extends Input {
  readonly type: "file uses";
  readonly columns: readonly FileColumn[];
  readonly fileId: string;
  readonly limit: number;
  readonly offset: number;
}

/** A column that holds ids of files, and the records with a column that the caller may read; null for all. */
export interface ReadableFileColumn extends FileColumn {
  readonly condition: SqlPart | null;
}

/** Whether some record that the caller may read holds the id of a file. */
export interface FileShownInput extends Input {
  readonly type: "file shown";
  readonly columns: readonly ReadableFileColumn[];
  readonly fileId: string;
}

export type QueryInput = FileShownInput | PageInput | RecordInput | FileUsesInput;

/** A page, with its records as the text of a JSON array. */
export interface PageOutcome {
  readonly items: string | LongText;
  /** The last record, with the values that the list is sorted by; null on the last page. */
  readonly next: (Pick<CursorPosition, "id" | "seq"> & { readonly values: readonly Value[] }) | null;
  /** The number of records in the list; null when SQL does not count. */
  readonly total: number | null;
}
