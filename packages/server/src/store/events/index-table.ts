/** The table of the index of the event log, and the search in the index; see `event-index.ts`. */
import type { Reader, SlowReader, Transactor, Value } from "../database/index.ts";

/** The events of a block. */
export const blockSize = 4_096;
/** The rows of a block, by the hash of the key: a search reads one row. */
export const buckets = 8;

/** The blocks that a search reads at once. */
const blocksAtOnce = 32;

export const indexSteps: readonly string[] = [
  // `entries`: for each key of the bucket, the hash and the place of the event in the block; see `Block`.
  `CREATE TABLE _event_index (
    bucket INTEGER NOT NULL,
    block INTEGER NOT NULL,
    entries TEXT NOT NULL,
    PRIMARY KEY (bucket, block)
  ) STRICT, WITHOUT ROWID`,
];

const allBuckets = Array.from({ length: buckets }, (_, bucket) => bucket).join();

/** Removes the blocks of removed events: the events up to `seq`. */
export function trimIndex(tx: Transactor, seq: number): void {
  tx.run(`DELETE FROM _event_index WHERE bucket IN (${allBuckets}) AND block < ?`, Math.floor((seq + 1) / blockSize));
}

/** @param entries the text of each bucket. */
export function insertBlock(tx: Transactor, block: number, entries: readonly string[]): void {
  const insert = "INSERT INTO _event_index (bucket, block, entries) SELECT key, ?, value FROM json_each(?)";
  tx.run(insert, block, JSON.stringify(entries));
}

/** SQL: whether an event may have a key, which is the parameter; as `LoggedEvent.keys`. */
const hasKey = `(source = 'collections' AND substr(payload, 8, 40) = ?1)
  OR substr(cause, instr(cause, ' ') + 1, length(?1) + 1) IN (?1, ?1 || ' ', ?1 || '>') OR instr(cause, '>' || ?1) > 0
  OR (source IN ('functions', 'jobs') AND ?1 IN (json_extract(payload, '$.runId'), json_extract(payload, '$.eventId')))`;

export function hashOf(key: string): number {
  return Bun.hash.crc32(key);
}

/** The hash as hexadecimal digits, with which an entry begins. */
function digitsOf(hash: number): string {
  return hash.toString(16).padStart(8, "0");
}

/** The characters of an entry: the hash, and the place of the event in the block. */
export const entryWidth = 12;
/** The seqs in the entries of a bucket that have a hash, newest first. */
function seqsIn(block: number, entries: string, digits: string): number[] {
  const seqs = new Set<number>();
  for (let at = entries.indexOf(digits); at !== -1; at = entries.indexOf(digits, at + 1))
    if (at % entryWidth === 0)
      seqs.add(block * blockSize + Number.parseInt(entries.slice(at + 8, at + entryWidth), 16));
  return [...seqs].reverse();
}

/** The events of a key, before a seq. */
export interface KeySearch {
  readonly key: string;
  readonly before: number;
  readonly limit: number;
}

interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** An event, with entries null; or a block. */
interface Found {
  readonly seq: number;
  readonly entries: string | null;
}

/** The seqs of the events that may have a key, newest first. The caller compares: two keys may have one hash. */
function* search({ key, before, limit }: KeySearch): Generator<Statement, number[], readonly Found[]> {
  const hash = hashOf(key);
  const bucket = hash % buckets;
  const digits = digitsOf(hash);
  const newest = "SELECT block AS seq, NULL AS entries FROM _event_index WHERE bucket = ? ORDER BY block DESC LIMIT 1";
  const [last] = yield { sql: newest, values: [bucket] };
  const tail = `SELECT seq, NULL AS entries FROM _events WHERE seq >= ?2 AND seq < ?3 AND (${hasKey})
    ORDER BY seq DESC LIMIT ?4`;
  const from = last === undefined ? 0 : (last.seq + 1) * blockSize;
  const behind = yield { sql: tail, values: [key, from, before, limit] };
  const seqs = behind.map(({ seq }) => seq);
  const sql = `SELECT block AS seq, entries FROM _event_index
    WHERE bucket = ? AND block < ? AND instr(entries, ?) > 0 ORDER BY block DESC LIMIT ${blocksAtOnce}`;
  for (let below = Math.ceil(before / blockSize); seqs.length < limit; ) {
    const blocks = yield { sql, values: [bucket, below, digits] };
    for (const { seq: block, entries } of blocks) {
      seqs.push(...seqsIn(block, entries ?? "", digits).filter((seq) => seq < before));
      below = block;
    }
    if (blocks.length < blocksAtOnce) break;
  }
  return seqs.slice(0, limit);
}

/** See `search`. */
export function seqsOf(reader: Reader, asked: KeySearch): number[] {
  const steps = search(asked);
  let step = steps.next();
  while (step.done !== true) step = steps.next(reader.all<Found>(step.value.sql, ...step.value.values));
  return step.value;
}

/** As `seqsOf`, with a reader that may be on a thread. */
export async function seqsSlowly(reader: SlowReader, asked: KeySearch): Promise<number[]> {
  const steps = search(asked);
  let step = steps.next();
  while (step.done !== true) step = steps.next(await reader.all<Found>(step.value.sql, ...step.value.values));
  return step.value;
}

/** The first seq that the index does not have. */
export function unindexedFrom(reader: Reader): number {
  const last = reader.get<{ block: number }>(
    "SELECT block FROM _event_index WHERE bucket = 0 ORDER BY block DESC LIMIT 1",
  );
  return last === null ? 0 : (last.block + 1) * blockSize;
}
