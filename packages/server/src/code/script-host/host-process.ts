/**
 * A process of the same executable beside the service, with a channel for messages: the interface, and the real process. Also the
 * tools of the runtime, which `socle add`, `socle check` and `socle test` run by the same executable.
 */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { messageOf, ownExecutable, residentBytes, watchMemory } from "../../base/kernel/index.ts";
import { withoutSettings } from "./environment.ts";

/** Less processor time than the service gets when both compute, and than other handlers get. */
const niceness = 5;
const lastNiceness = 15;
/** Between two tries to lower the priority of a session, in milliseconds. */
const retryMs = 150;
/** Settings of the runtime, which the runtime reads from the environment. */
const runtimeSettings = {
  // The runtime ends the process when the service ends, however that happens, also in an endless loop.
  BUN_FEATURE_FLAG_NO_ORPHANS: "1",
  // A function that ends with `return f()` stays on the stack: an error names the file and line.
  BUN_JSC_useTailCalls: "0",
};
/** The variable by which the runtime listens for a debugger. */
export const inspectVariable = "BUN_INSPECT";
/** Characters kept of the end of the standard error, the place of the reason when a runtime crashes. */
const maxLastWords = 2_000;

/** The service's end of a process. `SpawnedProcess` is the real end; unit tests use a fake. */
export interface HostProcess<Out> {
  /** Resolves when the process has ended, however that happened. */
  readonly exited: Promise<ProcessEnd>;
  readonly hasExited: boolean;
  /** Resident memory in bytes; null when the system does not tell. */
  readonly residentBytes: number | null;
  /** Calls `onMore` within seconds when the process has more resident memory than the limit, until the process has ended. */
  watchMemory(limit: number, onMore: () => void): void;
  /** Leaves the processor cores to other processes: the process computes for long, or may do so. */
  standBack(): void;
  /** Does nothing once the process has ended. */
  send(message: Out): void;
  kill(): void;
}

export interface ProcessEnd {
  /** For people: the signal or the exit code, and the last lines of the standard error. */
  readonly how: string;
  /** The signal that ended the process; null without a signal, or when the signal is not known. */
  readonly signal: string | null;
}

interface ProcessSurroundings {
  readonly cwd: string;
  /** The service's environment. Variables that configure the service are not passed on. */
  readonly environment: { readonly [name: string]: string | undefined };
}

export interface SpawnOptions extends ProcessSurroundings {
  /** The first word on the command line: makes the executable another kind of process. */
  readonly word: "script-host" | "script-query" | "test-service";
  /** JSON for the process; a word of the command line. */
  readonly options: object;
  /** `host:port/path`, where the runtime of the process listens for a debugger; without an address, no debugger attaches. */
  readonly inspect?: string;
  /** A file that the process has as descriptor 3. */
  readonly descriptor?: number;
}

/** A process of the same executable, in a process group of its own. */
export class SpawnedProcess<Out, In> implements HostProcess<Out> {
  readonly #child: Bun.Subprocess<"ignore", "ignore", "pipe">;
  #retry: Timer | undefined;
  readonly exited: Promise<ProcessEnd>;

