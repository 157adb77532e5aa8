/** The address of a schema's page. */
import { choiceOf, searchOf, textParam } from "../../kit/search-params.ts";

/** The requests of a trial. */
const attempts = ["list", "read", "create", "update", "delete"] as const;
export type Attempt = (typeof attempts)[number];

export function attemptOf(name: string): Attempt | undefined {
  return attempts.find((attempt) => attempt === name);
}

export const readSchemaSearch = searchOf({
  tab: choiceOf(["fields", "permissions", "indexes", "json"]),
  /** For a new collection: the collection to copy. */
  from: textParam,
  /** For a trial of the rules: the user; undefined for a request without a user. */
  as: textParam,
  attempt: choiceOf(attempts),
  /** The id of the record of a trial. */
  record: textParam,
});

export type SchemaSearch = ReturnType<typeof readSchemaSearch>;
