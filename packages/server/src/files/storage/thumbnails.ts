/** Thumbnails: makes smaller images in a bounded queue, and keeps the thumbnails in a folder cache. */
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import type { StoredFile } from "@socle/protocol";
import { Admission, AppError, callerGone, isObject, overloaded, releasedMemory } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { FileBody } from "./driver.ts";
import { stillOf, uprightOf } from "./image-parts.ts";

/** The box that a thumbnail fits into; the sides are steps of the ladder, and null leaves a side free. */
export interface ThumbSize {
  readonly width: number | null;
  readonly height: number | null;
}

export interface Asker {
  /** A user id or an address: identifies the caller for a share of the queue. */
  readonly caller: string;
  /** Aborted when the caller has disconnected. */
  readonly signal: AbortSignal;
}

interface ThumbnailTask {
  readonly file: StoredFile;
  readonly size: ThumbSize;
  read(): Promise<FileBody>;
}

/** A thumbnail that waits or is being made, for all requests of the same thumbnail. */
interface Shared {
  readonly key: string;
  readonly result: PromiseWithResolvers<Blob>;
  /** Requests that wait for a turn: the first turn makes the thumbnail. */
  queued: number;
  /** Aborted when the thumbnail is being made: the other requests need no turn any more. */
  readonly begun: AbortController;
}

const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp"];
/** The most pixels of an image: while the image is made smaller, each pixel takes four bytes of memory. */
const maxPixels = 32_000_000;
/** The approximate memory for each pixel of the image while a thumbnail is made. */
const bytesPerPixel = 8;
/** Images with more pixels are made smaller one after another. */
const largePixels = 8_000_000;
/**
 * Images that are made smaller at a time. The work runs in the runtime's thread pool, which has a thread for each core.
 * Flushes of the database run in the same pool, and must find a free thread.
 */
const maxRunning = Math.max(1, Math.min(2, availableParallelism() - 1));
/** The sides of thumbnails, in pixels: a requested side is rounded up to the next of these sides. */
const ladder = [
  16, 32, 48, 64, 96, 100, 128, 150, 200, 256, 300, 400, 512, 600, 640, 800, 1024, 1200, 1600, 2000,
] as const;
const maxSide = 2_000;
/** The value for a side that is left free: an image with at most `maxPixels` has no longer side. */
const anySide = maxPixels;

const message = "Too many thumbnails wait to be made; try again in a moment.";
const form = `"thumb" must be WIDTHxHEIGHT, WIDTHx or xHEIGHT, each from 1 to ${maxSide}`;

/** The requested box, with each side rounded up to the ladder. @throws AppError `bad_request`. */
export function parseThumbSize(text: string): ThumbSize {
  const [whole, width = "", height = ""] = /^(\d{0,4})x(\d{0,4})$/.exec(text) ?? [];
  const sides = [width, height].map((side) => (side === "" ? null : Number(side)));
  const isGood = sides.every((side) => side === null || (side >= 1 && side <= maxSide));
  const [wide = null, high = null] = sides.map((side) => ladder.find((step) => step >= (side ?? maxSide + 1)) ?? null);
  if (whole === undefined || !isGood || (wide === null && high === null)) throw new AppError("bad_request", `${form}.`);
  return { width: wide, height: high };
}

/** A size, as written in the cache entry and the ETag. */
export function nameOfSize({ width, height }: ThumbSize): string {
  return `${width ?? ""}x${height ?? ""}`;
}

/** Bun's error about an image that cannot be made smaller, turned into an error for the caller. */
function explain(thrown: unknown): unknown {
  const code = isObject(thrown) ? thrown["code"] : null;
  if (code === "ERR_IMAGE_TOO_MANY_PIXELS")
    return new AppError("bad_request", `The image has more than ${maxPixels} pixels, and no thumbnails.`);
  if (code === "ERR_IMAGE_DECODE_FAILED" || code === "ERR_IMAGE_UNKNOWN_FORMAT" || code === "ERR_INVALID_STATE")
    return new AppError("bad_request", "The file is damaged: no image can be read.");
  return thrown;
}

