import { withoutSettings } from "./own-command.ts";

export interface ToolOptions {
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
}

/**
 * Runs one of the tools that the runtime brings along (`add`, `check`): the executable has all of it inside. Its output
 * goes to the terminal. Programs that it starts (install scripts of packages) do not see the service's configuration. Answers its exit code.
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
