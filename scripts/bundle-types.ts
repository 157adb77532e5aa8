/**
 * Joins the declarations of a folder into one file: each module becomes a namespace, imports become aliases. The script knows the
 * forms that the compiler writes, and fails for any other form of import.
 */
import { readFile } from "node:fs/promises";
import { join, normalize, relative } from "node:path/posix";
import { Glob } from "bun";

interface Name {
  /** The name in the other module. */
  readonly from: string;
  readonly to: string;
}

interface Module {
  readonly path: string;
  readonly namespace: string;
  /** The declarations of the module itself. */
  readonly body: string;
  readonly imports: readonly (Name & { readonly path: string })[];
  readonly exports: readonly (Name & { readonly path: string })[];
  /** Modules whose exports are all exported. */
  readonly stars: readonly string[];
  readonly own: readonly string[];
}

function namesIn(list: string): Name[] {
  return list
    .split(",")
    .map((part) => part.trim().replace(/^type /, ""))
    .filter((part) => part !== "")
    .map((part) => {
      const [from = "", to = from] = part.split(" as ");
      return { from, to };
    });
}

/** The declarations that a specifier of a module means. */
function at(path: string, specifier: string): string {
  return normalize(join(path, "..", specifier)).replace(/\.js$/, ".d.ts");
}

function parse(path: string, text: string): Module {
  const imports: Module["imports"][number][] = [];
  const exports: Module["exports"][number][] = [];
  const stars: string[] = [];
  const body = text
    .replace(/^import (?:type )?\{([^}]*)\} from "([^"]+)";\n/gm, (_, list: string, from: string) => {
      imports.push(...namesIn(list).map((name) => ({ ...name, path: at(path, from) })));
      return "";
    })
    .replace(/^export (?:type )?\{([^}]+)\} from "([^"]+)";\n/gm, (_, list: string, from: string) => {
      exports.push(...namesIn(list).map((name) => ({ ...name, path: at(path, from) })));
      return "";
    })
    .replace(/^export (?:type )?\* from "([^"]+)";\n/gm, (_, from: string) => {
      stars.push(at(path, from));
      return "";
    })
    .replace(/^export \{\};\n/gm, "")
    .replace(/^export declare /gm, "export ")
    .replace(/^declare /gm, "");
  const left = /^(?:import|export (?:\{|\*|default)).*/m.exec(body);
  if (left !== null) throw new Error(`${path}: an import of an unknown form: ${left[0]}`);
  const own = [...body.matchAll(/^export (?:abstract )?(?:class|interface|type|const|function) (\w+)/gm)];
  const namespace = path.replace(/\.d\.ts$/, "").replaceAll(/\W+/g, "_");
  return { path, namespace, body, imports, exports, stars, own: own.map(([, name = ""]) => name) };
}

/** The exported names of a module, with the modules that declare the names. */
function exported(modules: ReadonlyMap<string, Module>, path: string): Map<string, { path: string; name: string }> {
  const module = modules.get(path);
  if (module === undefined) throw new Error(`There are no declarations ${path}`);
  const found = new Map<string, { path: string; name: string }>();
  for (const star of module.stars) for (const [name, place] of exported(modules, star)) found.set(name, place);
  for (const { from, to, path: other } of module.exports) {
    const place = exported(modules, other).get(from);
    if (place === undefined) throw new Error(`${other} does not export ${from}`);
    found.set(to, place);
  }
  for (const name of module.own) found.set(name, { path, name });
  return found;
}

/** @param entry the module whose exports the file exports, below the folder. */
export async function bundleTypes(folder: string, entry: string): Promise<string> {
  const modules = new Map<string, Module>();
  for (const file of [...new Glob("**/*.d.ts").scanSync(folder)].sort()) {
    const path = relative(".", file.replaceAll("\\", "/"));
    modules.set(path, parse(path, await readFile(join(folder, file), "utf8")));
  }
  const placeOf = (path: string, name: string): string => {
    const place = exported(modules, path).get(name);
    if (place === undefined) throw new Error(`${path} does not export ${name}`);
    return `${modules.get(place.path)?.namespace}.${place.name}`;
  };
  const namespaces = [...modules.values()]
    .filter(({ own, body }) => own.length > 0 || body.includes("declare"))
    .map(({ path, namespace, body, imports, own }) => {
      const aliases = imports
        .filter(({ to }) => !own.includes(to))
        .map(({ from, to, path: other }) => `  import ${to} = ${placeOf(other, from)};\n`);
      const named = body.replaceAll(/\bimport\("([^"]+)"\)\.(\w+)/g, (_, from: string, name: string) =>
        placeOf(at(path, from), name),
      );
      const indented = named.replaceAll(/^(?=.)/gm, "  ");
      return `declare namespace ${namespace} {\n${aliases.join("")}${indented}  export {};\n}\n`;
    });
  const names = [...exported(modules, entry).keys()].sort();
  const exports = names.map((name) => `export import ${name} = ${placeOf(entry, name)};\n`);
  return `${namespaces.join("")}${exports.join("")}`;
}