/** Smaller pictures of images: made off the event loop at the first request, then kept on disk. */
export class Thumbnails {
  readonly #cache: FolderCache;
  readonly #admission: Admission;
  readonly #large = new Admission({ width: 1 });
  readonly #readMs: number;
  /** Thumbnails that wait or are being made; another caller of the same thumbnail waits for the same result. */
  readonly #running = new Map<string, Shared>();

  /** @param readMs the time limit for reading an image: a bucket may send the image too slowly, or never end. */
  constructor(options: { folder: string; cacheSize: number; maxWaiting: number; logger: Logger }, readMs = 30_000) {
    this.#readMs = readMs;
    this.#cache = new FolderCache(options);
    const { maxWaiting } = options;
    this.#admission = new Admission({
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
  async get(job: ThumbnailTask, asker: Asker): Promise<Blob> {
    const { file, size } = job;
    if (!imageTypes.includes(file.mimeType))
      throw new AppError("bad_request", `Thumbnails are of PNG, JPEG and WebP images only, not of ${file.mimeType}.`);
    if (asker.signal.aborted) throw callerGone();
    const name = nameOfSize(size);
    const cached = await this.#cache.get(file.id, name);
    if (cached !== null) return cached;
    if (asker.signal.aborted) throw callerGone();
    return this.#wait(this.#sharedOf(`${file.id}/${name}`), job, asker);
  }

  /** A thumbnail that was made before; null without the thumbnail. */
  kept(id: string, size: ThumbSize): Promise<Blob | null> {
    return this.#cache.get(id, nameOfSize(size));
  }

  async forget(id: string): Promise<void> {
    await this.#cache.forget(id);
  }

  #sharedOf(key: string): Shared {
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const shared: Shared = { key, result: Promise.withResolvers(), queued: 0, begun: new AbortController() };
    // After the last caller has gone, a failure has no listener.
    shared.result.promise.catch(() => undefined);
    this.#running.set(key, shared);
    return shared;
  }

  #remove(shared: Shared): void {
    if (this.#running.get(shared.key) === shared) this.#running.delete(shared.key);
  }

  /**
   * When the last caller disconnects, the thumbnail leaves the queue; a thumbnail that is being made is finished and
   * kept.
   */
  async #wait(shared: Shared, job: ThumbnailTask, asker: Asker): Promise<Blob> {
    const { signal } = asker;
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(callerGone());
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    else if (!shared.begun.signal.aborted) this.#queue(shared, job, asker);
    try {
      return await Promise.race([shared.result.promise, gone]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Waits for a turn of the caller. A caller with a full queue waits for another request's turn. */
  #queue(shared: Shared, job: ThumbnailTask, { caller, signal }: Asker): void {
    const { begun, result } = shared;
    shared.queued += 1;
    const leaving = AbortSignal.any([signal, begun.signal]);
    const turn = this.#admission.run(() => this.#makeOnce(shared, job), { caller, signal: leaving });
    turn.catch((thrown: unknown) => {
      shared.queued -= 1;
      if (begun.signal.aborted || shared.queued > 0) return;
      this.#remove(shared);
      result.reject(signal.aborted ? overloaded("thumbnails", message) : thrown);
    });
  }

  /** The work of the first turn; later turns find the work begun. */
  async #makeOnce(shared: Shared, job: ThumbnailTask): Promise<void> {
    const { begun, result } = shared;
    if (begun.signal.aborted) return;
    begun.abort();
    try {
      const thumbnail = await this.#make(job);
      await this.#cache.put(job.file.id, nameOfSize(job.size), thumbnail);
      result.resolve(thumbnail);
    } catch (thrown) {
      result.reject(thrown);
    } finally {
      this.#remove(shared);
    }
  }

