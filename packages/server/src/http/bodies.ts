/** JSON bodies that are being read: the bound on their bytes, and the end of those that come too slowly. */
import { AppError, type LimitName, overloaded } from "../kernel/index.ts";
import { Room } from "./room.ts";

/** Bodies up to this are read in one step, and find room when large ones do not. */
const smallBytes = 16 * 1024;
/** The part of the bound that large bodies may take. */
const largeShare = 0.75;
/** The runtime receives up to 1 MiB of a body that nobody reads: few may wait. */
const maxWaiting = 32;
/** After `stalledMs`, a body must have come with at least so many bytes per millisecond. */
const minRate = 1;
/** Where room is wanted, bodies slower than so many bytes per millisecond are ended. */
const slowRate = 64;

const defaultTiming = {
  /** How long a large body waits for room. */
  patienceMs: 1_000,
  /** A body of which nothing comes for so long is ended. */
  stalledMs: 10_000,
  /** Where room is wanted, slow bodies are ended once they are so old. */
  slowMs: 1_000,
  /** How often it is looked for bodies that have stalled. */
  lookMs: 1_000,
};

interface Reading {
  /** Null where no share is counted: a small body. */
  readonly caller: string | null;
  readonly bytes: number;
  received: number;
  readonly startedAt: number;
  progressAt: number;
  cut: (error: AppError) => void;
}

function tooLarge(limit: number): AppError {
  return new AppError("payload_too_large", `The body is larger than ${limit} bytes.`);
}

/** The body of which too little came. The connection is closed with it: the rest is not waited for. */
export class SlowBody extends AppError {
  /** @param limit the bound that has ended it, if one has. */
  constructor(limit?: LimitName) {
    super("bad_request", "The body came too slowly.", limit === undefined ? {} : { limit });
  }
}

/**
 * The length of a body as its header declares it (RFC 9110, 8.6); null without one.
 * @throws AppError `bad_request` for a header that is no length, such as one that came twice.
 */
export function declaredLength(headers: Headers): number | null {
  const header = headers.get("content-length");
  if (header === null) return null;
  if (!/^\d{1,15}$/.test(header))
    throw new AppError("bad_request", "The header Content-Length must be one whole number.");
  return Number(header);
}

/** Reads bodies. Each counts with the length that it declares, or with the most that it may have. */
export class Bodies {
  readonly #room: Room;
  readonly #timing: typeof defaultTiming;
  readonly #readings = new Set<Reading>();
  #timer: Timer | null = null;

  /** @param limit bytes of all bodies at a time. */
  constructor(limit: number, timing = defaultTiming) {
    this.#room = new Room((bytes) => (bytes <= smallBytes ? limit : limit * largeShare));
    this.#timing = timing;
  }

  /** Bytes of the bodies that are being read. */
  get bytes(): number {
    return this.#room.bytes;
  }

  /**
   * @param options `limit` is the most that the body may have, `caller` by whom the share is counted.
   * @throws AppError `payload_too_large`, `bad_request` for one that breaks off or comes too slowly, `unavailable` when
   * there is no room.
   */
  async read(request: Request, options: { limit: number; caller: () => string }): Promise<Uint8Array> {
    const length = declaredLength(request.headers);
    if (length !== null && length > options.limit) throw tooLarge(options.limit);
    if (length === 0 || (length === null && request.body === null)) return new Uint8Array();
    const bytes = length ?? options.limit;
    const caller = bytes <= smallBytes ? null : options.caller();
    const reading = this.#room.has({ caller, bytes })
      ? this.#begin(caller, bytes)
      : await this.#wait({ caller, bytes, signal: request.signal });
    try {
      return await new Promise<Uint8Array>((resolve, reject) => {
        reading.cut = reject;
        const whole = length !== null && length <= smallBytes ? request.bytes() : readPieces(request, reading, options);
        whole.then(resolve, reject);
      });
    } catch (thrown) {
      if (thrown instanceof AppError) throw thrown;
      // The client went away in the middle; nobody will read this.
      throw new AppError("bad_request", "The body broke off.", { cause: thrown });
    } finally {
      this.#end(reading);
    }
  }

  #begin(caller: string | null, bytes: number): Reading {
    const now = performance.now();
    const reading: Reading = { caller, bytes, received: 0, startedAt: now, progressAt: now, cut: () => undefined };
    this.#readings.add(reading);
    this.#room.add({ caller, bytes });
    this.#timer ??= setInterval(() => this.#look(), this.#timing.lookMs).unref();
    return reading;
  }

  #end(reading: Reading): void {
    this.#readings.delete(reading);
    this.#room.add({ caller: reading.caller, bytes: -reading.bytes });
    this.#room.serve();
  }

  /** Makes room by ending slow bodies, or waits for it. The body counts from the moment in which there is room. */
  async #wait(wanted: { caller: string | null; bytes: number; signal: AbortSignal }): Promise<Reading> {
    const { caller, bytes } = wanted;
    this.#endSlow(caller, bytes);
    // Those that were ended are gone by then.
    await null;
    if (this.#room.has(wanted)) return this.#begin(caller, bytes);
    if (this.#room.waiting.length >= maxWaiting) throw tooMany();
    const patience = { ms: this.#timing.patienceMs, error: tooMany };
    return this.#room.wait(wanted, () => this.#begin(caller, bytes), patience);
  }

  /** Ends the slowest bodies until there is room, those of the caller alone where it is the caller's share that is full. */
  #endSlow(caller: string | null, bytes: number): void {
    const now = performance.now();
    const isOwn = caller !== null && this.#room.fits(bytes);
    const candidates = [...this.#readings]
      .filter((reading) => (!isOwn || reading.caller === caller) && now - reading.startedAt > this.#timing.slowMs)
      .map((reading) => ({ reading, rate: reading.received / (now - reading.startedAt) }))
      .filter(({ rate }) => rate < slowRate)
      .toSorted((a, b) => a.rate - b.rate);
    let wanted = bytes;
    for (const { reading } of candidates) {
      if (wanted <= 0) return;
      wanted -= reading.bytes;
      reading.cut(new SlowBody("bodies"));
    }
  }

  #look(): void {
    const now = performance.now();
    const { stalledMs } = this.#timing;
    for (const reading of this.#readings) {
      const { received, startedAt, progressAt, bytes } = reading;
      // Of a small body it is not known how much has come.
      const isSmall = bytes <= smallBytes;
      const isLate = now - startedAt >= stalledMs + (isSmall ? bytes : received) / minRate;
      if (isLate || (!isSmall && now - progressAt >= stalledMs)) reading.cut(new SlowBody());
    }
  }
}

/** Reads piece by piece, and stops as soon as there is too much. */
async function readPieces(request: Request, reading: Reading, { limit }: { limit: number }): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  for await (const chunk of request.body) {
    reading.received += chunk.byteLength;
    reading.progressAt = performance.now();
    if (reading.received > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooMany(): AppError {
  return overloaded("bodies", "Too many large bodies are being read. Try again in a moment.");
}
