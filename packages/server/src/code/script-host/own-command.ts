/** How other processes of this executable are started: the command, and their environment. */
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
