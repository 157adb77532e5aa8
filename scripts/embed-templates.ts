/**
 * The templates of `socle init` inside the executable: the files of the folders of `examples/`, as a new project has the files. A file of
 * an example has links to docs/ and commands for this repository; a project has neither.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Glob } from "bun";
import packageJson from "../package.json" with { type: "json" };
import { type Template, templateFolders } from "../packages/server/src/cli/templates.ts";
import { root } from "./run.ts";
import { ofRepository } from "./site/pages.ts";

/** Files of `examples/` that a build, a service or an installation has left there. */
const left =
  /(^|\/)(node_modules|dist|build|data|storage|backups|\.(next|astro|svelte-kit|react-router|socle))\/|\.(db|log)\b|(^|\/)(\.env\b|next-env\.d\.ts$|package-lock\.json$)/;

/** The manifest of a project: without the name and the licence of the example, with the packages of this version. */
function manifest(text: string): string {
  const { private: isPrivate, type, scripts, dependencies, ...others } = JSON.parse(text);
  const { devDependencies, engines } = others;
  const own = Object.entries<string>(dependencies).map(([name, version]) => [
    name,
    name.startsWith("@socle/") ? packageJson.version : version,
  ]);
  const kept = { private: isPrivate, type, scripts, dependencies: Object.fromEntries(own), devDependencies, engines };
  return `${JSON.stringify(kept, null, 2)}\n`;
}

/** The page of a project: without the links to pages of this repository, and without the passages about this repository. */
function readme(text: string): string {
  return text.replaceAll(ofRepository, "").replaceAll(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, "$1");
}

async function filesOf(folder: string): Promise<Template> {
  const files: Record<string, string> = {};
  for (const file of [...new Glob("**/*").scanSync({ cwd: folder, dot: true })].sort()) {
    const path = file.replaceAll("\\", "/");
    if (left.test(path)) continue;
    const text = await readFile(join(folder, file), "utf8");
    const rewrite = { "package.json": manifest, "README.md": readme }[path];
    files[path] = rewrite?.(text) ?? text;
  }
  return files;
}

/** Puts the templates into a copy of the source. @param cli the folder of the module cli in the copy. */
export async function embedTemplates(cli: string): Promise<void> {
  const templates: Record<string, Template> = {};
  for (const [name, folder] of Object.entries(templateFolders))
    templates[name] = await filesOf(join(root, "examples", folder));
  await Bun.write(join(cli, "templates.bin"), Bun.zstdCompressSync(JSON.stringify(templates), { level: 19 }));
  const source = `import file from "./templates.bin" with { type: "file" };\nexport const templatesFile = file;\n`;
  await Bun.write(join(cli, "templates-build.ts"), source);
}
