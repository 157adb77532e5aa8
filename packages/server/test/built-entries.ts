/**
 * Preloaded by `npm test`: threads and processes of the service that a test starts run as built by the run, in place of the source. A start
 * from the source compiles the source each time, which takes two to three times the processor time. A test that runs without `npm test` starts the source.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

const source = join(import.meta.dir, "../src");
const folder = process.env["SOCLE_BUILT_ENTRIES"] ?? "";
const executable = process.env["SOCLE_BUILT_EXECUTABLE"] ?? "";
if (!existsSync(folder) || !existsSync(executable))
  throw new Error("SOCLE_BUILT_ENTRIES and SOCLE_BUILT_EXECUTABLE name what scripts/test.ts has built");

/** The built module of a thread; the path itself for any other module, for example a module of a test. */
function builtOf(entry: string | URL): string | URL {
  const path = String(entry);
  if (!path.startsWith(`${source}/`)) return entry;
  const built = join(folder, `${path.slice(source.length + 1).replace(/\.ts$/, "")}.js`);
  if (!existsSync(built)) throw new Error(`${built} is missing: is ${path} named in a call of threadEntry?`);
  return built;
}

globalThis.Worker = class extends Worker {
  constructor(entry: string | URL, options?: WorkerOptions) {
    super(builtOf(entry), options);
  }
};

const program = join(source, "main.ts");
const words = ["script-host", "script-query", "test-service"];

/** The command with the executable, for a process of the user's code and a service under test; the command itself for any other process. */
function withExecutable(command: unknown): unknown {
  if (!Array.isArray(command)) return command;
  const [, path, word, ...rest] = command;
  return path === program && words.includes(word) ? [executable, word, ...rest] : command;
}

const apply: ProxyHandler<typeof Bun.spawn>["apply"] = (spawn, self, [command, ...others]) =>
  Reflect.apply(spawn, self, [withExecutable(command), ...others]);
Reflect.set(Bun, "spawn", new Proxy(Bun.spawn, { apply }));
