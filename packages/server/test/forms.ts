/** Multipart forms in the notation of clients, also wrong forms. */
const boundary = "----socle-test";
export const formType = `multipart/form-data; boundary=${boundary}`;

export interface Part {
  name: string;
  /** The name in the header; undefined for a field without a file. */
  filename?: string;
  content: string | Uint8Array;
}

/** The bytes of a form. Nothing in the parts is escaped. */
export function formBytes(parts: readonly Part[]): Uint8Array {
  const pieces = parts.flatMap(({ name, filename, content }) => {
    const file = filename === undefined ? "" : `; filename="${filename}"`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(content), Buffer.from("\r\n")];
  });
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

/** A form with a single file. */
export function fileForm(
  content: string | Uint8Array,
  options: { filename?: string; visibility?: string } = {},
): Uint8Array {
  const { filename = "file.bin", visibility } = options;
  const field = visibility === undefined ? [] : [{ name: "visibility", content: visibility }];
  return formBytes([...field, { name: "file", filename, content }]);
}
