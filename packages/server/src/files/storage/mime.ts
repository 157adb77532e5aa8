/**
 * MIME types of files: from the bytes if the bytes tell beyond doubt, otherwise from the name (contract, "Storage").
 */

/** Bytes from the start of a file that are looked at. */
export const sampleSize = 4_100;
/** Fewer bytes than these tell nothing. */
const leastSample = 4;
/** The detector fills a shorter sample with zeros, which are part of some signatures. */
const paddedSize = 16;

/** Formats that are made of another format: here the name tells more than the bytes. */
const refinements: { readonly [found: string]: RegExp } = {
  "application/xml": /(\/|\+)xml$|\/html$/,
  "application/zip": /\+zip$|openxmlformats|opendocument|java-archive|\.package-archive|\.apple\./,
  "application/x-cfb": /msword|ms-(excel|powerpoint|outlook|project)|visio/,
};
const unknown = "application/octet-stream";

const never = (): boolean => false;

/**
 * Types with a signature so short that other content has the signature by chance, with the further bytes that these
 * types must have.
 */
const confirmations: { readonly [found: string]: (sample: Buffer) => boolean } = {
  // Four reserved bytes are zero.
  "image/bmp": (sample) => sample.byteLength >= 10 && sample.readUInt32LE(6) === 0,
  // The header leads to "PE".
  "application/x-msdownload": (sample) =>
    sample.byteLength >= 64 && sample.indexOf("PE\0\0", sample.readUInt32LE(60), "latin1") === sample.readUInt32LE(60),
  // An ID3 tag with a version of the standard.
  "audio/mpeg": (sample) => sample.toString("latin1", 0, 3) === "ID3" && [2, 3, 4].includes(sample[3] ?? 0),
  "application/postscript": never,
  "application/x-apple-diskimage": never,
  "application/x-arj": never,
  "application/x-compress": never,
  "application/x-cpio": never,
  "audio/aac": never,
  "audio/vnd.dolby.dd-raw": never,
  "font/ttf": never,
  "image/jxl": (sample) => sample[0] === 0,
  "image/x-icon": never,
  "video/mpeg": never,
};

/** The type that a file's name stands for, without parameters. */
export function typeOfName(filename: string): string {
  const extension = /\.([A-Za-z0-9]{1,16})$/.exec(filename)?.[1];
  // Bun tells types by the name alone; no file is opened.
  const type = extension === undefined ? "" : Bun.file(`a.${extension.toLowerCase()}`).type;
  return type.split(";")[0]?.trim() || unknown;
}

/** Whether a byte is a control character in ASCII, other than tab, LF, FF and CR. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d) || byte === 0x7f;
}

function isUtf8(sample: Uint8Array): boolean {
  try {
    // A sample may end inside a character; a whole file may not.
    new TextDecoder("utf-8", { fatal: true }).decode(sample, { stream: sample.byteLength >= sampleSize });
    return true;
  } catch {
    // Not UTF-8.
    return false;
  }
}

/** Whether the start of a file is text. Signatures that are made of letters tell nothing about text. */
function isText(sample: Buffer): boolean {
  if (sample.some(isControl)) return false;
  if (isUtf8(sample)) return true;
  // Text in an older encoding begins with ASCII mostly. A PDF may lack control characters, too.
  return (sample[0] ?? 0) < 0x80 && sample.toString("latin1", 0, 5) !== "%PDF-";
}

/** The MIME type of a file: from the first `sampleSize` bytes if the bytes tell, otherwise from the name. */
export async function detectType(sample: Uint8Array, filename: string): Promise<string> {
  const byName = typeOfName(filename);
  const bytes = Buffer.from(sample.buffer, sample.byteOffset, sample.byteLength);
  if (bytes.byteLength < leastSample || isText(bytes)) return byName;
  const { fileTypeFromBuffer } = await import("file-type");
  const padding = Buffer.alloc(Math.max(0, paddedSize - bytes.byteLength), 0xff);
  // A file may be made to confuse the detector; the file is of no known type then.
  const found = await fileTypeFromBuffer(Buffer.concat([bytes, padding])).catch(() => undefined);
  if (found === undefined || confirmations[found.mime]?.(bytes) === false) return byName;
  return refinements[found.mime]?.test(byName) === true ? byName : found.mime;
}
