/**
 * Checks that each module of the server imports only modules above it in the table of ARCHITECTURE.md, and only through
 * their index.ts; type imports count. Packages likewise import only those that the table of packages allows.
 *
 * The check cannot see imports whose path is computed at run time, nor dependencies that are passed at run time. It
 * reads `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")` and `new URL("x", import.meta.url)`.
 */
import { dirname, join, relative, sep } from "node:path";
import { Glob } from "bun";

/** Packages and what each may import. */
const packageImports: { readonly [name: string]: readonly string[] } = {
  protocol: [],
  client: ["protocol"],
  dashboard: ["client", "protocol"],
  server: ["protocol"],
};

const importPattern =
  /(?:\b(?:import|export)\s[^"';]*?\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)(?:"([^"]+)"|'([^']+)')/g;

function importsOf(source: string): string[] {
  return [...source.matchAll(importPattern)].map(([, double, single]) => double ?? single ?? "");
}

/** The modules in their order, from the table of ARCHITECTURE.md whose header is "module | owns". */
export function moduleOrder(architecture: string): string[] {
  const table = /\| module +\| owns +\|\n\|[-| ]+\|\n((?:\|.*\|\n)+)/.exec(architecture)?.[1];
  if (table === undefined) throw new Error("ARCHITECTURE.md has no table with the header | module | owns |");
  return table
    .split("\n")
    .flatMap((row) => (row.split("|")[1] ?? "").split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Every import that breaks the order, as a line that names file and reason. */
export async function findViolations(root: string): Promise<string[]> {
  const order = moduleOrder(await Bun.file(join(root, "ARCHITECTURE.md")).text());
  const violations: string[] = [];
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
  const moduleOf = (path: string): string => relative(base, path).split(sep)[0]?.replace(/\.ts$/, "") ?? "";
  const [from, to] = [moduleOf(file), moduleOf(target)];
  if (from === to) return null;
  const [fromPlace, toPlace] = [order.indexOf(from), order.indexOf(to)];
  if (fromPlace < 0) return `the module ${from} is not in the table of ARCHITECTURE.md`;
  if (toPlace < 0) return `the module ${to} is not in the table of ARCHITECTURE.md`;
  if (toPlace > fromPlace) return `${from} must not import ${to}, which stands below it`;
  if (relative(base, target) !== join(to, "index.ts"))
    return `${target} is not the public face of ${to}; import its index.ts`;
  return null;
}

if (import.meta.main) {
  const violations = await findViolations(join(import.meta.dir, ".."));
  for (const violation of violations) console.error(violation);
  process.exit(violations.length > 0 ? 1 : 0);
}
