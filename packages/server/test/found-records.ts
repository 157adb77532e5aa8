/** The records that an expression finds, by SQL and by predicate: for the property tests of expressions. */
import type { EvaluationContext } from "../src/data/expressions/expression.ts";
import { parseExpression } from "../src/data/expressions/parse.ts";
import { type Fields, toPredicate } from "../src/data/expressions/predicate.ts";
import { toSql } from "../src/data/expressions/sql/conditions.ts";
import { bind, type SqlOptions } from "../src/data/expressions/sql/scope.ts";
import type { Database } from "../src/store/database/index.ts";
import { schemaOf } from "./expression-schemas.ts";

export function idsBySql(database: Database, text: string, context: EvaluationContext & SqlOptions): string[] {
  const { text: sql, values } = toSql(parseExpression(text, schemaOf("posts")), "p", context);
  const rows = database.reader.all<{ id: string }>(
    `SELECT p.id FROM posts p WHERE ${sql} ORDER BY p._seq`,
    ...bind(values, context),
  );
  return rows.map(({ id }) => id);
}

export function idsByPredicate(
  records: { posts: readonly Fields[]; authors: readonly Fields[] },
  text: string,
  context: EvaluationContext,
): string[] {
  const predicate = toPredicate(parseExpression(text, schemaOf("posts")));
  const related = (collection: string, id: string): Fields | null => {
    const all = collection === "posts" ? records.posts : records.authors;
    const found = all.find((record) => record["id"] === id) ?? null;
    const isHidden = collection === "authors" && (context.user === null || found?.["_owner"] !== context.user.id);
    return isHidden ? null : found;
  };
  const pointing = (collection: string, field: string, id: string): Fields[] => {
    const all = collection === "posts" ? records.posts : records.authors;
    const points = (value: Fields[string] = null): boolean =>
      Array.isArray(value) ? value.includes(id) : value === id;
    return all.filter((record) => points(record[field]) && related(collection, String(record["id"])) !== null);
  };
  return records.posts
    .filter((record) => predicate(record, { ...context, related, pointing }))
    .map((record) => String(record["id"]));
}
