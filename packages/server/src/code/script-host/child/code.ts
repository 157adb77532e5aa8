/**
 * The modules of the user's code in a script process: as the service read the files at the load, as JavaScript with source maps. A
 * change of some files drops these modules and the importing modules from the registry of the runtime: the next import loads again.
 */
import { readFileSync } from "node:fs";
import { dirname, join, parse, resolve } from "node:path";
import type { CodeFile } from "../protocol.ts";
import { codeFolders } from "../script-files.ts";
import { ImportGraph } from "./import-graph.ts";

/** Modules that are transpiled here; the runtime transpiles other modules, for example JSX. */
const extension = /\.m?ts$/;
const mapPattern = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)\s*$/;

/** Texts of modules by absolute path. */
type Modules = ReadonlyMap<string, string>;

export class Code {
  readonly #contents: Map<string, string>;
  /** The modules as JavaScript. */
  #modules: Modules;
  readonly #graph: ImportGraph;

  private constructor(contents: Map<string, string>, modules: Modules) {
    this.#contents = contents;
    this.#modules = modules;
    this.#graph = new ImportGraph(contents);
  }

  /** Has the runtime take TypeScript modules from these files, and not from the disk, with files that may have changed. */
  static async use(root: string, files: readonly CodeFile[]): Promise<Code> {
    const contents = textsOf(files);
    const code = new Code(contents, await transpile(contents));
    // Folders that are links are elsewhere.
    const folders = new Set([
      ...codeFolders.map((name) => join(root, name)),
      ...files.map(({ real }) => dirname(real)),
    ]);
    const escaped = [...folders].map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
    Bun.plugin({
      name: "code of functions and jobs",
      setup(build) {
        build.onLoad({ filter: new RegExp(`^(?:${escaped})[/\\\\].*\\.m?tsx?$`) }, ({ path }) => code.#read(path));
      },
    });
    return code;
  }

  #read(path: string): { contents: string; loader: "js" | "ts" | "tsx" } {
    const module = this.#modules.get(path);
    if (module !== undefined) return { contents: module, loader: "js" };
    return {
      contents: this.#contents.get(path) ?? readFileSync(path, "utf8"),
      loader: path.endsWith("x") ? "tsx" : "ts",
    };
  }

  /**
   * Takes the new content of files. The next import loads the changed modules and the importing modules again; all other modules stay.
   * Answers the absolute paths of these modules.
   * @param entries the paths of the modules that the process imports.
   * @throws Error for a loaded module without a known importer, for example by an import with a computed path.
   */
  async change(files: readonly CodeFile[], entries: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const changed = textsOf(files);
    const modules = await transpile(changed);
    const others = [...this.#modules].filter(([real]) => !changed.has(real));
    this.#modules = new Map([...others, ...modules]);
    for (const [real, content] of changed) this.#contents.set(real, content);
    const dropped = this.#graph.change([...changed.keys()], entries);
    for (const real of dropped) delete require.cache[real];
    return dropped;
  }
}

function textsOf(files: readonly CodeFile[]): Map<string, string> {
  return new Map(files.map(({ real, content }) => [real, content]));
}

/**
 * The modules as JavaScript. The runtime's own transpiler inlines constants, and an error then names the line of
 * the constant (https://github.com/oven-sh/bun/pull/41580). A module that does not compile is left out: the runtime says why.
 */
async function transpile(contents: Modules): Promise<Modules> {
  const modules = [...contents].filter(([real]) => extension.test(real));
  const all = await built(new Map(modules));
  if (all !== null) return all;
  const each = await Promise.all(modules.map((module) => built(new Map([module]))));
  return new Map(each.flatMap((found) => [...(found ?? [])]));
}

/** Null when a module does not compile. */
async function built(contents: Modules): Promise<Modules | null> {
  if (contents.size === 0) return contents;
  const { outputs, success } = await Bun.build({
    entrypoints: [...contents.keys()],
    root: parse(process.cwd()).root,
    external: ["*"],
    target: "bun",
    sourcemap: "inline",
    throw: false,
    // Variables have the values of the moment when the code runs.
    define: { "process.env.NODE_ENV": "process.env.NODE_ENV" },
    plugins: [
      {
        name: "content",
        setup(build) {
          build.onLoad({ filter: /./ }, ({ path }) => ({ contents: contents.get(path) ?? "", loader: "ts" }));
        },
      },
    ],
  });
  if (!success) return null;
  const texts = await Promise.all(outputs.map((output) => output.text()));
  const modules = new Map(texts.flatMap(placed));
  for (const [real, code] of modules) modules.set(real, withLet(code, contents.get(real) ?? ""));
  return modules;
}

/**
 * The bundler makes `var` of the `const` and `let` of a module. A `let`, of the same length, cannot be read before the
 * assignment, as a circular import tries. A module that contains the word `var` stays unchanged.
 */
function withLet(code: string, content: string): string {
  const names = [...code.matchAll(/^var (\w+)/gm)].map(([, name]) => name);
  const isTwice = new Set(names).size < names.length;
  return isTwice || /\bvar\b/.test(content) ? code : code.replaceAll(/^var /gm, "let ");
}

/** A module with the absolute path, which the source map names; the map does not repeat the content. */
function placed(code: string): [real: string, code: string][] {
  const base64 = mapPattern.exec(code)?.[1];
  if (base64 === undefined) return [];
  const map: { sources: string[] } = JSON.parse(Buffer.from(base64, "base64").toString());
  const real = resolve(map.sources[0] ?? "");
  const own = Buffer.from(JSON.stringify({ ...map, sources: [real], sourcesContent: [""] })).toString("base64");
  return [[real, code.replace(base64, own)]];
}
