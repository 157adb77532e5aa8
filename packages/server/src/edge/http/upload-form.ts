/** Multipart form of an upload: parses the form on arrival, and hands the file's bytes on. */
import { type ErrorDetail, MAX_FILE_SIZE, VISIBILITIES, type Visibility } from "@socle/protocol";
import type { Busboy } from "busboy";
import { AppError, messageOf, oneOf, quote } from "../../base/kernel/index.ts";
import { cleanName, type Upload } from "../../files/storage/index.ts";
import { brokenOff } from "./bodies.ts";
import type { ReadInTurns } from "./body-read-limiter.ts";
import { refuseEncoded } from "./headers.ts";

/** Bytes that the form may have beside the file. */
const allowance = 256 * 1024;
/** Longer names no file system has. */
const longestName = 255;
const maxParts = 50;
const maxFieldSize = 1_024;

const multipart = /^multipart\/form-data\s*;/i;

/** The parts of a form, without the file's bytes. */
interface Form {
  /** The names of the files that came as "file", in order. */
  readonly files: string[];
  /** The parts that are files under another name. */
  readonly strays: string[];
  readonly fields: Map<string, string[]>;
}

function tooLarge(): AppError {
  return new AppError("payload_too_large", `The file is larger than ${MAX_FILE_SIZE} bytes (10 MiB).`);
}

/** Every problem of a form at once. */
function check({ files, strays, fields }: Form, size: number): { filename: string; visibility: Visibility } {
  const problems: ErrorDetail[] = [];
  const [name = ""] = files;
  // A browser sends an empty file without a name when no file was chosen.
  const isMissing = files.length === 0 || (name === "" && size === 0);
  if (isMissing) {
    const isText = fields.get("file")?.some((value) => value !== "") === true;
    const hint = strays.length === 0 ? "" : `; the form has a file named ${strays.slice(0, 3).map(quote).join(", ")}`;
    const message = isText ? "file must be a file, a part with a filename" : `file is required${hint}`;
    problems.push({ field: "file", rule: isText ? "type" : "required", message });
  }
  if (files.length > 1) problems.push({ field: "file", rule: "max", message: "an upload has a single file" });
  if (Buffer.byteLength(name) > longestName)
    problems.push({ field: "file", rule: "max", message: `the name of the file is longer than ${longestName} bytes` });
  if (strays.includes("visibility"))
    problems.push({ field: "visibility", rule: "type", message: "visibility must be a text, not a file" });
  const given = fields.get("visibility") ?? ["protected"];
  const visibility = VISIBILITIES.find((each) => each === given[0]);
  if (visibility === undefined || given.length > 1) {
    const message = `visibility must be ${oneOf(VISIBILITIES)}, not ${given.map(quote).join(" and ")}`;
    problems.push({ field: "visibility", rule: "type", message });
  }
  if (problems.length > 0 || visibility === undefined) throw AppError.validation(problems);
  return { filename: name === "" ? "file" : name, visibility };
}

/** Bytes that the file of a form has at least, as the Content-Length tells; 0 without the header. */
export function leastFileSize(request: Request): number {
  return Math.max(0, (Number(request.headers.get("content-length")) || 0) - allowance);
}

/**
 * Reads a multipart form (RFC 7578) with one `file` and a `visibility`, when the body has a turn. The file goes to `upload`
 * piece by piece; the body is read no faster than the file is written.
 * @throws AppError `bad_request`, `validation_error` or `payload_too_large`.
 */
export async function readUploadForm(
  request: Request,
  upload: Upload,
  read: ReadInTurns,
): Promise<{ filename: string; visibility: Visibility }> {
  refuseEncoded(request.headers);
  const type = request.headers.get("content-type") ?? "";
  if (!multipart.test(type))
    throw new AppError("bad_request", 'An upload must be multipart/form-data with a part "file".');
  if (Number(request.headers.get("content-length") ?? 0) > MAX_FILE_SIZE + allowance) throw tooLarge();
  const form: Form = { files: [], strays: [], fields: new Map() };
  const parser = await openParser(type);
  const { promise: failure, reject: fail } = Promise.withResolvers<never>();
  let receiving: Promise<unknown> = Promise.resolve();
  parser.on("error", (error) => fail(badForm(error)));
  parser.on("partsLimit", () => fail(new AppError("bad_request", `The form has more than ${maxParts} parts.`)));
  parser.on("field", (name, value) => form.fields.set(name, [...(form.fields.get(name) ?? []), value]));
  parser.on("file", (name, stream, { filename }) => {
    // The parser tells of errors; unheard, an error of a stream would end the process.
    stream.on("error", () => undefined);
    const isWanted = name === "file" && form.files.length === 0;
    if (name === "file") form.files.push(cleanName(filename));
    else form.strays.push(name ?? "");
    if (isWanted) receiving = receive(stream, upload).catch(fail);
    else stream.resume();
  });
  const ended = new Promise<void>((resolve) => parser.on("close", resolve));
  const { promise: over, resolve: endPump } = Promise.withResolvers<void>();
  const work = pump(request.body, { parser, over, read }).then(async () => {
    await ended;
    await receiving;
  });
  try {
    await Promise.race([failure, work]);
  } finally {
    parser.destroy();
    endPump();
  }
  return check(form, upload.size);
}

async function openParser(type: string): Promise<Busboy> {
  // Loaded with the first upload: the parser and Node's streams are large.
  const { busboy } = await import("./form-parser.ts");
  try {
    return busboy({
      headers: { "content-type": type },
      defParamCharset: "utf8",
      limits: { parts: maxParts, fieldSize: maxFieldSize, headerPairs: maxParts },
    });
  } catch (thrown) {
    throw badForm(thrown);
  }
}

function badForm(thrown: unknown): AppError {
  return new AppError("bad_request", `The form cannot be read: ${messageOf(thrown)}.`);
}

async function receive(stream: AsyncIterable<Uint8Array>, upload: Upload): Promise<void> {
  for await (const chunk of stream) await upload.write(chunk);
}

/**
 * Gives the body to the parser, each piece when the earlier piece was taken. A parser that is destroyed may never call
 * back for the last piece: `over` ends that wait.
 */
async function pump(
  body: ReadableStream<Uint8Array> | null,
  { parser, over, read }: { parser: Busboy; over: Promise<void>; read: ReadInTurns },
): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of body === null ? [] : read(body)) {
      size += chunk.byteLength;
      if (size > MAX_FILE_SIZE + allowance) throw tooLarge();
      if (parser.destroyed) return;
      await Promise.race([new Promise<void>((resolve) => parser.write(chunk, () => resolve())), over]);
      if (parser.destroyed) return;
    }
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : brokenOff(thrown);
  }
  parser.end();
}
