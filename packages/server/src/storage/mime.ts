/** Bytes from the start of a file that are looked at. */
export const sampleSize = 4_100;

/** Formats that are made of another one: there the name knows more than the bytes. */
const refinements: { readonly [found: string]: RegExp } = {
  "application/xml": /(\/|\+)xml$|\/html$/,
  "application/zip": /\+zip$|openxmlformats|opendocument|java-archive|\.package-archive|\.apple\./,
  "application/x-cfb": /msword|ms-(excel|powerpoint|outlook|project)|visio/,
};
const unknown = "application/octet-stream";

/** The type that a file's name stands for, without parameters. */
export function typeOfName(filename: string): string {
  const extension = /\.([A-Za-z0-9]{1,16})$/.exec(filename)?.[1];
  // Bun knows types by the name alone; no such file is opened.
  const type = extension === undefined ? "" : Bun.file(`a.${extension.toLowerCase()}`).type;
  return type.split(";")[0]?.trim() || unknown;
}

/** The MIME type of a file: from its first bytes where they tell, else from its name. */
export async function detectType(sample: Uint8Array, filename: string): Promise<string> {
  const { fileTypeFromBuffer } = await import("file-type");
  const byName = typeOfName(filename);
  // A file may be made to confuse its reader; then it is of no known type.
  const found = await fileTypeFromBuffer(sample).catch(() => undefined);
  if (found === undefined) return byName;
  return refinements[found.mime]?.test(byName) === true ? byName : found.mime;
}
