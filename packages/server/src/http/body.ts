/** JSON bodies of requests: reads one as an object, or says why it is none. */
import { AppError, excerpt, isObject, messageOf } from "../kernel/index.ts";
import type { Exchange } from "./exchange.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/** The kind of a body that is no object: "an array", "a string", … */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/**
 * The body of a request as a JSON object; null when it is empty.
 * @throws AppError `bad_request` for anything else; what `Bodies` throws.
 */
export async function readOptionalObject(exchange: Exchange, limit: number): Promise<Record<string, unknown> | null> {
  return parseObject(await exchange.body(limit));
}

/**
 * Bytes as a JSON object; null when there are none.
 * @throws AppError `bad_request` for anything else.
 */
export function parseObject(bytes: Uint8Array): Record<string, unknown> | null {
  if (bytes.byteLength === 0) return null;
  let value: unknown;
  try {
    value = JSON.parse(strictUtf8.decode(bytes));
  } catch (thrown) {
    const reason =
      thrown instanceof TypeError ? "it is not UTF-8" : messageOf(thrown).replace(/^JSON Parse error: /, "");
    // The parser's message may repeat a word of the body, however long it is.
    throw new AppError("bad_request", `The body is not valid JSON: ${excerpt(reason, 100)}.`);
  }
  if (!isObject(value)) throw new AppError("bad_request", `The body must be a JSON object, not ${kindOf(value)}.`);
  return value;
}

/** Like `readOptionalObject`, but there must be one. */
export async function readObject(exchange: Exchange, limit: number): Promise<Record<string, unknown>> {
  return required(parseObject(await exchange.body(limit)));
}

/** A body that must be there. @throws AppError `bad_request`. */
export function required(body: Record<string, unknown> | null): Record<string, unknown> {
  if (body === null) throw new AppError("bad_request", "The body is missing; it must be a JSON object.");
  return body;
}

const jsonType = /^application\/json\s*(;|$)/i;

/** Spec, "Endpoints": bodies on record routes say that they are JSON. */
export function isJsonType(request: Request): boolean {
  const type = request.headers.get("content-type");
  return type === "application/json" || (type !== null && jsonType.test(type));
}
