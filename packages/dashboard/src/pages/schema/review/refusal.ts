/** The reading of a refusal: the contradictions of a migration, with the ids of records in their messages. */
import { SocleError } from "@socle/client";
import type { PointingField } from "../../../service/pointer-fields.ts";

export interface Contradiction {
  /** The field, or several fields with commas between the names; null when the service names no field. */
  readonly field: string | null;
  /** The message without the list of ids. */
  readonly message: string;
  readonly ids: readonly string[];
  /** Whether more records exist than the ids name. */
  readonly hasMore: boolean;
}

const idPattern = /\brec_[0-9A-Za-z-]+/g;
/** The list of ids at the end of a message: "(rec_…, rec_…, …)". */
const idList = /\s*\((?:rec_[0-9A-Za-z-]+(?:,\s*)?)+(?:…)?\)/g;

/** The ids of records in a message, each once. */
export function recordIds(message: string): readonly string[] {
  return [...new Set(message.match(idPattern) ?? [])];
}

export function contradiction(message: string, field: string | null): Contradiction {
  const ids = recordIds(message);
  return { field, ids, hasMore: /, …\)/.test(message), message: message.replaceAll(idList, "").trim() };
}

/** The contradictions of a refused change; null for any other failure. */
export function contradictionsOf(error: unknown): readonly Contradiction[] | null {
  if (!(error instanceof SocleError) || error.status !== 400) return null;
  if (error.details.length > 0) return error.details.map(({ field, message }) => contradiction(message, field));
  return error.message.split("; ").map((message) => contradiction(message, null));
}

/** The filter of the grid that shows these records. Ids contain no quotes. */
export function filterOf(ids: readonly string[]): string {
  return `id in (${ids.map((id) => `"${id}"`).join(", ")})`;
}

/** The pointers in a refused deletion: `posts.author, books.author point to it`. */
export function pointersIn(message: string): readonly PointingField[] {
  const list = /:(.*)\bpoints? to it/.exec(message)?.[1] ?? "";
  return [...list.matchAll(/([A-Za-z]\w*)\.([A-Za-z]\w*)/g)].map(([, collection = "", field = ""]) => ({
    collection,
    field,
  }));
}