  /** @throws Error when the system starts no further process. */
  constructor(options: SpawnOptions, onMessage: (message: In) => void) {
    if (!isAbsolute(options.cwd)) throw new Error("The process needs an absolute folder");
    const program = Bun.isStandaloneExecutable ? [] : [join(import.meta.dir, "../../main.ts")];
    this.#child = Bun.spawn([ownExecutable(), ...program, options.word, JSON.stringify(options.options)], {
      cwd: options.cwd,
      env: {
        ...withoutSettings(options.environment),
        ...runtimeSettings,
        ...(options.inspect !== undefined && { [inspectVariable]: options.inspect }),
      },
      stdio: ["ignore", "ignore", "pipe", ...(options.descriptor === undefined ? [] : [options.descriptor])],
      // A signal to the process group, from the terminal or from the user's code, reaches only one of the two processes.
      detached: true,
      serialization: "advanced",
      // The other side is the same executable.
      ipc: (message) => onMessage(message as In),
    });
    this.#lowerTo(niceness);
    this.exited = this.#awaitEnd();
  }

  send(message: Out): void {
    if (this.hasExited) return;
    try {
      this.#child.send(message);
    } catch {
      // The channel closes a moment before the end is known; `exited` tells.
    }
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  standBack(): void {
    this.#lowerTo(lastNiceness);
  }

  #lowerTo(level: number): void {
    try {
      setPriority(this.#child.pid, level);
    } catch {
      // The process has ended already, or the priority may not be changed; the process runs all the same.
    }
    clearTimeout(this.#retry);
    if (process.platform === "linux") this.#lowerSession(level);
  }

  /**
   * The process leads a session of its own. Linux may share out the cores by sessions: the niceness of a process then counts within its
   * session alone, and loops of user code would get as much as the service (sched(7), "The autogroup feature").
   */
  #lowerSession(level: number): void {
    if (this.hasExited) return;
    try {
      writeFileSync(`/proc/${this.#child.pid}/autogroup`, String(level));
    } catch (thrown) {
      // Users other than root change one session in a tenth of a second.
      if (messageOf(thrown).startsWith("EAGAIN"))
        this.#retry = setTimeout(() => this.#lowerSession(level), retryMs * (1 + Math.random())).unref();
    }
  }

  get residentBytes(): number | null {
    return residentBytes(this.#child.pid);
  }

  watchMemory(limit: number, onMore: () => void): void {
    const timer = watchMemory(this.#child.pid, limit, onMore);
    void this.exited.then(() => clearInterval(timer));
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async #awaitEnd(): Promise<ProcessEnd> {
    let lastWords = "";
    const listen = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const chunk of this.#child.stderr)
        lastWords = (lastWords + decoder.decode(chunk)).slice(-maxLastWords);
    };
    const listening = listen();
    await this.#child.exited;
    // A process that the user's code has started may hold the other end open for longer.
    await Promise.race([listening, Bun.sleep(50)]);
    const { signalCode, exitCode } = this.#child;
    const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;
    const said = lastWords.trim().split("\n").slice(-3).join(" ").trim();
    return { how: said === "" ? how : `${how}: ${said}`, signal: signalCode === null ? null : String(signalCode) };
  }
}

/** A process's handlers of the messages of another process, by type. */
export type Handlers<M extends { readonly type: string }> = {
  readonly [T in M["type"]]: (message: Extract<M, { readonly type: T }>) => void;
};

/** Gives a message to its handler. A message of another type is left alone: the user's code may send anything. */
export function dispatch<M extends { readonly type: string }>(handlers: Handlers<M>, message: M): void {
  const type: M["type"] = message.type;
  if (Object.hasOwn(handlers, type)) (handlers[type] as (message: M) => void)(message);
}

/**
 * Runs a tool with the output in the terminal, and answers the exit code. The service's configuration is not passed on, so
 * that programs which the tool starts (install scripts of packages) do not see the configuration.
 */
export async function runTool(
  args: readonly string[],
  { signal, ...surroundings }: ProcessSurroundings & { readonly signal?: AbortSignal },
): Promise<number> {
  const child = Bun.spawn([process.execPath, ...args], {
    ...settingsOf(surroundings),
    ...(signal !== undefined && { signal }),
    stdio: ["inherit", "inherit", "inherit"],
  });
  return child.exited;
}

/**
 * The environment in which scripts of packages find this executable by the names of the runtime, and as Node.js where there is none. The
 * names are links in `.socle/bin` of the project.
 */
export function withRuntimeNames({ cwd, environment }: ProcessSurroundings): ProcessSurroundings["environment"] {
  if (process.platform === "win32") return environment;
  const { PATH = "" } = environment;
  const folder = join(cwd, ".socle", "bin");
  mkdirSync(folder, { recursive: true });
  for (const name of ["bun", "bunx", ...(Bun.which("node", { PATH }) === null ? ["node"] : [])]) {
    // Another command may make the same link at this moment.
    const link = join(folder, `${name}-${process.pid}`);
    rmSync(link, { force: true });
    symlinkSync(process.execPath, link);
    renameSync(link, join(folder, name));
  }
  return { ...environment, PATH: `${PATH}${PATH === "" ? "" : delimiter}${folder}` };
}

/** Like `runTool`, but answers the output instead of showing the output. */
export async function toolOutput(
  args: readonly string[],
  surroundings: ProcessSurroundings,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([process.execPath, ...args], { ...settingsOf(surroundings), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

function settingsOf({ cwd, environment }: ProcessSurroundings): {
  cwd: string;
  env: Record<string, string | undefined>;
} {
  return { cwd, env: { ...withoutSettings(environment), BUN_BE_BUN: "1" } };
}
