/** The user's modules as JavaScript with source maps, so that an error names its line. */
import { parse, resolve } from "node:path";
import type { CodeFile } from "../protocol.ts";

/** Modules that are transpiled here; the runtime transpiles other modules, such as JSX. */
const extension = /\.m?ts$/;
const mapPattern = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)\s*$/;

type Modules = ReadonlyMap<string, string>;

/**
 * The modules by their absolute paths. The runtime's own transpiler inlines constants, and an error then names the line of
 * the constant (https://github.com/oven-sh/bun/pull/41580). A module that does not compile is left out: the runtime says why.
 */
export async function transpile(files: readonly CodeFile[]): Promise<Modules> {
  const modules = files.filter(({ real }) => extension.test(real));
  const all = await built(modules);
  if (all !== null) return all;
  const each = await Promise.all(modules.map((file) => built([file])));
  return new Map(each.flatMap((found) => [...(found ?? [])]));
}

/** Null when a module does not compile. */
async function built(files: readonly CodeFile[]): Promise<Modules | null> {
  if (files.length === 0) return new Map();
  const contents = new Map(files.map(({ real, content }) => [real, content]));
  const { outputs, success } = await Bun.build({
    entrypoints: [...contents.keys()],
    root: parse(process.cwd()).root,
    external: ["*"],
    target: "bun",
    sourcemap: "inline",
    throw: false,
    // Variables have their values of the moment when the code runs.
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
 * The bundler makes `var` of the `const` and `let` of a module. A `let`, of the same length, cannot be read before it
 * is set, as a circular import tries. A module that contains the word `var` stays unchanged.
 */
function withLet(code: string, content: string): string {
  const names = [...code.matchAll(/^var (\w+)/gm)].map(([, name]) => name);
  const isTwice = new Set(names).size < names.length;
  return isTwice || /\bvar\b/.test(content) ? code : code.replaceAll(/^var /gm, "let ");
}

/** A module with its absolute path, which its source map names; the map does not repeat its content. */
function placed(code: string): [real: string, code: string][] {
  const base64 = mapPattern.exec(code)?.[1];
  if (base64 === undefined) return [];
  const map: { sources: string[] } = JSON.parse(Buffer.from(base64, "base64").toString());
  const real = resolve(map.sources[0] ?? "");
  const own = Buffer.from(JSON.stringify({ ...map, sources: [real], sourcesContent: [""] })).toString("base64");
  return [[real, code.replace(base64, own)]];
}
