/** The runs that a batch of changes adds to queues: `{ name, payload, at, key }` each, added in the batch's transaction. */
import { AppError, isObject, quote } from "../../base/kernel/index.ts";
import { referencesIn, resolve } from "../../data/records/index.ts";

const maxRuns = 1_000;

/** A run that a batch asks for. Its payload may hold references to the batch's records. */
export interface BatchRun {
  readonly name: string;
  readonly options: Record<string, unknown>;
  /** The JSON of the payload, with these ids in the place of its references. @throws AppError `bad_request`. */
  payloadWith(ids: readonly string[]): string;
}

/** @throws AppError `bad_request`. */
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
