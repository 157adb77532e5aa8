import { AppError, excerpt, isObject, messageOf } from "../kernel/index.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function tooLarge(limit: number): AppError {
  return new AppError("payload_too_large", `The body is larger than ${limit} bytes.`);
}

/** Without a length in advance, reading stops as soon as there is too much. */
async function readStream(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > limit) throw tooLarge(limit);
  try {
    if (length !== null) return await request.bytes();
    return request.body === null ? new Uint8Array() : await readStream(request.body, limit);
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    // The client went away in the middle; nobody will read this.
    throw new AppError("bad_request", "The body broke off.", { cause: thrown });
  }
}

/** "an array", "a string", …: what a body is in place of an object. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/**
 * The body of a request as a JSON object; null when it is empty.
 * @throws AppError `bad_request` for anything else, `payload_too_large` beyond `limit` bytes.
 */
export async function readOptionalObject(request: Request, limit: number): Promise<Record<string, unknown> | null> {
  const bytes = await readBytes(request, limit);
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
export async function readObject(request: Request, limit: number): Promise<Record<string, unknown>> {
  const body = await readOptionalObject(request, limit);
  if (body === null) throw new AppError("bad_request", "The body is missing; it must be a JSON object.");
  return body;
}

const jsonType = /^application\/json\s*(;|$)/i;

/** Spec, "Endpoints": bodies on record routes say that they are JSON. */
export function isJsonType(request: Request): boolean {
  const type = request.headers.get("content-type");
  return type === "application/json" || (type !== null && jsonType.test(type));
}
