/**
 * Vectors in memory: a thread keeps the vectors of fields, and tells the records with the nearest vectors, so that SQL reads only a few
 * records of a list. The events of the log tell the records that changed since the last query; after a change of a definition, all vectors
 * are read again. A deleted record keeps a place, and is found by no statement.
 */
import type { VectorMetric } from "@socle/protocol";
import { cosineDistance, decodeVector, lengthOf, writeVector } from "../../../base/kernel/index.ts";
import { type Reader, stopProbe } from "../../../store/database/index.ts";
import { changesSince, lastSeqOf } from "../../../store/events/index.ts";
import type { NearestPlan } from "../plan.ts";

/** Vectors of a block, a multiple of 8. */
const blockLength = 256;
/** Records that a statement reads. */
const readLength = 1_000;
/** The bytes of a vector beside its numbers, about. */
const bytesBeside = 64;
/** The records of the first candidates, for each record of a page, and the growth of further candidates. */
const firstFactor = 10;
const growth = 8;
/** Places of deleted records, beside as many as half of the places, before the vectors are read again. */
const maxGone = 1_000;

/** The bytes of some vectors in memory, about. */
export function vectorBytes(records: number, dimensions: number): number {
  return records * (dimensions * 4 + bytesBeside);
}

interface Block {
  readonly numbers: Float32Array;
  readonly lengths: Float64Array;
  /** The hidden numbers of the records; 0 for a free place, no record has 0. */
  readonly seqs: Float64Array;
}

/**
 * For each vector of a block: the sum of the products with a vector, or for `l2` the sum of the squares of the differences. Eight
 * vectors at a time take half of the time of single vectors.
 */
function sums(
  { numbers }: Block,
  { wanted, metric }: { wanted: Float32Array; metric: VectorMetric },
  into: Float64Array,
): void {
  const length = wanted.length;
  for (let at = 0; at < blockLength; at += 8) {
    const a = at * length;
    const b = a + length;
    const c = b + length;
    const d = c + length;
    const e = d + length;
    const f = e + length;
    const g = f + length;
    const h = g + length;
    let sumA = 0;
    let sumB = 0;
    let sumC = 0;
    let sumD = 0;
    let sumE = 0;
    let sumF = 0;
    let sumG = 0;
    let sumH = 0;
    if (metric === "l2")
      for (let i = 0; i < length; i++) {
        const x = wanted[i] ?? 0;
        sumA += (x - (numbers[a + i] ?? 0)) ** 2;
        sumB += (x - (numbers[b + i] ?? 0)) ** 2;
        sumC += (x - (numbers[c + i] ?? 0)) ** 2;
        sumD += (x - (numbers[d + i] ?? 0)) ** 2;
        sumE += (x - (numbers[e + i] ?? 0)) ** 2;
        sumF += (x - (numbers[f + i] ?? 0)) ** 2;
        sumG += (x - (numbers[g + i] ?? 0)) ** 2;
        sumH += (x - (numbers[h + i] ?? 0)) ** 2;
      }
    else
      for (let i = 0; i < length; i++) {
        const x = wanted[i] ?? 0;
        sumA += x * (numbers[a + i] ?? 0);
        sumB += x * (numbers[b + i] ?? 0);
        sumC += x * (numbers[c + i] ?? 0);
        sumD += x * (numbers[d + i] ?? 0);
        sumE += x * (numbers[e + i] ?? 0);
        sumF += x * (numbers[f + i] ?? 0);
        sumG += x * (numbers[g + i] ?? 0);
        sumH += x * (numbers[h + i] ?? 0);
      }
    into.set([sumA, sumB, sumC, sumD, sumE, sumF, sumG, sumH], at);
  }
}

