/** Bodies of requests: the bound on the bytes, the end of bodies that come too slowly, and JSON objects of bodies. */
import { parseJsonText } from "@socle/protocol/cells";
import { Admission, AppError, type Holder, isObject, type LimitName, releasedMemory } from "../../base/kernel/index.ts";
import { refuseEncoded } from "./headers.ts";
import { Stopping } from "./in-flight.ts";
import { jsonError, parseInSlices } from "./json-slices.ts";
import { PassedRequest } from "./passed-request.ts";

/** Bodies up to this size are read in a single step, and find room when large bodies do not. */
const smallBytes = 16 * 1024;
/** The first buffer of a body without a declared length. */
const firstBuffer = 64 * 1024;
/** The part of the bound that large bodies may take. */
const largePart = 0.75;
/** The runtime receives up to 1 MiB of an unread body: few may wait. */
const maxWaiting = 32;
/** A body must have come with at least so many bytes per millisecond once the client was waited for `stalledMs`. */
const minRate = 1;
/** While others wait for room, bodies slower than so many bytes per millisecond are ended. */
const slowRate = 64;

export const paceTiming = {
  /** A body of which nothing comes for so long is ended. */
  stalledMs: 10_000,
  /** While others wait for room, slow bodies are ended once the clients were waited for so long. */
  slowMs: 1_000,
  /** The time between two looks for bodies that have stalled. */
  lookMs: 1_000,
};
type PaceTiming = typeof paceTiming;
/** How long a large body waits for room. */
const patienceMs = 1_000;

export function tooLarge(limit: number): AppError {
  return new AppError("payload_too_large", `The body is larger than ${limit} bytes.`);
}

/** The error of a body of a client that went away in the middle; this answer has no reader. */
export function brokenOff(cause: unknown): AppError {
  return new AppError("bad_request", "The body broke off.", { cause });
}

/** The error of a body that came too slowly. The connection is closed with the answer: the rest is not waited for. */
export class SlowBody extends AppError {
  /** @param limit the bound that has ended the body, if any. */
  constructor(limit?: LimitName) {
    super("bad_request", "The body came too slowly.", limit === undefined ? {} : { limit });
  }
}

/** A body under way. While others wait for room, the slowest bodies are ended. */
export class Pace implements Holder {
  /** Ends the reading. */
  cut: (error: AppError) => void = () => undefined;
  readonly #timing: PaceTiming;
  readonly #limit: LimitName;
  /** The length of a small body, which is read in a single step; null for a large body. */
  readonly #smallSize: number | null;
  #received = 0;
  /** Milliseconds for which the client was waited for, up to `since`. */
  #waitedMs = 0;
  /** Since when the client is waited for; null while a piece is used, and for a whole body. */
  #since: number | null = null;

  /** @param limit the bound that the end of a slow body counts for. */
  constructor(timing: PaceTiming, limit: LimitName, smallSize: number | null = null) {
    this.#timing = timing;
    this.#limit = limit;
    this.#smallSize = smallSize;
  }

  /** The client is waited for from now on. */
  wait(): void {
    this.#since = performance.now();
  }

  /** Counts a piece, which ends the wait. Answers the bytes that have come. */
  received(bytes: number): number {
    this.#waitedMs = this.#waited(performance.now());
    this.#since = null;
    this.#received += bytes;
    return this.#received;
  }

  /** The body is whole: the client is not waited for any more. */
  isOver(): void {
    this.#waitedMs = 0;
    this.#since = null;
  }

  slowness(now: number): number {
    const ms = this.#waited(now);
    return ms > this.#timing.slowMs && this.#received < ms * slowRate ? ms / (this.#received + 1) : 0;
  }

  end(): void {
    this.cut(new SlowBody(this.#limit));
  }

  /** Ends a body that came too slowly. How much of a small body has come is not known. */
  look(now: number): void {
    const { stalledMs } = this.#timing;
    const isLate = this.#waited(now) >= stalledMs + (this.#smallSize ?? this.#received) / minRate;
    const hasStalled = this.#smallSize === null && this.#since !== null && now - this.#since >= stalledMs;
    if (isLate || hasStalled) this.cut(new SlowBody());
  }

  #waited(now: number): number {
    return this.#waitedMs + (this.#since === null ? 0 : now - this.#since);
  }
}

/** The bodies that are under way, looked at every second: a body that comes too slowly is ended. */
export class Paces {
  readonly #paces = new Set<Pace>();
  readonly #lookMs: number;
  #timer: Timer | null = null;

