/** Generated files for editors and the type checker: `.socle/types.d.ts` and the settings of `socle check`. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../config/index.ts";
import { typeDeclarations } from "../script-host/index.ts";
import { usualUmask } from "./file-modes.ts";

/** Where an editor finds the types, relative to the project. */
export const typesFile = ".socle/types.d.ts";
/** Settings of `socle check`: the project's own settings, and the files that the service loads. */
export const checkFile = ".socle/tsconfig.json";

/** Where a project has no `tsconfig.json` of its own. */
const defaultOptions = {
  target: "ESNext",
  module: "Preserve",
  moduleResolution: "bundler",
  lib: ["ESNext", "DOM"],
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
};

/** A file is whole or as it was, and untouched when nothing has changed: editors look at its time. */
async function writeIfChanged(path: string, content: string): Promise<void> {
  if (existsSync(path) && (await readFile(path, "utf8")) === content) return;
  // The file belongs to the project, and is as readable as its other files.
  const umask = usualUmask();
  await mkdir(dirname(path), { recursive: true });
  await chmod(dirname(path), 0o777 & ~umask);
  await writeFile(`${path}.new`, content);
  await chmod(`${path}.new`, 0o666 & ~umask);
  await rename(`${path}.new`, path);
}

/** Writes the types of functions and jobs beside the configuration. */
export async function writeTypes(
  { folder, "scripts.env": env }: Pick<Config, "folder" | "scripts.env">,
  definitions: readonly CollectionDefinition[],
): Promise<void> {
  await writeIfChanged(join(folder, typesFile), typeDeclarations(definitions, env));
}

/** Writes the settings of the type checker. */
export async function writeCheckSettings(folder: string): Promise<void> {
  const own = join(folder, "tsconfig.json");
  const hasOwn = existsSync(own);
  const namesTypes = hasOwn && (await readFile(own, "utf8")).includes('"types"');
  const hasBunTypes = existsSync(join(folder, "node_modules/@types/bun"));
  const settings = {
    ...(hasOwn ? { extends: "../tsconfig.json" } : {}),
    compilerOptions: {
      ...(hasOwn ? {} : defaultOptions),
      ...(namesTypes || !hasBunTypes ? {} : { types: ["bun"] }),
      // These override the project's own settings.
      noEmit: true,
      composite: false,
      incremental: false,
      rootDir: "..",
    },
    files: ["./types.d.ts"],
    include: ["../functions", "../jobs", "../endpoints"],
    exclude: ["../node_modules"],
  };
  await writeIfChanged(join(folder, checkFile), `${JSON.stringify(settings, null, 2)}\n`);
}
