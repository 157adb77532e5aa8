/** Answer with a file: conditional requests, ranges, and the headers that name its type. */
import { AppError } from "../kernel/index.ts";
import type { ByteRange, FileBody } from "../storage/index.ts";
import { allowsRange, checkConditions, type Validators } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";
import { parseRange } from "./range.ts";

/** A file as it can be answered. */
export interface AnswerableFile extends Validators {
  /** Bytes. */
  readonly size: number;
  /** The headers that are the file's own, Content-Type among them. */
  readonly headers: Readonly<Record<string, string>>;
  read(range: ByteRange | null): Promise<FileBody>;
}

/** Answers a file: whole, a part of it, or that the client has it already. */
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

/** Types that a browser shows without running anything. All others it is to save. */
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

/** Text is taken for UTF-8: without a word on it, browsers take it for something older. */
export function contentType(mimeType: string): string {
  return mimeType.startsWith("text/") || mimeType === "application/javascript"
    ? `${mimeType}; charset=utf-8`
    : mimeType;
}
