/** `socle init`: writes the files of a template into a folder, and names the next commands. */
import { lstatSync, statSync } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { launcherProgram, shellCommand, version } from "../../app/index.ts";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import { type Command, textOption } from "../command.ts";
import { readTemplate, type Template, templateNames } from "../templates.ts";

const [defaultTemplate = ""] = templateNames;

export const init: Command = {
  name: "init",
  args: ["[DIR]"],
  summary: "Write the files of a project, here or into a folder",
  options: {
    template: { value: "NAME", summary: `one of ${templateNames.join(", ")} (default: ${defaultTemplate})` },
  },
  isBare: true,
  async run({ args: [dir = "."], options, terminal: { program, out } }) {
    const template = await readTemplate(textOption(options, "template") ?? defaultTemplate);
    const files = program === launcherProgram ? forLauncher(template) : template;
    const folder = resolve(dir);
    const made = await mkdir(folder, { recursive: true }).catch((error: unknown) => {
      throw new SetupError(`${folder} cannot be made: ${messageOf(error)}`);
    });
    const taken = takenPaths(folder, Object.keys(files));
    const are = taken.length === 1 ? "is" : "are";
    if (taken.length > 0)
      throw new SetupError(`${folder}: ${taken.join(", ")} ${are} already there; nothing was written`);
    await writeFiles(folder, files, made);
    for (const file of Object.keys(files)) out(`  ${join(dir, file)}\n`);
    out(nextCommands(files, dir, programFrom(folder, program)));
    return 0;
  },
};

/** The paths of a folder that keep files from being written: files, and files in the place of a folder. */
function takenPaths(folder: string, files: readonly string[]): string[] {
  const options = { throwIfNoEntry: false } as const;
  const taken = files.flatMap((file) => {
    const parts = file.split("/");
    const folders = parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
    const blocked = folders.find((path) => statSync(join(folder, path), options)?.isDirectory() === false);
    return blocked ?? (lstatSync(join(folder, file), options) === undefined ? [] : file);
  });
  return [...new Set(taken)];
}

/** Writes all files, or none. @param root the folder that was made for the files. @throws SetupError */
async function writeFiles(folder: string, files: Template, root?: string): Promise<void> {
  const made = root === undefined ? [] : [root];
  for (const [file, content] of Object.entries(files)) {
    const path = join(folder, file);
    try {
      const first = await mkdir(dirname(path), { recursive: true });
      if (first !== undefined) made.push(first);
      // Another program may have made the file meanwhile.
      await using handle = await open(path, "wx");
      made.push(path);
      await handle.writeFile(content);
    } catch (error) {
      for (const each of made) await rm(each, { recursive: true, force: true });
      throw new SetupError(`${path} cannot be written: ${messageOf(error)}; nothing was written`);
    }
  }
}

/** A command of a page that begins with `socle`, up to the comment behind. */
const socleCommand = /^((?:SERVICE_\w+=\S+ )?)(socle(?![\w/-])(?: \S+)*)(?: {4}(?= *#))?/gm;

/** The files for a project whose commands go through npm: the launcher is a package of the project, and the page names its commands. */
function forLauncher(template: Template): Template {
  const files = { ...template };
  const { "package.json": manifest, "README.md": page } = template;
  if (page !== undefined) files["README.md"] = page.replaceAll(socleCommand, "$1npx $2");
  if (manifest === undefined) return files;
  const parsed = JSON.parse(manifest);
  const packages = Object.entries({ ...parsed.devDependencies, socle: version }).sort(([a], [b]) => (a < b ? -1 : 1));
  const content = { ...parsed, devDependencies: Object.fromEntries(packages) };
  files["package.json"] = `${JSON.stringify(content, null, 2)}\n`;
  return files;
}

/** The lines that name the commands which start the project. */
function nextCommands(files: Template, dir: string, program: string): string {
  const isOfPages = "socle/config.json" in files;
  const dev = shellCommand(program, "dev", ...(isOfPages ? ["--config", "socle/config.json"] : []));
  const line = (...commands: string[]): string =>
    `\n  ${[...(dir === "." ? [] : [shellCommand("cd", dir)]), ...commands].join(" && ")}\n`;
  if (!("package.json" in files)) return `\nStart the service with:\n${line(dev)}`;
  const first = `\nInstall the packages, and start the service:\n${line("npm install", dev)}`;
  return `${first}\nIn a second terminal, start the pages:\n${line("npm run dev")}`;
}

/** How a program that was called as `program` from here is called from another folder. */
function programFrom(folder: string, program: string): string {
  // The shell looks up a name without a folder, from any folder.
  if (!program.includes(sep) || isAbsolute(program)) return program;
  const path = relative(resolve(folder), resolve(program));
  return path.startsWith("..") ? path : `.${sep}${join(path)}`;
}
