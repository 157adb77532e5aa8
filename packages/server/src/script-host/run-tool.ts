/** The tools of the runtime, which the executable contains: `socle add`, `socle check` and `socle test` run them. */
import { withoutSettings } from "./own-command.ts";

export interface ToolOptions {
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Ends the tool. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a tool with its output in the terminal, and answers its exit code. The service's configuration is not passed on, so
 * that programs which the tool starts (install scripts of packages) do not see it.
 */
export async function runTool(args: readonly string[], { cwd, environment, signal }: ToolOptions): Promise<number> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd,
    env: { ...withoutSettings(environment), BUN_BE_BUN: "1" },
    ...(signal !== undefined && { signal }),
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  return child.exited;
}
