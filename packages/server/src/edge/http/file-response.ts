/** Response with a file: conditional requests, ranges, content codings, and the headers that name the type. */
import { AppError } from "../../base/kernel/index.ts";
import type { ByteRange, FileBody } from "../../files/storage/index.ts";
import type { Exchange } from "./exchange.ts";
import { allowsRange, checkConditions, parseRange, type Validators } from "./headers.ts";

export interface AnswerableFile extends Validators {
  readonly size: number;
  /** The headers of the file, for example Content-Type. */
  readonly headers: Readonly<Record<string, string>>;
  read(range: ByteRange | null): Promise<FileBody>;
}

/** Answers a file: whole, a part of the file, or 304 for a client that has the file. */
export async function answerFile(exchange: Exchange, file: AnswerableFile): Promise<Response> {
  const { method, headers: asked } = exchange.request;
  const { size, etag, modifiedAt } = file;
  const headers: Record<string, string> = {
    "Accept-Ranges": "bytes",
    ...file.headers,
    ETag: etag,
    "Last-Modified": new Date(modifiedAt).toUTCString(),
  };
  const outcome = checkConditions(asked, file);
  if (outcome === 412)
    return exchange.error(new AppError("bad_request", "The file does not match the conditions of the request."), {
      status: 412,
    });
  if (outcome === 304) return exchange.respond(304, null, headers);
  if (method === "HEAD") return exchange.respond(200, null, { ...headers, "Content-Length": String(size) });
  const range = allowsRange(asked, file) ? parseRange(asked.get("range"), size) : null;
  if (range === "unsatisfiable")
    return exchange.error(new AppError("bad_request", `The file has ${size} bytes; there are none in that range.`), {
      status: 416,
      headers: { "Content-Range": `bytes */${size}` },
    });
  if (range === null)
    return exchange.respond(200, await file.read(null), { ...headers, "Content-Length": String(size) });
  const { start, end } = range;
  return exchange.respond(206, await file.read(range), {
    ...headers,
    "Content-Length": String(end - start),
    "Content-Range": `bytes ${start}-${end - 1}/${size}`,
  });
}

/** Types that a browser shows without running anything. All others are to be saved. */
const shown = /^(image\/(?!svg)[^+]+|audio\/.+|video\/.+|text\/(plain|csv|markdown)|application\/(pdf|json))$/;

/** Content-Disposition (RFC 6266) with a name in any script (RFC 8187, which RFC 5987 became). */
export function disposition(mimeType: string, filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(filename).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${shown.test(mimeType) ? "inline" : "attachment"}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** Types that a browser runs as a script (WHATWG MIME Sniffing, "JavaScript MIME type"). */
const script = /^(application|text)\/(x-)?(java|ecma|live|j)script/i;

/** The type of a file that a stranger has uploaded: a page of this origin cannot load the file as a script. */
export function uploadedType(mimeType: string): string {
  return script.test(mimeType) ? "application/octet-stream" : contentType(mimeType);
}

/** Text is taken for UTF-8: without a declared encoding, browsers guess an older encoding. */
function contentType(mimeType: string): string {
  return mimeType.startsWith("text/") || mimeType === "application/javascript"
    ? `${mimeType}; charset=utf-8`
    : mimeType;
}

export type Coding = "br" | "gzip";

/** Types that are text, or as good as: the bytes repeat. */
const compressible =
  /^(text\/.+|image\/svg\+xml|image\/bmp|font\/(ttf|otf)|application\/(wasm|(.+\+)?(json|xml)|(x-)?javascript|manifest\+json))$/;

/** Whether `Accept-Encoding` allows a coding (RFC 9110, 12.5.3). */
export function accepts(header: string | null, coding: Coding): boolean {
  let isAccepted = false;
  for (const item of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const isAny = name === "*";
    if (name !== coding && !(name === "x-gzip" && coding === "gzip") && !isAny) continue;
    const isWanted = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    // The coding's own name outweighs the asterisk.
    if (!isAny) return isWanted;
    isAccepted = isWanted;
  }
  return isAccepted;
}

/** Whether a file may be answered compressed, so that the answers depend on `Accept-Encoding`. */
export function isCompressible(mimeType: string): boolean {
  return compressible.test(mimeType);
}

/** The bytes of a file of a site, plain or in a content coding. */
export interface Representation extends Validators {
  readonly body: Blob;
  readonly size: number;
  readonly coding: Coding | null;
}

/** @param headers on top of the file's own. */
export function answerSiteFile(
  exchange: Exchange,
  { body, coding, mimeType, ...file }: Representation & { mimeType: string },
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return answerFile(exchange, {
    ...file,
    headers: {
      "Content-Type": contentType(mimeType),
      "Cache-Control": "no-cache",
      ...(isCompressible(mimeType) && { Vary: "Accept-Encoding" }),
      // Parts are parts of the plain file: a request for a part is not answered compressed.
      ...(coding !== null && { "Content-Encoding": coding, "Accept-Ranges": "none" }),
      ...headers,
    },
    read: async (range) => (range === null ? body : body.slice(range.start, range.end)),
  });
}
