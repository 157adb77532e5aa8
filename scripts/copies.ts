/**
 * `bun scripts/copies.ts`: writes the small parts of large packages that are in the repository, so that a build does without the
 * packages: the icons of the dashboard (20 KB of the 46 MB of @tabler/icons), and the declarations of `bun:test` (76 KB of the
 * 13 MB of bun-types and the packages that bun-types needs). scripts/copies.test.ts compares the copies with the packages.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import packageJson from "../package.json" with { type: "json" };
import { root } from "./run.ts";

/** The elements of icons by the names of the icons: tag and attributes. */
type Drawings = Readonly<Record<string, readonly (readonly [string, Readonly<Record<string, string>>])[]>>;

const dashboard = join(root, "packages/dashboard/src");

/** The names of icons that the files of the dashboard import, sorted. */
function importedIcons(): string[] {
  const names = new Set<string>();
  for (const file of new Glob("**/*.{ts,tsx}").scanSync(dashboard)) {
    const text = readFileSync(join(dashboard, file), "utf8");
    for (const [, list = ""] of text.matchAll(/import \{([^}]*)\} from "(?:\.\.?\/)+icons\/index\.ts"/g))
      for (const name of list.split(",")) if (name.trim() !== "") names.add(name.trim());
  }
  return [...names].sort();
}

/** `IconArrowUp` for `arrow-up`, as Tabler's own packages of components name icons. */
function componentName(icon: string): string {
  return `Icon${icon.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
}

/** The data of the paths by the names of the components. @param ending of these names. */
function pathsOf(form: "outline" | "filled", ending: string): Map<string, string> {
  const file = join(root, `node_modules/@tabler/icons/tabler-nodes-${form}.json`);
  const drawings: Drawings = JSON.parse(readFileSync(file, "utf8"));
  const found = new Map<string, string>();
  for (const [icon, parts] of Object.entries(drawings)) {
    // Each path begins with an absolute move, so that the paths of an icon can be a single path.
    if (parts.every(([tag, { d = "" }]) => tag === "path" && d.startsWith("M")))
      found.set(componentName(icon) + ending, parts.map(([, { d = "" }]) => d).join(""));
  }
  return found;
}

function iconsText(): string {
  const outline = pathsOf("outline", "");
  const filled = pathsOf("filled", "Filled");
  const lines = importedIcons().map((name) => {
    const [form, d] = outline.has(name) ? ["outlined", outline.get(name)] : ["filled", filled.get(name)];
    if (d === undefined) throw new Error(`@tabler/icons has no icon of paths with the name ${name}`);
    const line = `export const ${name} = ${form}("${d}");`;
    return line.length <= 120 ? `${line}\n` : `export const ${name} = ${form}(\n  "${d}",\n);\n`;
  });
  return `/**
 * The icons of the dashboard: drawings of Tabler Icons ${packageJson.devDependencies["@tabler/icons"]}, https://tabler.io/icons, MIT licence, copyright
 * Paweł Kuna. \`bun scripts/copies.ts\` writes this file from the names that other files import.
 */
import { filled, outlined } from "./icon.tsx";

${lines.join("")}`;
}

/** The declarations of `bun:test`, without the declaration that comes from another package. */
function bunTestTypes(): string {
  const text = readFileSync(join(root, "node_modules/bun-types/test.d.ts"), "utf8");
  const line = /^.*import\("\.\/vendor\/expect-type"\).*$/m;
  if (!line.test(text)) throw new Error("bun-types/test.d.ts has changed: see bunTestTypes");
  return text.replace(line, "");
}

/** The texts of the copies by their files. */
export function copies(): ReadonlyMap<string, string> {
  return new Map([
    [join(dashboard, "icons/index.ts"), iconsText()],
    [join(root, "scripts/bun-test-types.txt"), bunTestTypes()],
  ]);
}

if (import.meta.main) for (const [file, text] of copies()) await Bun.write(file, text);
