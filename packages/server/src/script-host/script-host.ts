import { type Awaitable, messageOf, SetupError } from "../kernel/index.ts";
import type { Loaded, ScriptOutcome, ScriptTask } from "./attempt.ts";
import { type FileState, FileStates } from "./file-states.ts";
import type { ScriptError, ScriptExports } from "./protocol.ts";
import { listScripts, listStrays, readCode, type ScriptFile, type ScriptFolder } from "./script-files.ts";
import { ScriptSlot, type SlotOptions } from "./script-slot.ts";

/** A file that is loaded, in this version or, where the last does not load, in an earlier one. */
export interface Script {
  readonly file: ScriptFile;
  readonly exports: ScriptExports;
}

/** Whose files these are. */
export interface ScriptKind {
  readonly folder: ScriptFolder;
  /** Looks at what a file exports. @throws Error that says what is wrong with it. */
  check(script: Script): void;
  /** From now on, these are all there are. `broken` are files that have never been loaded. */
  use(scripts: readonly Script[], broken: readonly string[]): Awaitable<void>;
}

export interface ScriptHostOptions extends SlotOptions {
  /** The project's folder. */
  readonly root: string;
  /** Processes for the user's code. */
  readonly processes: number;
  readonly kinds: readonly ScriptKind[];
}

/** The processes that have loaded one state of the files. */
interface Generation {
  readonly slots: readonly ScriptSlot[];
}

interface Home extends Script {
  readonly generation: Generation;
}

/**
 * The user's code, in processes of its own. Each load takes a new process, so that nothing of an earlier one is left; a
 * file that does not load stays in the process that had loaded it before.
 */
export class ScriptHost {
  readonly #options: ScriptHostOptions;
  #homes = new Map<string, Home>();
  /** Also those that only finish what they run. */
  readonly #alive = new Set<Generation>();
  #loading: Promise<void> = Promise.resolve();
  #change: PromiseWithResolvers<void> | null = null;
  readonly #states = new FileStates();
  #isStopped = false;

  constructor(options: ScriptHostOptions) {
    this.#options = options;
  }

  /** Whether there is anything to run. */
  get isEmpty(): boolean {
    return this.#homes.size === 0;
  }

  /** Why a file did not load when it was last tried; null when it did, or is not there. */
  problemOf(path: string): string | null {
    return this.states().find(({ file }) => file.path === path)?.problem?.message ?? null;
  }

  /** All files, with what became of them when they were last loaded. */
  states(): readonly FileState[] {
    return this.#states.list();
  }

  /** Loads what is in the folders now. Runs go on; those that come find either the old or the new files. */
  load(): Promise<void> {
    // One that failed must not keep the next from its turn.
    const before = this.#loading.catch(() => undefined);
    this.#loading = before.then(() => (this.#isStopped ? undefined : this.#load()));
    return this.#loading;
  }

  async run(task: ScriptTask): Promise<ScriptOutcome> {
    // Between two sets of files, nothing starts: whose turn it is may be decided by the old, and be run by the new.
    if (this.#change !== null) await this.#change.promise;
    const home = this.#homes.get(task.path);
    const [first, ...others] = home?.generation.slots ?? [];
    if (first === undefined) return { status: "gone" };
    return others.reduce((least, slot) => (slot.load < least.load ? slot : least), first).run(task);
  }

  /** Waits for what runs, at most so long, and ends all processes. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const slots = [...this.#alive].flatMap((generation) => generation.slots);
    if (graceMs > 0) await Promise.race([Promise.all(slots.map((slot) => slot.drained())), Bun.sleep(graceMs)]);
    for (const slot of slots) slot.stop();
  }

  async #load(): Promise<void> {
    const files = listScripts(this.#options.root);
    for (const path of listStrays(this.#options.root))
      this.#options.logger.warn(
        `${path} has no effect: functions are functions/<collection>/<file>.ts, jobs are jobs/<file>.ts, shared code starts with _`,
      );
    const { generation, loaded } = await this.#open(files);
    if (this.#isStopped) return;
    const homes = new Map<string, Home>();
    const broken: string[] = [];
    this.#states.keep(files);
    for (const file of files) {
      const home = this.#homeOf(file, loaded.get(file.path), generation);
      if (home === null) broken.push(file.path);
      else homes.set(file.path, home);
    }
    this.#change = Promise.withResolvers<void>();
    try {
      this.#homes = homes;
      await this.#announce(broken);
    } finally {
      this.#change.resolve();
      this.#change = null;
    }
    const needed = new Set([...homes.values()].map((home) => home.generation));
    for (const old of this.#alive) if (!needed.has(old)) void this.#retire(old);
  }

  /** Lets the runs of processes that are not needed any more come to their end. */
  async #retire(generation: Generation): Promise<void> {
    await Promise.all(generation.slots.map((slot) => slot.drained()));
    for (const slot of generation.slots) slot.stop();
    this.#alive.delete(generation);
  }

  /** Starts processes for these files, unless there are none. */
  async #open(files: readonly ScriptFile[]): Promise<{ generation: Generation; loaded: Map<string, Loaded> }> {
    if (files.length === 0) return { generation: { slots: [] }, loaded: new Map() };
    const code = readCode(this.#options.root);
    const slots = Array.from({ length: this.#options.processes }, () => new ScriptSlot(this.#options, code));
    const generation: Generation = { slots };
    this.#alive.add(generation);
    try {
      // One after the other: a file that is broken in the first need not be tried in the others.
      const loaded = new Map<string, Loaded>(files.map(({ path }) => [path, { error: { message: "was not loaded" } }]));
      let paths = files.map(({ path }) => path);
      for (const slot of slots) {
        for (const [path, result] of await slot.start(paths)) loaded.set(path, result);
        paths = paths.filter((path) => "exports" in (loaded.get(path) ?? {}));
      }
      return { generation, loaded };
    } catch (thrown) {
      this.#alive.delete(generation);
      for (const slot of slots) slot.stop();
      throw new SetupError(`functions and jobs: their process cannot be started: ${messageOf(thrown)}`);
    }
  }

  /** Where a file runs from now on; null when it has never been loaded. What is wrong with it is logged. */
  #homeOf(file: ScriptFile, loaded: Loaded | undefined, generation: Generation): Home | null {
    const { logger } = this.#options;
    const problem = this.#findProblem(file, loaded);
    if (problem === null && loaded !== undefined && "exports" in loaded) {
      this.#states.loaded(file);
      return { file, exports: loaded.exports, generation };
    }
    this.#states.failed(file, problem ?? { message: "was not loaded" });
    const old = this.#homes.get(file.path);
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
    const scripts = [...this.#homes.values()];
    for (const kind of this.#options.kinds)
      await kind.use(
        scripts.filter(({ file }) => file.folder === kind.folder),
        broken,
      );
  }
}
