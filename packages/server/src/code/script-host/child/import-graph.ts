/** The import graph of a script process: which modules import a module, directly or through other modules. */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";

export class ImportGraph {
  readonly #contents: ReadonlyMap<string, string>;
  /** Modules of this process that are not the user's. */
  readonly #own: ReadonlySet<string> = new Set(Object.keys(require.cache));
  /** The imported modules of each module that was looked at, by absolute path. */
  readonly #imports = new Map<string, readonly string[]>();

  /** @param contents the present texts of the user's modules, by absolute path. */
  constructor(contents: ReadonlyMap<string, string>) {
    this.#contents = contents;
  }

  /**
   * The modules to load again after a change: the changed modules, and the modules that import a changed module.
   * @param entries the modules that need no importer.
   * @throws Error for a changed module that is loaded, and has no known importer.
   */
  change(changed: readonly string[], entries: ReadonlySet<string>): ReadonlySet<string> {
    for (const path of changed) this.#imports.delete(path);
    const importers = this.#importers();
    const found = new Set(changed);
    // A set gives the elements that are added meanwhile, too.
    for (const path of found) {
      const above = importers.get(path) ?? [];
      if (above.length === 0 && !entries.has(path) && path in require.cache)
        throw new Error(`${path} is imported by a module that is not known`);
      for (const importer of above) found.add(importer);
    }
    return found;
  }

  #importers(): Map<string, string[]> {
    const importers = new Map<string, string[]>();
    for (const path of new Set([...this.#contents.keys(), ...this.#loaded()]))
      for (const imported of this.#importsOf(path)) {
        const list = importers.get(imported);
        if (list === undefined) importers.set(imported, [path]);
        else list.push(path);
      }
    return importers;
  }

  /** The loaded modules outside of packages: the user's modules, and JavaScript that the user's modules import. */
  #loaded(): string[] {
    return Object.keys(require.cache).filter((path) => !this.#own.has(path) && !/[/\\]node_modules[/\\]/.test(path));
  }

  #importsOf(path: string): readonly string[] {
    const known = this.#imports.get(path);
    if (known !== undefined) return known;
    const imports = this.#scan(path);
    this.#imports.set(path, imports);
    return imports;
  }

  #scan(path: string): string[] {
    const extension = /\.[cm]?([jt]sx?)$/.exec(path)?.[1] as "js" | "jsx" | "ts" | "tsx" | undefined;
    if (extension === undefined) return [];
    try {
      const text = this.#contents.get(path) ?? readFileSync(path, "utf8");
      const found = new Bun.Transpiler({ loader: extension }).scanImports(text);
      return found.flatMap((each) => placeOf(each.path, path));
    } catch {
      // A module that does not compile imports nothing; the load says why.
      return [];
    }
  }
}

/** The absolute path of an imported module; no path for a module that is not found, which the load reports. */
function placeOf(specifier: string, importer: string): string[] {
  try {
    return [Bun.resolveSync(specifier, dirname(importer))];
  } catch {
    return [];
  }
}
