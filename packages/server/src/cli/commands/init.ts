/** `socle init`: writes the files of a new project. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { shellCommand } from "../../app/index.ts";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import type { Command } from "../command.ts";
import { template } from "../template.ts";

export const init: Command = {
  name: "init",
  args: ["[DIR]"],
  summary: "Write the files of a small project, here or into a folder",
  options: {},
  async run({ args: [dir = "."], terminal }) {
    const folder = resolve(dir);
    const taken = Object.keys(template).filter((file) => existsSync(join(folder, file)));
    const are = taken.length === 1 ? "is" : "are";
    if (taken.length > 0)
      throw new SetupError(`${folder}: ${taken.join(", ")} ${are} already there; nothing was written`);
    await mkdir(folder, { recursive: true }).catch((error: unknown) => {
      throw new SetupError(`${folder} cannot be made: ${messageOf(error)}`);
    });
    for (const [file, content] of Object.entries(template)) {
      const path = join(folder, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      terminal.out(`  ${join(dir, file)}\n`);
    }
    const start = shellCommand(programFrom(folder, terminal.program), "dev");
    terminal.out(`\nStart it with:\n\n  ${dir === "." ? start : `${shellCommand("cd", dir)} && ${start}`}\n`);
    return 0;
  },
};

/** How a program that was called as `program` from here is called from another folder. */
function programFrom(folder: string, program: string): string {
  // The shell looks up a name without a folder, from any folder.
  if (!program.includes(sep) || isAbsolute(program)) return program;
  const path = relative(resolve(folder), resolve(program));
  return path.startsWith("..") ? path : `.${sep}${join(path)}`;
}
