/** Generated files for editors and the type checker: `.socle/types.d.ts` and the settings of `socle check`. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { routeOf } from "../code/endpoints/index.ts";
import { jobNameOf } from "../code/jobs/index.ts";
import {
  fileDeclarations,
  findScripts,
  type ScriptFolder,
  testDeclarations,
  typeDeclarations,
} from "../code/script-host/index.ts";
import { queryNameOf } from "../code/server-queries/index.ts";
import { usualUmask } from "./file-modes.ts";
import { findTestKit } from "./test-kit.ts";

/** The types for an editor, relative to the project. */
export const typesFile = ".socle/types.d.ts";
/** The types that follow from the modules of jobs, endpoints and server queries. */
const fileTypesFile = ".socle/files.d.ts";
const testTypesFile = ".socle/test.d.ts";
/** The declarations that the declarations of tests use. */
const testFolder = ".socle/test";
const bunTestTypes = "bun-test.d.ts";
/** Settings of `socle check`: the project's own settings, and the files that the service loads. */
export const checkFile = ".socle/tsconfig.json";

/** For a project without a `tsconfig.json` of its own. */
const defaultOptions = {
  target: "ESNext",
  module: "Preserve",
  moduleResolution: "bundler",
  lib: ["ESNext", "DOM"],
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
};

/** Writes a file whole or not at all, and only a changed file: editors look at the time of the file. */
export async function writeIfChanged(path: string, content: string): Promise<void> {
  if (existsSync(path) && (await readFile(path, "utf8")) === content) return;
  // The file belongs to the project, and is as readable as the other files.
  const umask = usualUmask();
  await makeFolder(dirname(path), umask);
  await writeFile(`${path}.new`, content);
  await chmod(`${path}.new`, 0o666 & ~umask);
  await rename(`${path}.new`, path);
}

async function makeFolder(path: string, umask: number): Promise<void> {
  if (existsSync(path)) return;
  await makeFolder(dirname(path), umask);
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777 & ~umask);
}

/** Writes the types of functions, jobs and endpoints, and the types of tests, beside the configuration. */
export async function writeTypes(
  config: Pick<Config, "folder" | "scripts.env" | "endpoints.prefix" | "auth.anonymous">,
  definitions: readonly CollectionDefinition[],
): Promise<void> {
  const { folder, "endpoints.prefix": prefix } = config;
  const paths = Map.groupBy(findScripts(folder).scripts, (script) => script.folder);
  const filesBy = (kind: ScriptFolder, name: (path: string) => string): Map<string, string> =>
    new Map(paths.get(kind)?.map(({ path }) => [name(path), path]));
  const files = fileDeclarations({
    jobs: filesBy("jobs", jobNameOf),
    endpoints: filesBy("endpoints", (path) => routeOf(path, prefix)),
    queries: filesBy("queries", queryNameOf),
  });
  await writeIfChanged(join(folder, typesFile), typeDeclarations(definitions, config));
  await writeIfChanged(join(folder, fileTypesFile), files);
  const kit = await findTestKit();
  if (kit === null) return;
  for (const [path, text] of Object.entries(kit.types)) {
    // A project that has Bun's types has the types of the test runner, too.
    const isLeftOut = path === bunTestTypes && hasBunTypes(folder);
    const file = join(folder, testFolder, path);
    await (isLeftOut ? rm(file, { force: true }) : writeIfChanged(file, text));
  }
  // Without a reference, the compiler takes no types of packages.
  const reference = hasBunTypes(folder) ? '/// <reference types="bun" />\n' : "";
  await writeIfChanged(join(folder, testTypesFile), `${reference}${testDeclarations}`);
}

function hasBunTypes(folder: string): boolean {
  return existsSync(join(folder, "node_modules/@types/bun"));
}

export async function writeCheckSettings(folder: string): Promise<void> {
  const own = join(folder, "tsconfig.json");
  const hasOwn = existsSync(own);
  const namesTypes = hasOwn && (await readFile(own, "utf8")).includes('"types"');
  const settings = {
    ...(hasOwn ? { extends: "../tsconfig.json" } : {}),
    compilerOptions: {
      ...(hasOwn ? {} : defaultOptions),
      ...(namesTypes || !hasBunTypes(folder) ? {} : { types: ["bun"] }),
      // These override the project's own settings.
      noEmit: true,
      // A file that only calls onCreate("posts", handler) has no import or export.
      moduleDetection: "force",
      composite: false,
      incremental: false,
      rootDir: "..",
    },
    include: ["./**/*.d.ts", "../functions", "../jobs", "../endpoints", "../queries", "../migrations", "../lib"],
    exclude: ["../node_modules"],
  };
  await writeIfChanged(join(folder, checkFile), `${JSON.stringify(settings, null, 2)}\n`);
}
