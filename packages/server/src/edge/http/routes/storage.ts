/** `/api/storage/…` (spec, "Storage endpoints"): upload, download, thumbnails, links, deletion. */
import type { FileLink, StoredFile } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError } from "../../../base/kernel/index.ts";
import {
  type Asker,
  missingFile,
  nameOfSize,
  parseThumbSize,
  type Storage,
  type ThumbSize,
  type Upload,
} from "../../../files/storage/index.ts";
import { BodyReadLimiter } from "../body-read-limiter.ts";
import type { Exchange } from "../exchange.ts";
import { type AnswerableFile, answerFile, disposition, uploadedType } from "../file-response.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Methods, Routes } from "../router.ts";
import { leastFileSize, readUploadForm } from "../upload-form.ts";

/** Uploads that are read at a time. */
const uploadsAtATime = 4;

/** The bytes of a file, or of the thumbnail. */
type Content = Pick<AnswerableFile, "size" | "etag" | "read">;

/** An uploaded file runs no code and loads nothing in the name of this origin. */
const sandbox = "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox";

function headersOf(file: StoredFile): Record<string, string> {
  return {
    "Content-Type": uploadedType(file.mimeType),
    "Content-Disposition": disposition(file.mimeType, file.filename),
    "Content-Security-Policy": sandbox,
    // Asked for again each time: a cache has nothing for a user after the logout, nor of a file that was public.
    "Cache-Control": file.visibility === "public" ? "public, no-cache" : "private, no-cache",
  };
}

/** The caller as counted by shares; a token that is not valid does not count, because a public file asks for no token. */
async function callerOf(exchange: Exchange): Promise<string> {
  try {
    return exchange.callerKey(await exchange.principal());
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    return exchange.callerKey(null);
  }
}

/** The file of a path, when the caller may have the file. A public file is for all, whatever the token. */
async function admit(storage: Storage, exchange: Exchange): Promise<StoredFile> {
  const file = storage.find(exchange.param("id"));
  if (file?.visibility === "public") return file;
  const principal = await exchange.principal();
  if (file === null) throw missingFile();
  await storage.authorize(file, exchange.reader(principal));
  return file;
}

/** The downloads. @param options `thumbnail` finds or makes a thumbnail. */
export function storageReads(options: {
  storage: Storage;
  thumbnail: (file: StoredFile, size: ThumbSize, asker: () => Promise<Asker>) => Promise<Blob>;
}): { readonly "/api/storage/:id": Methods } {
  const { storage } = options;

  /** The same for an address that may be a link: a link is for all holders, whatever the token. */
  async function admitLink(exchange: Exchange): Promise<StoredFile> {
    const link = { expires: exchange.query("expires"), signature: exchange.query("signature") };
    if (link.signature === null) return admit(storage, exchange);
    const id = exchange.param("id");
    const file = storage.links.isValid(id, link) ? storage.find(id) : null;
    if (file !== null) return file;
    return admit(storage, exchange).catch((thrown: unknown) => {
      if (!(thrown instanceof AppError) || thrown.code !== "unauthorized") throw thrown;
      throw new AppError(
        "unauthorized",
        "The link has expired, or is no link to this file. Request another link, or sign in.",
      );
    });
  }

  async function thumbnail(exchange: Exchange, file: StoredFile, asked: string): Promise<Content> {
    const size = parseThumbSize(asked);
    const image = await options.thumbnail(file, size, async () => ({
      caller: await callerOf(exchange),
      signal: exchange.request.signal,
    }));
    return {
      size: image.size,
      etag: `"${file.id}-${nameOfSize(size)}"`,
      read: async (range) => (range === null ? image : image.slice(range.start, range.end)),
    };
  }

  return {
    "/api/storage/:id": {
      async GET(exchange) {
        const file = await admitLink(exchange);
        const size = exchange.query("thumb");
        const whole: Content = { size: file.size, etag: `"${file.id}"`, read: (range) => storage.read(file, range) };
        const content = size === null ? whole : await thumbnail(exchange, file, size);
        return answerFile(exchange, { ...content, modifiedAt: Date.parse(file.createdAt), headers: headersOf(file) });
      },
    },
  };
}

export function storageRoutes(options: { storage: Storage; rates: RateLimiter; config: Config }): Routes {
  const { storage, rates, config } = options;
  const limiter = new BodyReadLimiter({ width: uploadsAtATime, maxWaiting: config["limits.uploads"] });

  return {
    "/api/storage/upload": rates.limit("upload", {
      async POST(exchange) {
        const principal = await exchange.principal();
        if (principal === null) throw new AppError("unauthorized", "To upload a file, sign in.");
        const { request } = exchange;
        const caller = exchange.callerKey(principal);
        const read = (upload: Upload): ReturnType<typeof readUploadForm> =>
          limiter.run({ caller, signal: request.signal }, (inTurns) => readUploadForm(request, upload, inTurns));
        const file = await exchange.untilStop(storage.store(principal, read, leastFileSize(request)));
        return exchange.json(201, file);
      },
    }),
    "/api/storage/:id": {
      ...storageReads({
        storage,
        thumbnail: async (file, size, asker) => storage.thumbnail(file, size, await asker()),
      })["/api/storage/:id"],
      async DELETE(exchange) {
        await storage.delete(exchange.param("id"), await exchange.principal());
        return exchange.empty();
      },
    },
    "/api/storage/:id/link": {
      async POST(exchange) {
        const { id } = await admit(storage, exchange);
        const size = exchange.query("thumb");
        const thumb = size === null ? "" : `&thumb=${nameOfSize(parseThumbSize(size))}`;
        const { url, expiresAt } = storage.links.make(id);
        const link: FileLink = { url: `${url}${thumb}`, expiresAt };
        return exchange.json(200, link);
      },
    },
  };
}
