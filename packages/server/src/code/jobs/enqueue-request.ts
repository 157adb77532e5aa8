/** Requests to enqueue a run: payload, time and key, checked here, whoever asks; and the runs that a batch of changes asks for. */
import { AppError, isObject, parseDatetime, quote } from "../../base/kernel/index.ts";
import { referencesIn, resolve } from "../../data/records/index.ts";

/** Characters of a key. */
const maxKey = 200;
/** Runs of a batch. */
const maxRuns = 1_000;

export interface EnqueueRequest {
  readonly payload: string;
  /** The time from which on the run is due, in milliseconds since 1970; 0 for at once. */
  readonly at: number;
  readonly key: string | null;
}

/**
 * @param payload JSON.
 * @param given the options, from JSON.
 * @throws AppError `bad_request`, `payload_too_large`.
 */
export function enqueueRequest(payload: string, given: unknown, maxPayload: number): EnqueueRequest {
  const size = Buffer.byteLength(payload);
  if (size > maxPayload)
    throw new AppError(
      "payload_too_large",
      `The payload has ${size} bytes; limits.payload allows ${maxPayload}. Put the data into a record or a file, and its id into the payload.`,
    );
  if (given !== undefined && given !== null && !isObject(given))
    throw new AppError("bad_request", `The options must be an object such as { at, key }, not ${quote(given)}.`);
  const { at, key, ...others } = given ?? {};
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new AppError("bad_request", `${quote(other)} is no option beside the payload; allowed: at, key.`);
  return { payload, at: timeOf(at), key: keyOf(key) };
}

function timeOf(at: unknown): number {
  if (at === undefined || at === null) return 0;
  const time = typeof at === "string" ? parseDatetime(at) : null;
  if (time !== null) return Math.max(0, Date.parse(time));
  throw new AppError("bad_request", `"at" must be a Date, or a text such as "2026-11-22T09:00:00Z", not ${quote(at)}.`);
}

function keyOf(key: unknown): string | null {
  if (key === undefined || key === null) return null;
  if (typeof key === "string" && key.length >= 1 && key.length <= maxKey && key.isWellFormed()) return key;
  throw new AppError("bad_request", `"key" must be a text of 1 to ${maxKey} characters, not ${quote(key)}.`);
}

/** A run that a batch asks for. Its payload may hold references to the batch's records. */
interface BatchRun {
  readonly name: string;
  readonly options: Record<string, unknown>;
  /** The JSON of the payload, with these ids in the place of its references. @throws AppError `bad_request`. */
  payloadWith(ids: readonly string[]): string;
}

/** The runs of a batch: `{ name, payload, at, key }` each. @throws AppError `bad_request`. */
export function batchRuns(value: unknown): BatchRun[] {
  if (!Array.isArray(value))
    throw new AppError("bad_request", `"enqueue" must be an array of { name, payload, at, key }, not ${quote(value)}.`);
  if (value.length > maxRuns)
    throw new AppError("bad_request", `"enqueue" has ${value.length} runs; at most ${maxRuns} are possible.`);
  return value.map(batchRun);
}

function batchRun(value: unknown): BatchRun {
  if (!isObject(value)) throw new AppError("bad_request", `A run to enqueue must be an object, not ${quote(value)}.`);
  const { name, payload = null, ...options } = value;
  if (typeof name !== "string")
    throw new AppError("bad_request", `"name" must be that of a queue, not ${quote(name)}.`);
  return {
    name,
    options,
    payloadWith(ids) {
      const holder = { payload: structuredClone(payload) };
      const references = referencesIn(holder);
      const wrong = references.find(({ operation }) => ids[operation] === undefined);
      if (wrong !== undefined)
        throw new AppError("bad_request", `"$ref": ${wrong.operation} names no operation of the batch.`);
      resolve(references, ids);
      return JSON.stringify(holder.payload);
    },
  };
}
