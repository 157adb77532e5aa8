/** Guards of a script process: its environment, and the functions of the runtime that would end the process. */
import { missingVariables, readEnvironmentFile, variablesOf } from "../environment.ts";

/** Adds the variables of the project's `.env` file. The service's environment wins; the variables that configure the service are removed. */
export function loadEnvironment(root: string): void {
  for (const [name, value] of Object.entries(readEnvironmentFile(root, ".env"))) process.env[name] ??= value;
  for (const name of Object.keys(process.env)) if (name.startsWith("SERVICE_")) delete process.env[name];
}

/**
 * The `env` of handlers: the declared variables with their present values. A required variable that is not set throws when it
 * is read.
 */
export function declaredEnvironment(declared: readonly string[]): object {
  const env = {};
  const missing = missingVariables(declared, process.env);
  for (const { name } of variablesOf(declared)) {
    const refuse = (): never => {
      throw new Error(`${name} is not set: put it into the environment of the service, or into .env`);
    };
    const property = missing.includes(name) ? { get: refuse } : { value: process.env[name], enumerable: true };
    Object.defineProperty(env, name, property);
  }
  return Object.freeze(env);
}

/**
 * Replaces functions of the runtime that would end the process, which all functions share, or its parent. A guard against
 * accidents, not against malice: the author of a function owns the service.
 */
export function guardProcess(): void {
  const refuse = (name: string, instead: string) => (): never => {
    throw new Error(
      `${name} is not available in functions, jobs and endpoints: it would end the handlers that run beside this one. ${instead}`,
    );
  };
  const leave = "To end this handler, return or throw.";
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
  // A signal to the parent by its number reaches this process instead.
  Object.defineProperty(process, "ppid", { value: process.pid, configurable: true });
}
