/** Executables of earlier commits of this repository, built once and kept in the temporary folder. */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../kit.ts";

const cache = join(tmpdir(), "socle-earlier-builds");

export interface Build {
  readonly commit: string;
  /** The day and subject. */
  readonly title: string;
  readonly executable: string;
}

async function run(command: string[], cwd: string): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed: ${out.slice(-500)}${said.slice(-500)}`);
  return out.trim();
}

/** The commits of the main line, oldest first. @throws Error without the full history. */
export async function history(): Promise<string[]> {
  const isShallow = await run(["git", "rev-parse", "--is-shallow-repository"], root);
  const commits = (await run(["git", "log", "--first-parent", "--reverse", "--format=%H"], root)).split("\n");
  if (isShallow !== "false" || commits.length < 100)
    throw new Error(
      `This needs the repository with its history; there are ${commits.length} commits (git fetch --unshallow)`,
    );
  return commits;
}

/** @throws Error when the commit cannot be built. */
export async function build(commit: string): Promise<Build> {
  const title = await run(["git", "log", "-1", "--format=%cs, %s", commit], root);
  const executable = join(cache, commit.slice(0, 12), "socle");
  if (existsSync(executable)) return { commit, title, executable };
  const source = join(cache, `source-${commit.slice(0, 12)}`);
  rmSync(source, { recursive: true, force: true });
  mkdirSync(source, { recursive: true });
  try {
    const archive = join(cache, `${commit.slice(0, 12)}.tar`);
    await run(["git", "archive", "--output", archive, commit], root);
    await run(["tar", "-xf", archive, "-C", source], root);
    rmSync(archive);
    await run(["npm", "ci", "--no-audit", "--no-fund"], source);
    await run(["npm", "run", "build"], source);
    mkdirSync(dirname(executable), { recursive: true });
    renameSync(join(source, "dist/socle"), executable);
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
  return { commit, title, executable };
}
