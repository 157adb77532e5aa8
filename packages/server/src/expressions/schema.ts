/** The schema of an expression: the fields that it can name, and the collections that it can enter. */
import type { ValueType } from "../fields/index.ts";
import type { Expression } from "./expression.ts";

/** A field that an expression can name. */
export interface SchemaField {
  readonly name: string;
  /** Of a multiple field, that of an item. */
  readonly valueType: ValueType;
  /** Its column, unquoted. */
  readonly column: string;
  /** Whether it, or each item of it, is the id of a record elsewhere, so that a path can go on. */
  readonly isRelation: boolean;
  /** Whether an index begins with it, so that records with a value of it are found without looking at others. */
  readonly isIndexed: boolean;
  /** Of a multiple field: the SQL name of the table of its items, unquoted, and the texts that an item may be. The column is JSON. */
  readonly items?: { readonly table: string; readonly values: readonly string[] | null };
  /** Of an item: the texts that it may be. */
  readonly allowed?: readonly string[];
  /** Of a text that is one of some values: they, in their order, and the column of its position among them, unquoted. */
  readonly order?: { readonly values: readonly string[]; readonly column: string };
}

/** The records of a collection as an expression sees them, for one class of callers. */
export interface ExpressionSchema {
  /** The collection, as messages name it. */
  readonly name: string;
  /** The SQL name of its table, unquoted. */
  readonly table: string;
  /** The condition on a record that is entered from elsewhere, under which the caller may read it; null for all records. */
  readonly condition: Expression | null;
  field(name: string): SchemaField | undefined;
  fieldNames(): readonly string[];
  /**
   * The records that a relation leads to.
   * @throws AppError when the caller may read nothing there.
   */
  follow(field: SchemaField): ExpressionSchema;
  /**
   * The records of a collection whose field points to records of this one. Answers the reason, as a sentence without its end,
   * where there are none.
   * @throws AppError when the caller may read nothing there.
   */
  back(collection: string, field: string): { target: ExpressionSchema; pointer: SchemaField } | string;
}