/** The vectors of a field. */
class FieldVectors {
  readonly #dimensions: number;
  readonly #blocks: Block[] = [];
  /** The places of the records. */
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  #length = 0;
  /** The places of deleted records. */
  gone = 0;
  /** The seq of the last event whose change the vectors have. */
  seq = 0;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
  }

  get size(): number {
    return this.#places.size;
  }

  get bytes(): number {
    return vectorBytes(this.#length, this.#dimensions);
  }

  put(seq: number, stored: string | null): void {
    const known = this.#places.get(seq);
    if (stored === null) {
      if (known === undefined) return;
      this.#places.delete(seq);
      this.#free.push(known);
      this.#write(known, 0, null);
      return;
    }
    const place = known ?? this.#free.pop() ?? this.#length++;
    this.#places.set(seq, place);
    this.#write(place, seq, stored);
  }

  #write(place: number, seq: number, stored: string | null): void {
    const [n, at] = [Math.floor(place / blockLength), place % blockLength];
    const block = this.#blocks[n] ?? this.#newBlock();
    block.seqs[at] = seq;
    if (stored === null) return;
    const numbers = block.numbers.subarray(at * this.#dimensions, (at + 1) * this.#dimensions);
    writeVector(stored, numbers);
    block.lengths[at] = lengthOf(numbers);
  }

  #newBlock(): Block {
    const block = {
      numbers: new Float32Array(blockLength * this.#dimensions),
      lengths: new Float64Array(blockLength),
      seqs: new Float64Array(blockLength),
    };
    this.#blocks.push(block);
    return block;
  }

  /** The distances of the vectors by place; NaN for a free place. */
  #distances({ wanted: stored, metric }: NearestPlan): Float64Array {
    const wanted = decodeVector(stored);
    const length = lengthOf(wanted);
    const all = new Float64Array(this.#blocks.length * blockLength);
    for (const [n, block] of this.#blocks.entries()) {
      const distances = all.subarray(n * blockLength, (n + 1) * blockLength);
      sums(block, { wanted, metric }, distances);
      for (let at = 0; at < blockLength; at++)
        if (block.seqs[at] === 0) distances[at] = Number.NaN;
        else if (metric === "cosine")
          distances[at] = cosineDistance(distances[at] ?? 0, length * (block.lengths[at] ?? 0));
    }
    return all;
  }

  /**
   * The records with the nearest vectors, as JSON: more each time, each time all that are as near as the farthest, and not all of the
   * records.
   * @param options `from` a distance, with all records that are as near; `first` the count of the first records.
   */
  *nearest(plan: NearestPlan, { from, first }: { from: number | null; first: number }): Generator<string> {
    const distances = this.#distances(plan);
    const isNear = (distance: number): boolean => distance >= (from ?? Number.NEGATIVE_INFINITY);
    const sorted = distances.filter(isNear).sort();
    for (let most = first; most < sorted.length; most *= growth) {
      const farthest = sorted[most - 1] ?? 0;
      const seqs: number[] = [];
      for (let place = 0; place < this.#length; place++) {
        const distance = distances[place] ?? Number.NaN;
        if (isNear(distance) && distance <= farthest)
          seqs.push(this.#blocks[Math.floor(place / blockLength)]?.seqs[place % blockLength] ?? 0);
      }
      yield JSON.stringify(seqs);
    }
  }
}

/** The vectors that a thread keeps, of the fields that were asked for last. */
export class VectorMemory {
  /** The field that was asked for last stands last. */
  readonly #fields = new Map<string, FieldVectors>();

  /** The candidates for a page: see `FieldVectors.nearest`. @param options `memory` the most bytes of all vectors. */
  nearest(
    reader: Reader,
    plan: NearestPlan,
    { memory, from, records }: { memory: number; from: number | null; records: number },
  ): Generator<string> {
    const key = JSON.stringify([plan.table, plan.column, plan.dimensions]);
    const known = this.#fields.get(key);
    this.#fields.delete(key);
    const vectors = known !== undefined && isRefreshed(reader, plan, known) ? known : readVectors(reader, plan);
    this.#fields.set(key, vectors);
    this.#forget(memory);
    return vectors.nearest(plan, { from, first: records * firstFactor });
  }

  #forget(memory: number): void {
    let bytes = 0;
    for (const [key, vectors] of [...this.#fields].reverse()) {
      bytes += vectors.bytes;
      if (bytes > memory) this.#fields.delete(key);
    }
  }
}

interface Row {
  readonly seq: number;
  readonly vector: string | null;
}

/** Reads the vectors of a field. */
function readVectors(reader: Reader, { table, column, dimensions }: NearestPlan): FieldVectors {
  const vectors = new FieldVectors(dimensions);
  vectors.seq = lastSeqOf(reader);
  const sql = `SELECT _seq AS seq, ${column} AS vector FROM ${table} WHERE ${stopProbe(table)} AND _seq > ? AND ${column} IS NOT NULL ORDER BY _seq LIMIT ${readLength}`;
  for (let after: number | undefined = -1; after !== undefined; ) {
    const rows: Row[] = reader.all<Row>(sql, after);
    for (const { seq, vector } of rows) vectors.put(seq, vector);
    after = rows.length < readLength ? undefined : rows.at(-1)?.seq;
  }
  return vectors;
}

/** Brings vectors up to date by the records that have changed; false if the vectors must be read again. */
function isRefreshed(reader: Reader, { collection, table, column }: NearestPlan, vectors: FieldVectors): boolean {
  const changes = changesSince(reader, vectors.seq, collection);
  if (changes === null) return false;
  const sql = `SELECT _seq AS seq, ${column} AS vector FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`;
  for (let at = 0; at < changes.ids.length; at += readLength) {
    const ids = changes.ids.slice(at, at + readLength);
    const rows = reader.all<Row>(sql, JSON.stringify(ids));
    for (const { seq, vector } of rows) vectors.put(seq, vector);
    vectors.gone += ids.length - rows.length;
  }
  vectors.seq = changes.seq;
  return vectors.gone <= maxGone + vectors.size / 2;
}
