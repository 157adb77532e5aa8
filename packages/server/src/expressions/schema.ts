/** The schema of an expression: the fields that it can name, and the collections that their relations lead to. */
import type { ValueType } from "../fields/index.ts";
import type { Expression } from "./expression.ts";

/** A field that an expression can name. */
export interface SchemaField {
  readonly name: string;
  readonly valueType: ValueType;
  /** Its column, unquoted. */
  readonly column: string;
  /** Whether it is the id of a record elsewhere, so that a path can go on. */
  readonly isRelation: boolean;
}

/** What the records of a collection look like to an expression, for one class of callers. */
export interface ExpressionSchema {
  /** The collection, as messages name it. */
  readonly name: string;
  /** The SQL name of its table, unquoted. */
  readonly table: string;
  /** The condition on a record that is entered through a relation, under which the caller may read it; null for all records. */
  readonly condition: Expression | null;
  field(name: string): SchemaField | undefined;
  fieldNames(): readonly string[];
  /**
   * Where a relation leads.
   * @throws AppError when the caller may read nothing there.
   */
  follow(field: SchemaField): ExpressionSchema;
}
