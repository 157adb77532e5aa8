import { existsSync } from "node:fs";
import { join } from "node:path";

/** Adds what a `.env` file in the project has; the environment of the service wins, and its own keys stay outside. */
export function loadEnvironment(root: string): void {
  const file = join(root, ".env");
  if (existsSync(file)) process.loadEnvFile(file);
  for (const name of Object.keys(process.env)) if (name.startsWith("SERVICE_")) delete process.env[name];
}

/**
 * Takes from the user's code what would end the process that all functions share, or reach past it. This guards against
 * accidents: whoever writes functions owns the service.
 */
export function guardProcess(): void {
  const refuse = (name: string, instead: string) => (): never => {
    throw new Error(
      `${name} is not available in functions and jobs: it would end those that run beside this one. ${instead}`,
    );
  };
  const leave = "To end this one, return or throw.";
  const guarded = {
    exit: refuse("process.exit()", leave),
    reallyExit: refuse("process.reallyExit()", leave),
    abort: refuse("process.abort()", leave),
    kill: refuse("process.kill()", "A process that you started has a kill() of its own."),
    disconnect: () => undefined,
    send: undefined,
  };
  for (const [name, value] of Object.entries(guarded))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  // Whoever signals the parent by its number meets this process.
  Object.defineProperty(process, "ppid", { value: process.pid, configurable: true });
}
