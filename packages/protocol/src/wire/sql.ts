/** SQL of admins: a statement that reads, and its rows. */
import { arrayOf, boolean, count, freeObject, named, number, object, string, type TypeOf } from "./shape.ts";

export const sqlStatement = named("SqlStatement", () =>
  object({
    /** A single SELECT, WITH or VALUES. */
    sql: string,
  }),
);
export type SqlStatement = TypeOf<typeof sqlStatement>;

/** The plan of a list (`GET /api/admin/collections/{name}/explain`). */
export const listPlan = named("ListPlan", () =>
  object({
    /** Milliseconds of the run of the first page. */
    ms: number,
    /** The steps of SQLite's plan. */
    plan: arrayOf(string),
    /** The index that would help, or the reason why no index helps, as in the log. */
    index: string,
  }),
);
export type ListPlan = TypeOf<typeof listPlan>;

/** The answer of `POST /api/admin/sql`. */
export const sqlAnswer = named("SqlAnswer", () =>
  object({
    columns: arrayOf(string),
    /** Values by the names of the columns: numbers, texts, null. Blobs are hexadecimal. Empty for a dry run. */
    rows: arrayOf(freeObject),
    /** Whether rows are left out. */
    isCut: boolean,
    /** Milliseconds from the request of the rows to the rows. */
    ms: number,
    /** SQLite's plan, in order: `parent` is the id of the step around, or 0. */
    plan: arrayOf(object({ id: count, parent: count, detail: string })),
  }),
);
export type SqlAnswer = TypeOf<typeof sqlAnswer>;
