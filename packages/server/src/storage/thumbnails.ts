import { availableParallelism } from "node:os";
import type { StoredFile } from "@socle/protocol";
import { AppError, callerGone, FairGate, Gate, isObject } from "../kernel/index.ts";
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

/** A thumbnail that waits to be made or is being made, for all callers who asked for it. */
interface Shared {
  readonly result: Promise<Blob>;
  readonly giveUp: AbortController;
  callers: number;
  hasStarted: boolean;
}

const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp"];
/** Pixels of an image that is made smaller: while it is, each takes four bytes of memory. */
const maxPixels = 32_000_000;
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

/** What Bun says of an image that cannot be made smaller, in words for whoever asked. */
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
  /** Waiting or being made; a further caller who asks for the same waits for it. */
  readonly #running = new Map<string, Shared>();

  constructor(options: { folder: string; cacheSize: number; maxWaiting: number; logger: Logger }) {
    this.#cache = new FolderCache(options);
    const { maxWaiting } = options;
    this.#gate = new FairGate({
      limit: "thumbnails",
      message: "Too many thumbnails wait to be made; try again in a moment.",
      width: maxRunning,
      share: 1,
      maxWaiting,
      waitingShare: Math.ceil((maxWaiting * 3) / 4),
    });
  }

  /**
   * @throws AppError `bad_request` for what is no image, is damaged or has too many pixels, `unavailable` when too many
   * thumbnails wait to be made.
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
    const shared = this.#running.get(key) ?? this.#begin(key, job, asker.caller);
    return this.#wait(key, shared, asker.signal);
  }

  /** Removes the thumbnails of a file that is gone. */
  async forget(id: string): Promise<void> {
    await this.#cache.forget(id);
  }

  #begin(key: string, job: Job, caller: string): Shared {
    const giveUp = new AbortController();
    const work = async (): Promise<Blob> => {
      shared.hasStarted = true;
      const thumbnail = await make(job, this.#large);
      await this.#cache.put(job.file.id, nameOfSize(job.size), thumbnail);
      return thumbnail;
    };
    const result = this.#gate.run(caller, work, giveUp.signal).finally(() => this.#remove(key, shared));
    // With the last caller gone, nobody hears of a failure.
    result.catch(() => undefined);
    const shared: Shared = { result, giveUp, callers: 0, hasStarted: false };
    this.#running.set(key, shared);
    return shared;
  }

  #remove(key: string, shared: Shared): void {
    if (this.#running.get(key) === shared) this.#running.delete(key);
  }

  /** When the last caller disconnects, the thumbnail leaves the queue; one that is being made is finished and kept. */
  async #wait(key: string, shared: Shared, signal: AbortSignal): Promise<Blob> {
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(callerGone());
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    shared.callers += 1;
    try {
      return await Promise.race([shared.result, gone]);
    } finally {
      signal.removeEventListener("abort", leave);
      shared.callers -= 1;
      if (shared.callers === 0 && !shared.hasStarted) {
        this.#remove(key, shared);
        shared.giveUp.abort();
      }
    }
  }
}

async function make({ read, size: { width, height } }: Job, large: Gate): Promise<Blob> {
  const body = await read();
  const source = body instanceof ReadableStream ? await new Response(body).bytes() : body;
  const resize = (): Promise<Blob> =>
    new Bun.Image(source, { maxPixels })
      .resize(width ?? anySide, height ?? anySide, { fit: "inside", withoutEnlargement: true })
      .blob();
  try {
    const { width: wide, height: high } = await new Bun.Image(source, { maxPixels }).metadata();
    return await (wide * high > largePixels ? large.run(resize) : resize());
  } catch (thrown) {
    throw explain(thrown);
  }
}
