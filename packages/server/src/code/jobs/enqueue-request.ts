/** The request to enqueue a run: its payload, time and key, checked here, whoever asks. */
import type { JsonValue } from "@socle/protocol";
import { AppError, isObject, overloaded, parseDatetime, quote } from "../../base/kernel/index.ts";

/** Characters of a key. */
const maxKey = 200;
const options = ["at", "key"];

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
  const { at, key } = known(given ?? {});
  return { payload, at: timeOf(at), key: keyOf(key) };
}

function known(given: Record<string, unknown>): Record<string, unknown> {
  const other = Object.keys(given).find((name) => !options.includes(name));
  if (other === undefined) return given;
  throw new AppError("bad_request", `${quote(other)} is no option beside the payload; allowed: ${options.join(", ")}.`);
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

/** The error for a queue that has no room. */
export function queueFull(name: string, max: number): AppError {
  return overloaded("queuedRuns", `The queue ${name} is full: ${max} runs wait (limits.queuedRuns).`);
}

/** The payload of a row as JSON. */
export function parsedPayload(payload: string): JsonValue {
  // The service wrote the text.
  return JSON.parse(payload) as JsonValue;
}
