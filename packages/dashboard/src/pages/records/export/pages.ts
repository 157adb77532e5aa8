/** All records of a query, page by page. The export waits when the service requires a pause or a new sign-in. */
import { SocleError } from "@socle/client";
import type { RecordPage, RecordQuery, StoredRecord } from "@socle/protocol";

const pageSize = 1_000;
/** Ids in a request: a filter may have 4 KB. */
const idsPerRequest = 50;
const triesWithoutAnswer = 5;
const pollMs = 400;

export interface PageSource {
  fetch: (query: RecordQuery) => Promise<RecordPage<Partial<StoredRecord>>>;
  isSignedIn: () => boolean;
  signal: AbortSignal;
  sleep?: (ms: number) => Promise<void>;
}

const sleepFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The records of a query, in its order. @throws SocleError, or the signal's reason. */
export async function* queriedPages(
  source: PageSource,
  query: RecordQuery,
): AsyncGenerator<Partial<StoredRecord>[], void> {
  let cursor: string | null = null;
  do {
    const page: RecordPage<Partial<StoredRecord>> = await insist(source, { ...query, limit: pageSize, cursor });
    yield page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** The records with these ids, in the order of the ids; deleted records are left out. */
export async function* chosenPages(
  source: PageSource,
  ids: readonly string[],
  fields: string,
): AsyncGenerator<Partial<StoredRecord>[], void> {
  for (let from = 0; from < ids.length; from += idsPerRequest) {
    const part = ids.slice(from, from + idsPerRequest);
    const list = part.map((id) => JSON.stringify(id)).join(", ");
    const { items } = await insist(source, { filter: `id in (${list})`, fields: `id,${fields}`, limit: idsPerRequest });
    const byId = new Map(items.map((item) => [item.id, item]));
    yield part.map((id) => byId.get(id)).filter((item) => item !== undefined);
  }
}

async function insist(source: PageSource, query: RecordQuery): Promise<RecordPage<Partial<StoredRecord>>> {
  const { fetch, isSignedIn, signal, sleep = sleepFor } = source;
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    try {
      return await fetch(query);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SocleError)) throw error;
      if (error.is("offline") && failures < triesWithoutAnswer) await sleep(500 * 2 ** failures);
      else if (error.status === 401) {
        do await sleep(pollMs);
        while (!signal.aborted && !isSignedIn());
      } else if ((error.status === 429 || error.status === 503) && failures < 20)
        await sleep(error.retryAfter === null ? Math.min(30_000, 500 * 2 ** failures) : error.retryAfter * 1_000);
      else throw error;
    }
  }
}
