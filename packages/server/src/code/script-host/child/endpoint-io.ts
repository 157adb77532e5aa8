/** Requests and responses of endpoints in a script process: as the web's interfaces for the handler, as data for the service. */
import { nextTurn } from "../../../base/kernel/index.ts";
import type { BodyData, HeaderList, RequestData, ResponseData } from "../protocol.ts";
import { kindOf } from "./errors.ts";
import { isDecoded } from "./globals.ts";

/** A body up to this size goes with the head of the response. */
const inlineBytes = 64 * 1024;
const pieceBytes = 256 * 1024;

/** Headers of a single connection, without meaning behind the connection (RFC 9110, 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A request body of pieces that the service has. `give` brings the requested piece. */
export class RequestBody {
  readonly stream: ReadableStream<Uint8Array>;
  #wanted: PromiseWithResolvers<Uint8Array | null> | null = null;

  constructor(want: () => void) {
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          this.#wanted = Promise.withResolvers<Uint8Array | null>();
          want();
          const bytes = await this.#wanted.promise;
          if (bytes === null) controller.close();
          else controller.enqueue(bytes);
        },
      },
      { highWaterMark: 0 },
    );
  }

  give(bytes: Uint8Array | null): void {
    this.#wanted?.resolve(bytes);
    this.#wanted = null;
  }

  /** No further piece comes. */
  fail(reason: unknown): void {
    this.#wanted?.reject(reason);
    this.#wanted = null;
  }
}

const none = new Uint8Array();

/** The values of a stream may be anything. */
type Reader = Pick<ReadableStreamDefaultReader<unknown>, "read" | "cancel">;
type Read = Awaited<ReturnType<Reader["read"]>>;

/** The pieces of a response body. */
export class ResponseBody {
  readonly #reader: Reader;
  #read: Promise<Read> | null;
  #left: Uint8Array;

  constructor(reader: Reader, begun: Promise<Read>, first: Uint8Array) {
    this.#reader = reader;
    this.#read = begun;
    this.#left = first;
  }

  /** The next piece; null after the last. @throws the error of the handler's stream. */
  async next(): Promise<Uint8Array | null> {
    while (this.#left.byteLength === 0) {
      const read = await (this.#read ?? this.#reader.read());
      this.#read = null;
      if (read.done) return null;
      this.#left = bytesOf(read.value);
    }
    const piece = this.#left.subarray(0, pieceBytes);
    this.#left = this.#left.byteLength > pieceBytes ? this.#left.subarray(pieceBytes) : none;
    // A view of a larger buffer would be sent with the whole buffer.
    return piece.byteLength === piece.buffer.byteLength ? piece : piece.slice();
  }

  cancel(): void {
    this.#reader.cancel().catch(() => undefined);
  }
}

/** The request for the handler. @throws TypeError for a request that the web's interfaces do not take. */
export function requestOf(
  { method, url, headers, body }: RequestData,
  { pieces, signal }: { pieces: RequestBody | null; signal: AbortSignal },
): Request {
  const init = { method, headers, signal };
  if (pieces !== null) return new Request(url, { ...init, body: pieces.stream });
  return body === null || body === "pieces" ? new Request(url, init) : new Request(url, { ...init, body });
}

/** A response as data, and the body when the body comes in pieces. @throws Error for a Response that cannot be sent. */
export async function responseOf(answer: Response): Promise<{ data: ResponseData; rest: ResponseBody | null }> {
  const { status, bodyUsed } = answer;
  if (status < 200 || status > 599)
    throw new Error(`The handler returned a Response with the status ${status}; allowed: 200 to 599`);
  if (bodyUsed) throw new Error("The handler returned a Response whose body was read before");
  const headers = headersOf(answer);
  const { body, rest } = await bodyOf(answer);
  return { data: { status, headers, body }, rest };
}

/** A short body that is complete within a turn of the loop goes with the head; the head does not wait for any other body. */
async function bodyOf({ body }: Response): Promise<{ body: BodyData; rest: ResponseBody | null }> {
  if (body === null) return { body: null, rest: null };
  const reader: Reader = body.getReader();
  const pieces: Uint8Array[] = [];
  let turn: Promise<void> | null = null;
  for (let size = 0; ; ) {
    const read = reader.read();
    if (Bun.peek.status(read) === "pending") {
      turn ??= nextTurn();
      await Promise.race([read, turn]);
    }
    const isLate = Bun.peek.status(read) === "pending";
    if (isLate || size > inlineBytes) return { body: "pieces", rest: new ResponseBody(reader, read, joined(pieces)) };
    const { done, value } = await read;
    if (done) return { body: size === 0 ? null : joined(pieces), rest: null };
    const bytes = bytesOf(value);
    pieces.push(bytes);
    size += bytes.byteLength;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}

/** @throws TypeError for a piece that is no bytes. */
function bytesOf(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  if (typeof piece === "string") return new TextEncoder().encode(piece);
  throw new TypeError(`The body of the Response has ${kindOf(piece)} as a piece; allowed: bytes and text`);
}

function headersOf(response: Response): HeaderList {
  const list: [string, string][] = [];
  for (const [name, value] of response.headers) {
    // The bytes of a response of `fetch` are without the former encoding.
    const isUndone = name === "content-encoding" && isDecoded(response, value);
    if (!hopByHop.has(name) && !isUndone) list.push([name, value]);
  }
  return list;
}
