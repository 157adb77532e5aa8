/**
 * `npm run build:client`: `packages/client/dist`, the published files of the client. A single file of JavaScript without
 * dependencies, for browsers, Bun and Node from 20 on, and the types, with the types of the protocol beside. The page of
 * examples/tracker gets a copy.
 */
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";
import { must, root, tool } from "./run.ts";

const client = join(root, "packages/client");
const types = join(client, "dist/types");

/**
 * Rewrites imports for Node and every TypeScript: with the ending of the compiled file, and without workspace packages.
 * @param folder of all declarations.
 */
async function makePortable(file: string, folder: string): Promise<void> {
  const protocol = relative(dirname(file), join(folder, "protocol/src/index.js")).replaceAll("\\", "/");
  const text = await readFile(file, "utf8");
  const imports = text
    .replaceAll(/(from |import\()"(\.[^"]+)\.ts"/g, '$1"$2.js"')
    .replaceAll('"@socle/protocol"', `"${protocol}"`);
  await writeFile(file, imports);
}

/** Writes the declarations of the client, and the declarations of the protocol beside the client's. */
export async function writeClientTypes(folder: string): Promise<void> {
  await must([tool("tsc"), "-p", join(client, "tsconfig.build.json"), "--outDir", folder]);
  for (const file of new Glob("**/*.d.ts").scanSync(folder)) await makePortable(join(folder, file), folder);
}

export async function buildClient(): Promise<void> {
  await rm(join(client, "dist"), { recursive: true, force: true });
  await writeClientTypes(types);
  const built = await Bun.build({
    entrypoints: [join(client, "src/index.ts")],
    outdir: join(client, "dist"),
    target: "browser",
    format: "esm",
    sourcemap: "none",
  });
  if (!built.success) throw new AggregateError(built.logs, "The client cannot be built");
  await copyFile(join(client, "dist/index.js"), join(root, "examples/tracker/public/socle-client.js"));
}

if (import.meta.main) await buildClient();
