/** Helpers of the scripts: the scripts run other programs and stop at the first failed program. */
import { join } from "node:path";

/** The folder of the project. */
export const root = join(import.meta.dirname, "..");

/** Runs a program with its output on the terminal; answers its exit code. */
export async function start(
  command: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<number> {
  const child = Bun.spawn(command, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ["inherit", "inherit", "inherit"],
  });
  return child.exited;
}

/** Runs a program; a failure of the program ends this process. */
export async function must(
  command: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<void> {
  const code = await start(command, options);
  if (code !== 0) process.exit(code);
}

/** A program that npm installed. */
export function tool(name: string): string {
  return `${root}/node_modules/.bin/${name}`;
}