  async #make({ read, size: { width, height } }: ThumbnailTask): Promise<Blob> {
    const image = Buffer.from(await new Response(await readWithin(read, this.#readMs)).arrayBuffer());
    const source = stillOf(image);
    const { rotate, mirror } = uprightOf(image);
    const resize = (): Promise<Blob> => {
      const pipeline = new Bun.Image(source, { maxPixels });
      if (rotate > 0) pipeline.rotate(rotate);
      if (mirror) pipeline.flop();
      return pipeline.resize(width ?? anySide, height ?? anySide, { fit: "inside", withoutEnlargement: true }).blob();
    };
    let pixels = 0;
    try {
      const { width: wide, height: high } = await new Bun.Image(source, { maxPixels }).metadata();
      pixels = wide * high;
      return await (pixels > largePixels ? this.#large.run(resize) : resize());
    } catch (thrown) {
      throw explain(thrown);
    } finally {
      // Memory for the decoded image, the smaller image, and the encoder.
      releasedMemory(pixels * bytesPerPixel);
    }
  }
}

/** The bytes of an image. @throws AppError `unavailable` when the bytes do not come in time. */
async function readWithin(read: ThumbnailTask["read"], milliseconds: number): Promise<Blob | Uint8Array> {
  const late = new AbortController();
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.abort();
    reject(new AppError("unavailable", "The image could not be read in time."));
  }, milliseconds);
  try {
    const body = await Promise.race([read(), isLate]);
    if (!(body instanceof ReadableStream)) return body;
    // The signal cancels the stream.
    const bytes = new Response(body.pipeThrough(new TransformStream(), { signal: late.signal })).bytes();
    return await Promise.race([bytes, isLate]);
  } finally {
    // A timer that waits on would keep the bytes in memory, through the promise that lost the race.
    clearTimeout(timer);
  }
}

interface CacheEntry {
  readonly path: string;
  readonly size: number;
  readonly time: number;
}

/** Files that can be made again, in a folder with a subfolder for each group; past the size of the cache the oldest go. */
export class FolderCache {
  readonly #options: { readonly folder: string; readonly cacheSize: number; readonly logger: Logger };
  /** Bytes; null until the folder was looked at. */
  #size: number | null = null;
  #count = 0;
  /** The folder changes step by step, so that the size stays right and no folder goes while a file comes. */
  readonly #admission = new Admission({ width: 1 });

  constructor(options: { folder: string; cacheSize: number; logger: Logger }) {
    this.#options = options;
  }

  /** A file on disk: the runtime reads the file for the client, so that memory holds no copies for clients that hang up. */
  async get(group: string, name: string): Promise<Blob | null> {
    const file = Bun.file(join(this.#options.folder, group, name));
    return (await file.exists()) ? file : null;
  }

  /** Keeps a file, under the name only once the file is complete. A failure is logged: the file can be made again. */
  async put(group: string, name: string, content: Blob): Promise<void> {
    const { folder: parent, cacheSize, logger } = this.#options;
    if (content.size > cacheSize) return;
    const folder = join(parent, group);
    this.#count += 1;
    const partial = join(parent, `${this.#count}.part`);
    try {
      await this.#admission.run(async () => {
        await mkdir(folder, { recursive: true });
        await Bun.write(partial, content);
        await rename(partial, join(folder, name));
        // The first time, earlier files count too; the new file is among the entries.
        if (this.#size === null) this.#size = sizeOf(await this.#entries());
        else this.#size += content.size;
        if (this.#size > cacheSize) await this.#trim();
      });
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      logger.warn("A thumbnail could not be kept", { error });
    }
  }

  async forget(group: string): Promise<void> {
    try {
      await this.#admission.run(() => rm(join(this.#options.folder, group), { recursive: true, force: true }));
    } catch (error) {
      this.#options.logger.warn("A thumbnail could not be removed", { error });
    }
  }

  async #entries(): Promise<CacheEntry[]> {
    const entries: CacheEntry[] = [];
    for (const item of await readdir(this.#options.folder, { recursive: true, withFileTypes: true })) {
      if (!item.isFile()) continue;
      const path = join(item.parentPath, item.name);
      const found = await stat(path).catch(() => null);
      if (found !== null) entries.push({ path, size: found.size, time: found.mtimeMs });
    }
    return entries;
  }

  /** Removes the oldest files down to three quarters of the bound, so that the next trim is not due at once. */
  async #trim(): Promise<void> {
    const entries = (await this.#entries()).sort((a, b) => a.time - b.time);
    let size = sizeOf(entries);
    for (const entry of entries) {
      if (size <= this.#options.cacheSize * 0.75) break;
      await rm(entry.path, { force: true });
      // The last file of a folder takes the folder away.
      await rmdir(dirname(entry.path)).catch(() => undefined);
      size -= entry.size;
    }
    this.#size = size;
  }
}

function sizeOf(entries: readonly CacheEntry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
