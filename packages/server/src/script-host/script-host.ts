/** The script host: loads the user's code into processes of its own, reloads it, and runs handlers there. */
import { type Awaitable, messageOf, SetupError } from "../kernel/index.ts";
import type { Loaded, ScriptOutcome, ScriptTask } from "./attempt.ts";
import { type FileState, FileStates } from "./file-states.ts";
import { SpawnedProcess, type SpawnOptions } from "./host-process.ts";
import type { FromChild, ScriptError, ScriptExports, ToChild } from "./protocol.ts";
import { listScripts, listStrays, readCode, type ScriptFile, type ScriptFolder } from "./script-files.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

/** A loaded file: its newest version that loads. */
export interface Script {
  readonly file: ScriptFile;
  readonly exports: ScriptExports;
}

/** A kind of script, functions or jobs: the owner of a folder. */
export interface ScriptKind {
  readonly folder: ScriptFolder;
  /** Checks the exports of a file. @throws Error that names the fault. */
  check(script: Script): void;
  /** Replaces all scripts of the kind. `broken` are paths of files that have never been loaded. */
  use(scripts: readonly Script[], broken: readonly string[]): Awaitable<void>;
}

export interface ScriptHostOptions extends Omit<SupervisorOptions, "spawn" | "code"> {
  /** How a process of the user's code is started. */
  readonly process: SpawnOptions;
  /** The project's folder. */
  readonly root: string;
  /** Processes for the user's code. */
  readonly processes: number;
  readonly kinds: readonly ScriptKind[];
}

/** The processes that have loaded one state of the files. */
interface Generation {
  readonly supervisors: readonly Supervisor[];
}

interface LoadedScript extends Script {
  readonly generation: Generation;
}

/**
 * Each load starts new processes, so that no state of the earlier code is left. A file that does not load stays in the
 * processes that had loaded its last version.
 */
export class ScriptHost {
  readonly #options: ScriptHostOptions;
  /** By path. */
  #scripts = new Map<string, LoadedScript>();
  /** All generations with processes, also those that only finish their runs. */
  readonly #alive = new Set<Generation>();
  #loading: Promise<void> = Promise.resolve();
  /** Resolved when the change from one set of scripts to the next is over; null while there is none. */
  #change: PromiseWithResolvers<void> | null = null;
  readonly #states = new FileStates();
  #isStopped = false;

  constructor(options: ScriptHostOptions) {
    this.#options = options;
  }

  /** Whether no script is loaded. */
  get isEmpty(): boolean {
    return this.#scripts.size === 0;
  }

  /** The reason why a file did not load at the last load; null when it did, or does not exist. */
  problemOf(path: string): string | null {
    return this.states().find(({ file }) => file.path === path)?.problem?.message ?? null;
  }

  /** All files, with what became of them when they were last loaded. */
  states(): readonly FileState[] {
    return this.#states.list();
  }

  /** Loads the files in the folders now. Runs under way go on; later ones run either the old or the new set of files. */
  load(): Promise<void> {
    // A load that failed must not keep the next one from starting.
    const before = this.#loading.catch(() => undefined);
    this.#loading = before.then(() => (this.#isStopped ? undefined : this.#load()));
    return this.#loading;
  }

