/** Thumbnails: makes smaller images in a bounded queue, and keeps them in a folder cache. */
import { availableParallelism } from "node:os";
import type { StoredFile } from "@socle/protocol";
import { AppError, callerGone, FairGate, Gate, isObject, overloaded, releasedMemory } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { FileBody } from "./driver.ts";
import { FolderCache } from "./folder-cache.ts";

/** The box that a thumbnail fits into; its sides are of the ladder, null leaves that side free. */
export interface ThumbSize {
  readonly width: number | null;
  readonly height: number | null;
}

/** The caller who asks for a thumbnail. */
export interface Asker {
  /** A user id or an address: the share of the queue counts by it. */
  readonly caller: string;
  /** Aborted when the caller has disconnected. */
  readonly signal: AbortSignal;
}

/** The image that a thumbnail is made of, and the size of the thumbnail. */
interface Job {
  readonly file: StoredFile;
  readonly size: ThumbSize;
  /** Reads the image. */
  read(): Promise<FileBody>;
}

/** A caller's place in the queue for a thumbnail. */
interface Place {
  /** Requests of the caller that wait. */
  requests: number;
  isQueued: boolean;
  /** Aborted when the last request has gone. */
  readonly leaving: AbortController;
}

/** A thumbnail that waits to be made or is being made, for all callers who asked for it. */
interface Shared {
  readonly result: PromiseWithResolvers<Blob>;
  /** By caller: each waits for its own turn, and the first turn makes the thumbnail. */
  readonly places: Map<string, Place>;
  hasStarted: boolean;
}

const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp"];
/** Pixels of an image that is made smaller: while it is, each takes four bytes of memory. */
const maxPixels = 32_000_000;
/** Memory that making a thumbnail takes for each pixel of the image, about. */
const bytesPerPixel = 8;
/** Images with more pixels are made smaller one at a time. */
const largePixels = 8_000_000;
/**
 * Images that are made smaller at a time. The work runs in the runtime's thread pool, which has a thread for each core;
 * flushes of the database run there, too, and must find one free.
 */
const maxRunning = Math.max(1, Math.min(2, availableParallelism() - 1));
/** The sides that thumbnails have, in pixels: a side that is asked for is rounded up to one of these. */
const ladder = [
  16, 32, 48, 64, 96, 100, 128, 150, 200, 256, 300, 400, 512, 600, 640, 800, 1024, 1200, 1600, 2000,
] as const;
/** The longest side of a thumbnail. */
const maxSide = 2_000;
/** For the side that is left free: no image of so few pixels has a longer one. */
const anySide = maxPixels;

/** How long the image may take to be read: a bucket may send it too slowly, or never end. */
const defaultReadMs = 30_000;
const message = "Too many thumbnails wait to be made; try again in a moment.";
const form = `"thumb" must be WIDTHxHEIGHT, WIDTHx or xHEIGHT, each from 1 to ${maxSide}`;

/** The box that is asked for, with each side rounded up to the ladder. @throws AppError `bad_request`. */
export function parseThumbSize(text: string): ThumbSize {
  const [whole, width = "", height = ""] = /^(\d{0,4})x(\d{0,4})$/.exec(text) ?? [];
  const sides = [width, height].map((side) => (side === "" ? null : Number(side)));
  const isGood = sides.every((side) => side === null || (side >= 1 && side <= maxSide));
  const [wide = null, high = null] = sides.map((side) => ladder.find((step) => step >= (side ?? maxSide + 1)) ?? null);
  if (whole === undefined || !isGood || (wide === null && high === null)) throw new AppError("bad_request", `${form}.`);
  return { width: wide, height: high };
}

/** A size as its cache entry and its ETag have it. */
export function nameOfSize({ width, height }: ThumbSize): string {
  return `${width ?? ""}x${height ?? ""}`;
}

/** Bun's error about an image that cannot be made smaller, as an error for the caller. */
function explain(thrown: unknown): unknown {
  const code = isObject(thrown) ? thrown["code"] : null;
  if (code === "ERR_IMAGE_TOO_MANY_PIXELS")
    return new AppError("bad_request", `The image has more than ${maxPixels} pixels; there are no thumbnails of it.`);
  if (code === "ERR_IMAGE_DECODE_FAILED" || code === "ERR_IMAGE_UNKNOWN_FORMAT" || code === "ERR_INVALID_STATE")
    return new AppError("bad_request", "The file is damaged; it cannot be read as an image.");
  return thrown;
}

/** Smaller pictures of images: made off the event loop when first asked for, then kept on disk. */
export class Thumbnails {
  readonly #cache: FolderCache;
  readonly #gate: FairGate;
  readonly #large = new Gate(1);
  readonly #readMs: number;
  /** Waiting or being made; a further caller who asks for the same waits for it. */
  readonly #running = new Map<string, Shared>();

