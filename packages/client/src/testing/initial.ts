/** The data that a server has read for the pages of `e2e/bindings-pages.test.ts`. */
import type { RecordPage, StoredRecord } from "@socle/protocol";

export interface Initial {
  readonly tasks: readonly StoredRecord[];
  readonly posts: RecordPage<StoredRecord>;
  readonly total: RecordPage<StoredRecord> & { readonly total: number };
  readonly board: unknown;
}

function recordOf(id: string, title: string): StoredRecord {
  return { id, createdAt: "", updatedAt: "", title };
}

/** @param by the end of each title. */
export function initialOf(by: string): Initial {
  return {
    tasks: [recordOf("1", `one of the ${by}`)],
    posts: { items: [recordOf("p1", ""), recordOf("p2", "")], nextCursor: "c2" },
    total: { items: [], nextCursor: null, total: 7 },
    board: `board of the ${by}`,
  };
}
