import { withoutSettings } from "./own-command.ts";

export interface ToolOptions {
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
}

/**
 * Runs one of the tools that the runtime brings along (`add`, `check`): the executable has all of it inside. What it says
 * goes to the terminal. What it runs (install scripts of packages) does not see how the service is configured. Answers its exit code.
 */
export async function runTool(args: readonly string[], { cwd, environment }: ToolOptions): Promise<number> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd,
    env: { ...withoutSettings(environment), BUN_BE_BUN: "1" },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  return child.exited;
}