  async run(task: ScriptTask): Promise<ScriptOutcome> {
    // During a reload, runs wait: one that was scheduled with the old files must not start with the new ones.
    if (this.#change !== null) await this.#change.promise;
    const [first, ...others] = this.#scripts.get(task.path)?.generation.supervisors ?? [];
    if (first === undefined) return { status: "gone" };
    return others.reduce((least, each) => (each.load < least.load ? each : least), first).run(task);
  }

  /** Ends all processes. Runs under way are settled as stopped. */
  stop(): void {
    this.#isStopped = true;
    for (const { supervisors } of this.#alive) for (const supervisor of supervisors) supervisor.stop();
  }

  async #load(): Promise<void> {
    const files = listScripts(this.#options.root);
    for (const path of listStrays(this.#options.root))
      this.#options.logger.warn(
        `${path} has no effect: functions are functions/<collection>/<file>.ts, jobs are jobs/<file>.ts, shared code starts with _`,
      );
    const { generation, loaded } = await this.#open(files);
    if (this.#isStopped) return;
    const scripts = new Map<string, LoadedScript>();
    const broken: string[] = [];
    this.#states.keep(files);
    for (const file of files) {
      const script = this.#scriptOf(file, loaded.get(file.path), generation);
      if (script === null) broken.push(file.path);
      else scripts.set(file.path, script);
    }
    this.#change = Promise.withResolvers<void>();
    try {
      this.#scripts = scripts;
      await this.#announce(broken);
    } finally {
      this.#change.resolve();
      this.#change = null;
    }
    const needed = new Set([...scripts.values()].map((script) => script.generation));
    for (const old of this.#alive) if (!needed.has(old)) void this.#retire(old);
  }

  /** Ends the processes of a generation that no script needs any more, once their runs have ended. */
  async #retire(generation: Generation): Promise<void> {
    await Promise.all(generation.supervisors.map((supervisor) => supervisor.drained()));
    for (const supervisor of generation.supervisors) supervisor.stop();
    this.#alive.delete(generation);
  }

  /** Starts processes for these files, unless there are none. */
  async #open(files: readonly ScriptFile[]): Promise<{ generation: Generation; loaded: Map<string, Loaded> }> {
    if (files.length === 0) return { generation: { supervisors: [] }, loaded: new Map() };
    const code = readCode(this.#options.root);
    const spawn = (onMessage: (message: FromChild) => void): SpawnedProcess<ToChild, FromChild> =>
      new SpawnedProcess(this.#options.process, onMessage);
    const supervisors = Array.from(
      { length: this.#options.processes },
      () => new Supervisor({ ...this.#options, spawn, code }),
    );
    const generation: Generation = { supervisors };
    this.#alive.add(generation);
    try {
      // One process after the other: a file that does not load in the first one need not be tried in the others.
      const loaded = new Map<string, Loaded>(files.map(({ path }) => [path, { error: { message: "was not loaded" } }]));
      let paths = files.map(({ path }) => path);
      for (const supervisor of supervisors) {
        for (const [path, result] of await supervisor.start(paths)) loaded.set(path, result);
        paths = paths.filter((path) => "exports" in (loaded.get(path) ?? {}));
      }
      return { generation, loaded };
    } catch (thrown) {
      this.#alive.delete(generation);
      for (const supervisor of supervisors) supervisor.stop();
      throw new SetupError(`functions and jobs: their process cannot be started: ${messageOf(thrown)}`);
    }
  }

  /** The newest version of a file that loads; null when there is none. The reason why the file does not load is logged. */
  #scriptOf(file: ScriptFile, loaded: Loaded | undefined, generation: Generation): LoadedScript | null {
    const { logger } = this.#options;
    const problem = this.#findProblem(file, loaded);
    if (problem === null && loaded !== undefined && "exports" in loaded) {
      this.#states.loaded(file);
      return { file, exports: loaded.exports, generation };
    }
    this.#states.failed(file, problem ?? { message: "was not loaded" });
    const old = this.#scripts.get(file.path);
    const effect = old === undefined ? "it has no effect" : "its last version keeps running";
    logger.error(`${file.path} does not load, ${effect}: ${problem?.message}`);
    return old ?? null;
  }

  #findProblem(file: ScriptFile, loaded: Loaded | undefined): ScriptError | null {
    if (loaded === undefined) return { message: "was not loaded" };
    if ("error" in loaded) return loaded.error;
    const kind = this.#options.kinds.find(({ folder }) => folder === file.folder);
    try {
      kind?.check({ file, exports: loaded.exports });
      return null;
    } catch (thrown) {
      return { message: messageOf(thrown) };
    }
  }

  async #announce(broken: readonly string[]): Promise<void> {
    const scripts = [...this.#scripts.values()];
    for (const kind of this.#options.kinds)
      await kind.use(
        scripts.filter(({ file }) => file.folder === kind.folder),
        broken,
      );
  }
}