  constructor({ lookMs }: PaceTiming) {
    this.#lookMs = lookMs;
  }

  add(pace: Pace): void {
    this.#paces.add(pace);
    this.#timer ??= setInterval(() => this.#look(), this.#lookMs).unref();
  }

  delete(pace: Pace): void {
    this.#paces.delete(pace);
  }

  /** Ends every body that is not whole. */
  cut(error: AppError): void {
    for (const pace of this.#paces) pace.cut(error);
  }

  #look(): void {
    const now = performance.now();
    for (const pace of this.#paces) pace.look(now);
    if (this.#paces.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

/**
 * The length of a body as the header declares the length (RFC 9110, 8.6); null without the header.
 * @throws AppError `bad_request` for a header that is no length, for example a repeated header.
 */
export function declaredLength(headers: Headers): number | null {
  const header = headers.get("content-length");
  if (header === null) return null;
  if (!/^\d{1,15}$/.test(header))
    throw new AppError("bad_request", "The header Content-Length must be one whole number.");
  return Number(header);
}

/** Whether the body of a request is not known to be small. */
export function isLarge({ headers }: Request): boolean {
  return Number(headers.get("content-length") ?? 0) > smallBytes || headers.has("transfer-encoding");
}

/** The request of a body, and the address for the share of the bound. */
interface Sending {
  readonly request: Request;
  readonly address: string;
}

/** After a body that the parser has worked on for so many milliseconds, the address rests for so many times as long. */
const costlyMs = 8;
const restFactor = 4;

/** Reads bodies. A body counts with the declared length, or with the limit. */
export class Bodies {
  readonly #large: Admission;
  readonly #small: Admission;
  /** Large bodies are parsed singly, over several turns of the event loop. */
  readonly #parsing = new Admission({ width: 1 });
  /** After a large body, the next large body of an address waits. */
  readonly #resting = new Admission({ width: Number.MAX_SAFE_INTEGER, share: 1 });
  readonly #timing: PaceTiming;
  readonly #paces: Paces;

  /** @param limit bytes of all bodies at a time. */
  constructor(limit: number, timing = { ...paceTiming, patienceMs }) {
    const queue = {
      limit: "bodies",
      message: "Too many large bodies are being read. Try again in a moment.",
      maxWaiting,
      patienceMs: timing.patienceMs,
    } as const;
    const width = limit * largePart;
    this.#large = new Admission({ ...queue, width, share: width / 2 });
    this.#small = new Admission({ ...queue, width: limit - width });
    this.#timing = timing;
    this.#paces = new Paces(timing);
  }

  /** Bytes of the bodies that are being read. */
  get bytes(): number {
    return this.#large.taken + this.#small.taken;
  }

  /**
   * The bytes of a body, at most `limit`.
   * @throws AppError `payload_too_large`, `bad_request` for a body that breaks off or comes too slowly, `unavailable` when
   * there is no room.
   */
  async read(sending: Sending, limit: number): Promise<Uint8Array> {
    return this.#read(sending, limit, (bytes) => bytes);
  }

  /**
   * The body as a JSON object; null for an empty body.
   * @throws AppError as `read`; `bad_request` for anything that is no JSON object, with status 415 for a compressed body.
   */
  async object(sending: Sending, limit: number): Promise<Record<string, unknown> | null> {
    return this.#read(sending, limit, (bytes) => this.parse(bytes, sending));
  }

  /** Bytes as a JSON object; null for no bytes. @throws AppError `bad_request` for anything else. */
  parse(bytes: Uint8Array, sending: Sending): Record<string, unknown> | null | Promise<Record<string, unknown> | null> {
    if (bytes.byteLength === 0) return null;
    if (bytes.byteLength <= smallBytes) {
      try {
        return asObject(parseSmall(decoded(bytes)));
      } catch (thrown) {
        refuseEncoded(sending.request.headers);
        throw thrown;
      }
    }
    return this.#parseLarge(bytes, sending.address).catch((thrown: unknown) => {
      refuseEncoded(sending.request.headers);
      throw thrown;
    });
  }

  /** The values of many small arrays and objects cost a multiple of the text here, and again where the values are used. */
  async #parseLarge(bytes: Uint8Array, caller: string): Promise<Record<string, unknown>> {
    const place = await this.#resting.take({ caller });
    let spentMs = 0;
    const parse = async (): Promise<Record<string, unknown>> => {
      // The bytes, pieces and text, and values of the body before, which takes several times the bytes.
      releasedMemory(bytes.byteLength * 24);
      const value = await parseInSlices(decoded(bytes), (ms) => {
        spentMs += ms;
      });
      return asObject(value);
    };
    try {
      return await this.#parsing.run(parse, { caller });
    } finally {
      if (spentMs < costlyMs) place.release();
      else setTimeout(() => place.release(), spentMs * restFactor).unref();
    }
  }

  /** Reads a body, which counts until `use` is over. A small body that has come with a passed request does not count. */
  async #read<T>(sending: Sending, limit: number, use: (bytes: Uint8Array) => T | Promise<T>): Promise<T> {
    const { request } = sending;
    const whole = request instanceof PassedRequest ? request.whole : null;
    const length = whole?.byteLength ?? declaredLength(request.headers);
    if (length !== null && length > limit) throw tooLarge(limit);
    if (whole !== null) return use(whole);
    if (length === 0 || (length === null && request.body === null)) return use(new Uint8Array());
    const size = length ?? limit;
    const isSmall = size <= smallBytes;
    const pace = new Pace(this.#timing, "bodies", isSmall ? size : null);
    const ask = { size, caller: isSmall ? null : sending.address, holder: pace };
    const admission = isSmall ? this.#small : this.#large;
    const place = admission.has(ask) ? admission.hold(ask) : await admission.take({ ...ask, signal: request.signal });
    this.#paces.add(pace);
    try {
      const bytes = await new Promise<Uint8Array>((resolve, reject) => {
        pace.cut = reject;
        pace.wait();
        const whole = isSmall && length !== null ? request.bytes() : readPieces(request, pace, { limit, length });
        whole.then(resolve, reject);
      });
      pace.isOver();
      return await use(bytes);
    } catch (thrown) {
      throw thrown instanceof AppError ? thrown : brokenOff(thrown);
    } finally {
      this.#paces.delete(pace);
      place.release();
    }
  }

  /** Ends every body that is not whole: the service stops. */
  giveUp(): void {
    this.#paces.cut(new Stopping());
  }
}

/** Reads piece by piece, and stops beyond the limit. Pieces go into a single buffer: memory holds a body once. */
async function readPieces(
  { body }: Request,
  pace: Pace,
  { limit, length }: { limit: number; length: number | null },
): Promise<Uint8Array> {
  let bytes = new Uint8Array(length ?? firstBuffer);
  let end = 0;
  for await (const piece of body ?? []) {
    const start = end;
    end = pace.received(piece.byteLength);
    pace.wait();
    if (end > limit) throw tooLarge(limit);
    if (end > bytes.byteLength) {
      const larger = new Uint8Array(Math.min(limit, end * 2));
      larger.set(bytes.subarray(0, start));
      bytes = larger;
    }
    bytes.set(piece, start);
  }
  return bytes.subarray(0, end);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function decoded(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (thrown) {
    throw jsonError(thrown);
  }
}

function parseSmall(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (thrown) {
    throw jsonError(thrown);
  }
}

function asObject(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new AppError("bad_request", `The body must be a JSON object, not ${kindOf(value)}.`);
}

/** The kind of a body that is no object: "an array", "a string", … */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** A body that must not be empty. @throws AppError `bad_request`. */
export function required(body: Record<string, unknown> | null): Record<string, unknown> {
  if (body === null) throw new AppError("bad_request", "The body is missing; it must be a JSON object.");
  return body;
}

const jsonType = /^application\/json\s*(;|$)/i;

/** Spec, "Endpoints": bodies on record routes are declared as JSON. @throws AppError `bad_request` for other bodies. */
export function requireJsonType(request: Request): void {
  const type = request.headers.get("content-type");
  if (type === "application/json" || (type !== null && jsonType.test(type))) return;
  throw new AppError("bad_request", "The request needs the header Content-Type: application/json.");
}
