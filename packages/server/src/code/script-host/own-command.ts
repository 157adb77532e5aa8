/**
 * How this executable is started once more: as this program, or as one of the tools of the runtime, which `socle add`, `socle check` and
 * `socle test` run.
 */
import { join } from "node:path";

/** How to start this program once more: the executable, or the runtime with the program. */
export function ownCommand(): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath];
  return [process.execPath, join(import.meta.dir, "../../main.ts")];
}

/** An environment without the variables of the service: its secrets are for no other process. */
export function withoutSettings(environment: { readonly [name: string]: string | undefined }): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && !name.startsWith("SERVICE_")) kept[name] = value;
  return kept;
}

export interface ToolOptions {
  readonly cwd: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Ends the tool. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a tool with its output in the terminal, and answers its exit code. The service's configuration is not passed on, so
 * that programs which the tool starts (install scripts of packages) do not see the configuration.
 */
export async function runTool(args: readonly string[], options: ToolOptions): Promise<number> {
  const { signal } = options;
  const child = Bun.spawn([process.execPath, ...args], {
    ...settingsOf(options),
    ...(signal !== undefined && { signal }),
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  return child.exited;
}

/** Like `runTool`, but answers the output instead of showing it. */
export async function toolOutput(
  args: readonly string[],
  options: ToolOptions,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([process.execPath, ...args], { ...settingsOf(options), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

function settingsOf({ cwd, environment }: ToolOptions): { cwd: string; env: Record<string, string | undefined> } {
  return { cwd, env: { ...withoutSettings(environment), BUN_BE_BUN: "1" } };
}