  /** @param readMs how long the image may take to be read. */
  constructor(
    options: { folder: string; cacheSize: number; maxWaiting: number; logger: Logger },
    readMs = defaultReadMs,
  ) {
    this.#readMs = readMs;
    this.#cache = new FolderCache(options);
    const { maxWaiting } = options;
    this.#gate = new FairGate({
      limit: "thumbnails",
      message,
      width: maxRunning,
      share: 1,
      maxWaiting,
      waitingShare: Math.ceil((maxWaiting * 3) / 4),
    });
  }

  /**
   * @throws AppError `bad_request` for a file that is no image, is damaged or has too many pixels, `unavailable` when
   * too many thumbnails wait to be made or the image cannot be read in time.
   */
  async get(job: Job, asker: Asker): Promise<Blob> {
    const { file, size } = job;
    if (!imageTypes.includes(file.mimeType))
      throw new AppError(
        "bad_request",
        `There are thumbnails of PNG, JPEG and WebP images only, not of ${file.mimeType}.`,
      );
    const name = nameOfSize(size);
    const cached = await this.#cache.get(file.id, name);
    if (cached !== null) return cached;
    const key = `${file.id}/${name}`;
    return this.#wait(key, job, asker);
  }

  /** Removes the thumbnails of a file that is gone. */
  async forget(id: string): Promise<void> {
    await this.#cache.forget(id);
  }

  #sharedOf(key: string): Shared {
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const shared: Shared = { result: Promise.withResolvers(), places: new Map(), hasStarted: false };
    // With the last caller gone, nobody hears of a failure.
    shared.result.promise.catch(() => undefined);
    this.#running.set(key, shared);
    return shared;
  }

  #remove(key: string, shared: Shared): void {
    if (this.#running.get(key) === shared) this.#running.delete(key);
  }

  /** When the last caller disconnects, the thumbnail leaves the queue; one that is being made is finished and kept. */
  async #wait(key: string, job: Job, { caller, signal }: Asker): Promise<Blob> {
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(callerGone());
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    const shared = this.#sharedOf(key);
    const place = shared.places.get(caller) ?? this.#enter(key, job, { caller, shared });
    place.requests += 1;
    try {
      return await Promise.race([shared.result.promise, gone]);
    } finally {
      signal.removeEventListener("abort", leave);
      place.requests -= 1;
      if (place.requests === 0 && !shared.hasStarted) {
        shared.places.delete(caller);
        if (shared.places.size === 0) this.#remove(key, shared);
        place.leaving.abort();
      }
    }
  }

  /** Lets a caller wait for its turn. A caller whose queue is full waits for the turn of another. */
  #enter(key: string, job: Job, { caller, shared }: { caller: string; shared: Shared }): Place {
    const place: Place = { requests: 0, isQueued: !shared.hasStarted, leaving: new AbortController() };
    shared.places.set(caller, place);
    if (shared.hasStarted) return place;
    const turn = this.#gate.run(caller, () => this.#makeOnce(key, job, shared), place.leaving.signal);
    turn.catch((thrown: unknown) => {
      place.isQueued = false;
      if (shared.hasStarted || [...shared.places.values()].some(({ isQueued }) => isQueued)) return;
      this.#remove(key, shared);
      shared.result.reject(place.leaving.signal.aborted ? busy() : thrown);
    });
    return place;
  }

  /** The work of the first turn; a further one finds that it is being made. */
  async #makeOnce(key: string, job: Job, shared: Shared): Promise<void> {
    if (shared.hasStarted) return;
    shared.hasStarted = true;
    // The other callers need no turn any more.
    for (const { leaving } of shared.places.values()) leaving.abort();
    try {
      const thumbnail = await make(job, { large: this.#large, readMs: this.#readMs });
      await this.#cache.put(job.file.id, nameOfSize(job.size), thumbnail);
      shared.result.resolve(thumbnail);
    } catch (thrown) {
      shared.result.reject(thrown);
    } finally {
      this.#remove(key, shared);
    }
  }
}

function busy(): AppError {
  return overloaded("thumbnails", message);
}

/** The bytes of an image. @throws AppError `unavailable` when they do not come in time. */
async function readWithin(read: Job["read"], milliseconds: number): Promise<Blob | Uint8Array> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new AppError("unavailable", "The image could not be read in time.")),
    milliseconds,
  );
  try {
    const body = await Promise.race([read(), late]);
    return body instanceof ReadableStream ? await readPieces(body, late) : body;
  } finally {
    clearTimeout(timer);
  }
}

/** The bytes of a stream. When `late` rejects, the stream is cancelled. */
async function readPieces(body: ReadableStream<Uint8Array>, late: Promise<never>): Promise<Uint8Array> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  try {
    while (true) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return Buffer.concat(chunks);
      chunks.push(value);
    }
  } finally {
    // After the last byte this does nothing.
    reader.cancel().catch(() => undefined);
  }
}

async function make(
  { read, size: { width, height } }: Job,
  { large, readMs }: { large: Gate; readMs: number },
): Promise<Blob> {
  const source = await readWithin(read, readMs);
  const resize = (): Promise<Blob> =>
    new Bun.Image(source, { maxPixels })
      .resize(width ?? anySide, height ?? anySide, { fit: "inside", withoutEnlargement: true })
      .blob();
  let pixels = 0;
  try {
    const { width: wide, height: high } = await new Bun.Image(source, { maxPixels }).metadata();
    pixels = wide * high;
    return await (pixels > largePixels ? large.run(resize) : resize());
  } catch (thrown) {
    throw explain(thrown);
  } finally {
    // The decoded image, the smaller one, and the memory of its encoder.
    releasedMemory(pixels * bytesPerPixel);
  }
}
