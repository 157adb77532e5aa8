/**
 * `npm run build:client`: `packages/client/dist`, the files of the package `@socle/client`, and `dist/packages`, the packages as files
 * that `npm install FILE` takes. The JavaScript has no dependencies and runs in browsers, Bun, Deno and Node from 20 on; each entry
 * point is a module of its own, with the types and source maps beside.
 */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";
import { bundleTypes } from "./bundle-types.ts";
import { must, root, tool } from "./run.ts";

const client = join(root, "packages/client");
const entries = join(client, "src/entries");

/**
 * Rewrites imports for Node and every TypeScript: with the ending of the compiled file, and without workspace packages.
 * @param folder of all declarations.
 */
async function makePortable(file: string, folder: string): Promise<void> {
  const protocol = relative(dirname(file), join(folder, "protocol/src")).replaceAll("\\", "/");
  const text = await readFile(file, "utf8");
  const imports = text
    .replaceAll(/(from |import\()"(\.[^"]+)\.ts"/g, '$1"$2.js"')
    .replaceAll(/"@socle\/protocol((?:\/\w+)?)"/g, `"${protocol}$1/index.js"`);
  await writeFile(file, imports);
}

/** Writes the declarations of the client, and the declarations of the protocol beside the client's. */
export async function writeClientTypes(folder: string): Promise<void> {
  await must([tool("tsc"), "-p", join(client, "tsconfig.build.json"), "--outDir", folder]);
  for (const file of new Glob("**/*.d.ts").scanSync(folder)) await makePortable(join(folder, file), folder);
}

interface Bundle {
  readonly entrypoints: readonly string[];
  readonly outdir: string;
  readonly minify: boolean;
  readonly naming?: string;
  /** Imports that stay imports. */
  readonly external?: readonly string[];
}

async function bundle({ entrypoints, outdir, minify, naming = "[name].[ext]", external = [] }: Bundle): Promise<void> {
  const built = await Bun.build({
    entrypoints: [...entrypoints],
    outdir,
    target: "browser",
    format: "esm",
    splitting: entrypoints.length > 1,
    sourcemap: "linked",
    minify,
    external: [...external],
    naming: { entry: naming, chunk: "chunks/[name]-[hash].[ext]" },
  });
  if (!built.success) throw new AggregateError(built.logs, "The client cannot be built");
}

/**
 * Writes the files that the executable serves under `/_/`, and that `socle client` copies: `client.js` with all entry points,
 * `client.d.ts`, and `client-worker.js`.
 * @param types the folder of the declarations.
 */
export async function writeServedClient(folder: string, types: string): Promise<void> {
  await bundle({ entrypoints: [join(entries, "whole.ts")], outdir: folder, minify: true, naming: "client.[ext]" });
  await bundle({
    entrypoints: [join(client, "src/worker.ts")],
    outdir: folder,
    minify: true,
    naming: "client-worker.[ext]",
  });
  await writeFile(join(folder, "client.d.ts"), await bundleTypes(types, "client/src/entries/whole.d.ts"));
}

async function buildPackage(): Promise<void> {
  const outdir = join(client, "dist");
  await rm(outdir, { recursive: true, force: true });
  await writeClientTypes(join(outdir, "types"));
  const modules = ["auth", "admin", "live", "server", "storage", "store"].map((name) => join(entries, `${name}.ts`));
  const entrypoints = [join(client, "src/index.ts"), join(client, "src/worker.ts"), ...modules];
  await bundle({ entrypoints, outdir, minify: false });
  await cp(join(root, "LICENSE"), join(client, "LICENSE"));
}

/** The bindings: packages of a single module, which import the client and the framework or library. */
const bindings = ["react", "svelte", "tanstack-db", "vue"] as const;

async function buildBinding(name: (typeof bindings)[number]): Promise<void> {
  const folder = join(root, "packages", name);
  const outdir = join(folder, "dist");
  await rm(outdir, { recursive: true, force: true });
  await must([tool("tsc"), "-p", join(folder, "tsconfig.build.json")]);
  for (const file of new Glob("**/*.d.ts").scanSync(outdir)) await makePortable(join(outdir, file), outdir);
  const { peerDependencies }: { peerDependencies: object } = await Bun.file(join(folder, "package.json")).json();
  const external = Object.keys(peerDependencies).flatMap((each) => [each, `${each}/*`]);
  await bundle({ entrypoints: [join(folder, "src/index.ts")], outdir, minify: false, external });
  await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
}

/** The folders of the packages below `packages/`. */
export const clientPackages = ["client", ...bindings] as const;

/** Builds the packages: the folder `dist` of each. */
export async function buildPackages(): Promise<void> {
  await buildPackage();
  for (const name of bindings) await buildBinding(name);
}

/** Builds the packages, and packs the packages into `dist/packages`. */
export async function buildClient(): Promise<void> {
  await buildPackages();
  const tarballs = join(root, "dist/packages");
  await rm(tarballs, { recursive: true, force: true });
  await mkdir(tarballs, { recursive: true });
  for (const name of clientPackages)
    await must(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", tarballs], {
      cwd: join(root, "packages", name),
    });
}

if (import.meta.main) await buildClient();
