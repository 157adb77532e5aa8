/** Starts the service below the tracer, as a test does. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, type Running, serve } from "../../kit.ts";
import type { TracerConfig } from "./config.ts";
import { Control } from "./control.ts";

/** A service below the tracer. The `pid`, `signal` and `stop` mean the service. */
export interface Traced extends Running {
  readonly control: Control;
}

/** The command that runs another below the tracer. */
export function tracedCommand(config: TracerConfig, command: readonly string[]): string[] {
  mkdirSync(config.output, { recursive: true });
  const path = join(config.output, "config.json");
  writeFileSync(path, JSON.stringify(config));
  return [process.execPath, join(import.meta.dir, "main.ts"), path, "--", ...command];
}

/** Starts the service in a folder, below the tracer, and waits until the service listens. The service stops after the file's tests. */
export async function serveTraced(
  cwd: string,
  config: TracerConfig,
  options: { args?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Traced> {
  const [bun = "", ...args] = tracedCommand(config, [executable, ...(options.args ?? [])]);
  const control = new Control(config.output);
  const running = await serve(cwd, { ...options, executable: bun, args });
  const signal = (name: NodeJS.Signals): void => {
    process.kill(control.pid, name);
  };
  return {
    ...running,
    pid: control.pid,
    control,
    signal,
    stop() {
      signal("SIGTERM");
      return running.exited;
    },
  };
}
