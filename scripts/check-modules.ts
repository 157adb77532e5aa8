/**
 * Checks that each module of the server imports only modules that stand above in the table of ARCHITECTURE.md, and only
 * through an index.ts; type imports count. Only `main` imports the entries of script processes, which need few of the modules
 * behind an index.ts. Packages likewise import only the packages that the table of packages allows. No
 * files import each other in a circle: in the packages, end-to-end tests, measurements and scripts, in source and tests. No two
 * files of the server export a type of the same name. Within a module of the server,
 * a folder and the files beside the folder import in a single direction.
 *
 * The check cannot see imports with a path computed at run time, nor dependencies that are passed at run time. The check
 * reads `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")` and `new URL("x", import.meta.url)`.
 */
import { dirname, join, relative, sep } from "node:path";
import { Glob } from "bun";

/** The packages that each package may import. */
const packageImports: { readonly [name: string]: readonly string[] } = {
  protocol: [],
  client: ["protocol"],
  dashboard: ["client", "protocol"],
  react: ["client"],
  svelte: ["client"],
  "tanstack-db": ["client"],
  vue: ["client"],
  server: ["protocol"],
};

const importPattern =
  /(?:\b(?:import|export)\s[^"';]*?\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)(?:"([^"]+)"|'([^']+)')/g;

function importsOf(source: string): string[] {
  return [...source.matchAll(importPattern)].map(([, double, single]) => double ?? single ?? "");
}

/** The modules in the order, from the table of ARCHITECTURE.md with the header "module | owns". */
export function moduleOrder(architecture: string): string[] {
  const table = /\| module +\| owns +\|\n\|[-| ]+\|\n((?:\|.*\|\n)+)/.exec(architecture)?.[1];
  if (table === undefined) throw new Error("ARCHITECTURE.md has no table with the header | module | owns |");
  return table
    .split("\n")
    .flatMap((row) => (row.split("|")[1] ?? "").split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Modules that stand in no layer. */
const outside = new Set(["app", "testing", "cli", "main"]);

/** The files that make the process a script process. */
const processEntries = new Set(["main", "query"].map((name) => join("code", "script-host", "child", `${name}.ts`)));

/** The module of a file: `edge/http` for `edge/http/server.ts`. @param file path below `packages/server/src`. */
export function moduleOf(file: string): string {
  const [first = "", second = ""] = file.split(sep);
  const name = first.replace(/\.ts$/, "");
  return outside.has(name) ? name : `${name}/${second}`;
}

/** The layers of an order with modules that do not stand together. */
function scattered(order: readonly string[]): string[] {
  const layers = order.map((module) => module.split("/")[0] ?? "");
  const size = (layer: string): number => layers.filter((each) => each === layer).length;
  return [...new Set(layers)].filter((layer) => layers.lastIndexOf(layer) - layers.indexOf(layer) >= size(layer));
}

/** Every import that breaks the order, as a line that names file and reason. */
export async function findViolations(root: string): Promise<string[]> {
  const order = moduleOrder(await Bun.file(join(root, "ARCHITECTURE.md")).text());
  const violations = scattered(order).map(
    (layer) => `ARCHITECTURE.md: the modules of the layer ${layer} do not stand together`,
  );
  for await (const file of new Glob("packages/*/src/**/*.{ts,tsx}").scan(root)) {
    const [, packageName = ""] = file.split(sep);
    const source = await Bun.file(join(root, file)).text();
    for (const imported of importsOf(source)) {
      const problem = imported.startsWith(".")
        ? relativeProblem(file, join(dirname(file), imported), order)
        : packageProblem(packageName, imported);
      if (problem !== null) violations.push(`${file}: ${problem}`);
    }
  }
  return violations;
}

function packageProblem(packageName: string, imported: string): string | null {
  const [, other] = /^@socle\/([a-z-]+)/.exec(imported) ?? [];
  if (other === undefined || other === packageName) return null;
  const allowed = packageImports[packageName];
  if (allowed === undefined) return `the package ${packageName} is not in the table of packages`;
  return allowed.includes(other) ? null : `${packageName} must not import ${other}`;
}

function relativeProblem(file: string, target: string, order: readonly string[]): string | null {
  const [, packageName = ""] = file.split(sep);
  const base = join("packages", packageName, "src");
  if (packageName === "server" && file.endsWith(".test.ts")) return null;
  if (relative(base, target).startsWith("..")) {
    if (relative(join("packages", packageName), target) === "package.json") return null;
    return `${target} lies outside the package`;
  }
  if (packageName !== "server") return null;
  const [from, to] = [moduleOf(relative(base, file)), moduleOf(relative(base, target))];
  if (from === to || (from === "main" && processEntries.has(relative(base, target)))) return null;
  const [fromPlace, toPlace] = [order.indexOf(from), order.indexOf(to)];
  if (fromPlace < 0) return `the module ${from} is not in the table of ARCHITECTURE.md`;
  if (toPlace < 0) return `the module ${to} is not in the table of ARCHITECTURE.md`;
  if (toPlace > fromPlace) return `${from} must not import ${to}, which stands below it`;
  if (relative(base, target) !== join(to, "index.ts"))
    return `${target} is not the public face of ${to}; import its index.ts`;
  return null;
}

/** The text of each file that matches, by path; without the files that were installed or built. */
async function sourcesIn(root: string, ...patterns: readonly string[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for (const pattern of patterns)
    for await (const file of new Glob(pattern).scan(root))
      if (!/(^|[/\\])(node_modules|dist)[/\\]/.test(file)) sources.set(file, await Bun.file(join(root, file)).text());
  return sources;
}

/**
 * Every circle of files, and of the parts of modules, type imports included, as a line that names the circle in the order of the
 * imports. A part of a module is a folder of the module, or a file beside the folders.
 */
export async function findCircles(root: string): Promise<string[]> {
  const sources = await sourcesIn(root, "{packages,e2e,bench,scripts}/**/*.{ts,tsx}");
  const imports = new Map([...sources].map(([file, source]) => [file, relativeImports(file, source)]));
  const ofParts = new Map<string, string[]>();
  for (const [file, imported] of imports) {
    if (!file.startsWith(join("packages", "server", "src")) || file.endsWith(".test.ts")) continue;
    const others = imported.map(partOf).filter((part) => part !== partOf(file));
    ofParts.set(partOf(file), [...(ofParts.get(partOf(file)) ?? []), ...others]);
  }
  const ofFiles = circlesOf(imports);
  return ofFiles.length > 0 ? ofFiles : circlesOf(ofParts);
}

/** The circles of a graph. @param graph the imported names by the importing name; imports of names outside the graph do not count. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, way: readonly string[]): void => {
    const imported = graph.get(name);
    if (imported === undefined || done.has(name)) return;
    const start = way.indexOf(name);
    if (start >= 0) circles.push(`${[...way.slice(start), name].join(" -> ")} is a circle of imports`);
    else for (const each of imported) visit(each, [...way, name]);
    done.add(name);
  };
  for (const name of [...graph.keys()].toSorted()) visit(name, []);
  return circles;
}

/** The part of a module that a file belongs to: `people/auth/keys` for `people/auth/keys/keys.ts`; a file beside the folders is a part. */
function partOf(file: string): string {
  const path = relative(join("packages", "server", "src"), file);
  const depth = moduleOf(path).split("/").length + 1;
  return path.split(sep).slice(0, depth).join("/");
}

function relativeImports(file: string, source: string): string[] {
  const relatives = importsOf(source).filter((imported) => imported.startsWith("."));
  return relatives.map((imported) => join(dirname(file), imported));
}

const exportedType = /^export (?:default )?(?:declare )?(?:abstract )?(?:class|enum|interface|type) (\w+)/gm;

/** Every name that several files export a type by, as a line that names the files. */
export async function findTwins(root: string): Promise<string[]> {
  const places = new Map<string, string[]>();
  for (const [file, source] of await sourcesIn(root, "packages/server/src/**/*.ts"))
    for (const [, name = ""] of source.matchAll(exportedType)) places.set(name, [...(places.get(name) ?? []), file]);
  return [...places]
    .filter(([, files]) => files.length > 1)
    .map(([name, files]) => `the type ${name} is exported by ${files.join(" and ")}`);
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  const violations = (await Promise.all([findViolations(root), findCircles(root), findTwins(root)])).flat();
  for (const violation of violations) console.error(violation);
  process.exit(violations.length > 0 ? 1 : 0);
}
