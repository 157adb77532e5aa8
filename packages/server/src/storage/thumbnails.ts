import type { StoredFile } from "@socle/protocol";
import { AppError, Gate, isObject } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { FileBody } from "./driver.ts";
import { FolderCache } from "./folder-cache.ts";

/** The box that a thumbnail fits into; null leaves that side free. */
export interface ThumbSize {
  readonly width: number | null;
  readonly height: number | null;
}

const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp"];
/** Pixels of an image that is made smaller: while it is, each takes four bytes of memory. */
const maxPixels = 32_000_000;
/** Images that are made smaller at a time. */
const maxRunning = 2;
/** The longest side of a thumbnail. */
const maxSide = 2_000;
/** For the side that is left free: no image of so few pixels has a longer one. */
const anySide = maxPixels;

const form = `"thumb" must be WIDTHxHEIGHT, WIDTHx or xHEIGHT, each from 1 to ${maxSide}`;

/** @throws AppError `bad_request`. */
export function parseThumbSize(text: string): ThumbSize {
  const [whole, width = "", height = ""] = /^(\d{0,4})x(\d{0,4})$/.exec(text) ?? [];
  const sides = [width, height].map((side) => (side === "" ? null : Number(side)));
  const isGood = sides.every((side) => side === null || (side >= 1 && side <= maxSide));
  const [wide = null, high = null] = sides;
  if (whole === undefined || !isGood || (wide === null && high === null)) throw new AppError("bad_request", `${form}.`);
  return { width: wide, height: high };
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
  readonly #gate = new Gate(maxRunning);
  /** Being made; whoever asks for the same meanwhile waits for it. */
  readonly #running = new Map<string, Promise<Blob>>();

  constructor(options: { folder: string; cacheSize: number; logger: Logger }) {
    this.#cache = new FolderCache(options);
  }

  /** @throws AppError `bad_request` for what is no image, is damaged or has too many pixels. */
  async get(file: StoredFile, { width, height }: ThumbSize, read: () => Promise<FileBody>): Promise<Blob> {
    if (!imageTypes.includes(file.mimeType))
      throw new AppError(
        "bad_request",
        `There are thumbnails of PNG, JPEG and WebP images only, not of ${file.mimeType}.`,
      );
    const name = `${width ?? ""}x${height ?? ""}`;
    const cached = await this.#cache.get(file.id, name);
    if (cached !== null) return cached;
    const key = `${file.id}/${name}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const made = this.#gate.run(() => make(read, { width, height })).finally(() => this.#running.delete(key));
    this.#running.set(key, made);
    const thumbnail = await made;
    await this.#cache.put(file.id, name, thumbnail);
    return thumbnail;
  }

  /** Removes the thumbnails of a file that is gone. */
  async forget(id: string): Promise<void> {
    await this.#cache.forget(id);
  }
}

async function make(read: () => Promise<FileBody>, { width, height }: ThumbSize): Promise<Blob> {
  const body = await read();
  const source = body instanceof ReadableStream ? await new Response(body).bytes() : body;
  try {
    return await new Bun.Image(source, { maxPixels })
      .resize(width ?? anySide, height ?? anySide, { fit: "inside", withoutEnlargement: true })
      .blob();
  } catch (thrown) {
    throw explain(thrown);
  }
}
