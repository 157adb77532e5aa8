/** `/api/storage/…` (spec, "Storage endpoints"): upload, download, thumbnails, links, deletion. */
import { type FileLink, type StoredFile, VISIBILITIES } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
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
import type { BodyReadLimiter } from "../body-read-limiter.ts";
import type { Exchange } from "../exchange.ts";
import { type AnswerableFile, answerFile, disposition, uploadedType } from "../file-response.ts";
import {
  anybody,
  bearers,
  bytes,
  type Methods,
  noContent,
  ownRoute,
  parameter,
  type Routes,
  readByHandler,
  route,
} from "../route.ts";
import { leastFileSize, readUploadForm } from "../upload-form.ts";

const thumb = parameter("The size of a thumbnail of a picture, such as 200x200.");

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

interface FileReads {
  readonly storage: Storage;
  /** Finds or makes a thumbnail. */
  readonly thumbnail: (file: StoredFile, size: ThumbSize, asker: () => Promise<Asker>) => Promise<Blob>;
}

/** The file of an address that may be a link: a link is for all holders, whatever the token. */
async function admitLink(storage: Storage, exchange: Exchange): Promise<StoredFile> {
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

/** The thumbnail of a file. */
async function thumbnailOf(api: FileReads, exchange: Exchange, file: StoredFile): Promise<Content> {
  const size = parseThumbSize(exchange.query("thumb") ?? "");
  const image = await api.thumbnail(file, size, async () => ({
    caller: await callerOf(exchange),
    signal: exchange.request.signal,
  }));
  return {
    size: image.size,
    etag: `"${file.id}-${nameOfSize(size)}"`,
    read: async (range) => (range === null ? image : image.slice(range.start, range.end)),
  };
}

/** The downloads. */
export function storageReads(api: FileReads): { readonly "/api/storage/:id": Methods } {
  return {
    "/api/storage/:id": {
      GET: ownRoute({
        summary: "Download a file",
        description: "Public files need no token. Range and conditional requests are possible.",
        access: "anybody",
        keys: true,
        query: { thumb, expires: parameter("Of a link."), signature: parameter("Of a link.") },
        answers: {
          200: bytes("The content.", ["ETag", "Last-Modified", "Content-Disposition"]),
          206: bytes("A part of the content.", ["Content-Range"]),
          304: noContent("The client has the content."),
        },
        errors: [401, 403, 412, 416],
        async handle(exchange) {
          const { storage } = api;
          const file = await admitLink(storage, exchange);
          const whole: Content = { size: file.size, etag: `"${file.id}"`, read: (range) => storage.read(file, range) };
          const content = exchange.query("thumb") === null ? whole : await thumbnailOf(api, exchange, file);
          return answerFile(exchange, { ...content, modifiedAt: Date.parse(file.createdAt), headers: headersOf(file) });
        },
      }),
    },
  };
}

export function storageRoutes(api: { storage: Storage; uploads: BodyReadLimiter }): Routes {
  const reads = storageReads({
    get storage() {
      return api.storage;
    },
    thumbnail: async (file, size, asker) => api.storage.thumbnail(file, size, await asker()),
  });
  return {
    "/api/storage/upload": {
      POST: route({
        summary: "Upload a file",
        access: bearers("upload a file"),
        keys: true,
        rate: "upload",
        body: readByHandler({
          "multipart/form-data": wire.object({
            file: { ...wire.string, schema: { type: "string", contentMediaType: "application/octet-stream" } },
            visibility: wire.optional(wire.enumOf(VISIBILITIES)),
          }),
        }),
        answers: { 201: wire.storedFile },
        handle(exchange, bearer, _form) {
          const { request } = exchange;
          const caller = exchange.callerKey(bearer);
          const read = (upload: Upload): ReturnType<typeof readUploadForm> =>
            api.uploads.run({ caller, signal: request.signal }, (inTurns) => readUploadForm(request, upload, inTurns));
          return exchange.untilStop(api.storage.store(bearer, read, { leastSize: leastFileSize(request) }));
        },
      }),
    },
    "/api/storage/:id": {
      ...reads["/api/storage/:id"],
      DELETE: ownRoute({
        summary: "Delete a file",
        access: "user",
        keys: true,
        answers: { 204: noContent() },
        async handle(exchange) {
          await api.storage.delete(exchange.param("id"), await exchange.principal());
          return exchange.empty();
        },
      }),
    },
    "/api/storage/:id/link": {
      POST: route({
        summary: "Make a link that needs no token",
        access: anybody,
        keys: true,
        query: { thumb },
        answers: { 200: wire.fileLink },
        errors: [401, 403],
        async handle(exchange): Promise<FileLink> {
          const { id } = await admit(api.storage, exchange);
          const size = exchange.query("thumb");
          const asked = size === null ? "" : `&thumb=${nameOfSize(parseThumbSize(size))}`;
          const { url, expiresAt } = api.storage.links.make(id);
          return { url: `${url}${asked}`, expiresAt };
        },
      }),
    },
  };
}
