/** The dashboard inside the executable: the built files, compressed beforehand, joined in a single embedded file. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { Glob } from "bun";
import type { EmbeddedBuild } from "../packages/server/src/edge/http/dashboard.ts";
import { isCompressible } from "../packages/server/src/edge/http/file-response.ts";
import { typeOfName } from "../packages/server/src/files/storage/index.ts";

const codings = [
  {
    coding: "br",
    compress: (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  },
  { coding: "gzip", compress: (bytes: Uint8Array) => gzipSync(bytes, { level: 9 }) },
] as const;

type Files = EmbeddedBuild["files"];
type Part = Files[string]["parts"][number];

/** Packs the files of a folder. A coding that does not make a file smaller is left out. */
export async function pack(folder: string): Promise<{ files: Files; bytes: Uint8Array<ArrayBuffer> }> {
  const files: Record<string, Files[string]> = {};
  const pieces: Uint8Array[] = [];
  let end = 0;
  const put = (coding: Part["coding"], bytes: Uint8Array): Part => {
    pieces.push(bytes);
    const start = end;
    end += bytes.byteLength;
    return { coding, start, end };
  };
  for (const path of [...new Glob("**/*").scanSync(folder)].sort()) {
    const content = await readFile(join(folder, path));
    const parts: Part[] = [];
    for (const { coding, compress } of isCompressible(typeOfName(path)) ? codings : []) {
      const compressed = compress(content);
      if (compressed.byteLength < content.byteLength) parts.push(put(coding, compressed));
    }
    parts.push(put(null, content));
    const digest = new Bun.CryptoHasher("sha256").update(content).digest("base64url").slice(0, 22);
    files[path.replaceAll("\\", "/")] = { digest, parts };
  }
  return { files, bytes: Bun.concatArrayBuffers(pieces, Number.POSITIVE_INFINITY, true) };
}

export interface EmbedOptions {
  /** The folder of the module http in the copy of the source. */
  readonly http: string;
  /** The time that the files have for browsers, in milliseconds. */
  readonly builtAt: number;
}

/**
 * Puts the build of the dashboard into a copy of the source.
 * @param folder of the build; without this folder, the executable has no dashboard.
 */
export async function embedDashboard(folder: string, { http, builtAt }: EmbedOptions): Promise<void> {
  if (!existsSync(join(folder, "index.html"))) {
    console.warn(
      `${folder} has no index.html: the executable has no dashboard. Build it with: npm run build:dashboard`,
    );
    return;
  }
  const { files, bytes } = await pack(folder);
  await Bun.write(join(http, "dashboard.bin"), bytes);
  const source = `import bytes from "./dashboard.bin" with { type: "file" };
export const dashboardBuild = { bytes, builtAt: ${builtAt}, files: ${JSON.stringify(files)} };
`;
  await Bun.write(join(http, "dashboard-build.ts"), source);
}
