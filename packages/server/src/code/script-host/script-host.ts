/** The script host: loads and reloads the user's code in separate processes, and runs the handlers. */
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import { type CallOutcome, runOutcome, type ScriptOutcome, type ScriptTask } from "./attempt.ts";
import type { CallAnswers } from "./call-transport.ts";
import { missingVariables, readEnvironmentFile } from "./environment.ts";
import { type FileState, FileStates } from "./file-states.ts";
import { SpawnedProcess, type SpawnOptions } from "./host-process.ts";
import { LANES, type Lane, laneOptions } from "./lanes.ts";
import { withoutSettings } from "./own-command.ts";
import type { CodeFile, FromChild, Loaded, ScriptError, ScriptExports, ToChild } from "./protocol.ts";
import { listScripts, listStrays, readCode, type ScriptFile, type ScriptFolder } from "./script-files.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

/** A loaded file: the newest version without a load error. */
export interface Script {
  readonly file: ScriptFile;
  readonly exports: ScriptExports;
}

/** A file without a version that ever loaded. */
export interface BrokenScript {
  readonly file: ScriptFile;
  /** The text of the file; null when the file cannot be read. */
  readonly source: string | null;
}

/** A kind of script, functions or jobs: the owner of a folder. */
export interface ScriptKind {
  readonly folder: ScriptFolder;
  /** The lane that loads a file first, to read the file's exports. */
  readonly firstLane: Lane;
  /** The lanes that need a file with these exports. */
  lanesOf(exports: ScriptExports): readonly Lane[];
  /** Checks the exports of a file. @param files the paths of all files. @throws Error that names the fault. */
  check(script: Script, files: readonly string[]): void;
  /** Replaces all scripts of the kind. `broken` are the other files. */
  use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void>;
}

export interface ScriptHostOptions extends Pick<SupervisorOptions, "memoryLimit" | "logger"> {
  /** The start of the processes of the user's code, in a project's folder. */
  readonly process: (root: string) => SpawnOptions;
  /** The real path of the project's folder, read at each load: the target of a link may have changed. */
  readonly root: () => string;
  /** The variables of the environment that `scripts.env` declares. */
  readonly env: readonly string[];
  /** The number of processes of each lane that has files. */
  readonly processes: number;
}

/** The modules that own the code. */
interface ScriptOwners {
  readonly kinds: readonly ScriptKind[];
  /** Answers the calls of the code. */
  readonly calls: CallAnswers;
}

/** The processes that have loaded the same state of the files. */
interface Generation {
  readonly lanes: ReadonlyMap<Lane, readonly Supervisor[]>;
}

interface LoadedScript extends Script {
  readonly generation: Generation;
}

/**
 * Each load starts new processes, so that no state of the earlier code is left. A file that does not load stays in
 * service in the processes with its last version.
 */
export class ScriptHost {
  readonly #options: ScriptHostOptions;
  #owners: ScriptOwners | null = null;
  #processesLost = 0;
  /** The loaded scripts by path. */
  #scripts = new Map<string, LoadedScript>();
  /** All generations with processes, including generations that only finish their runs. */
  readonly #alive = new Set<Generation>();
  #loading: Promise<void> = Promise.resolve();
  /** Resolved when the change from one set of scripts to the next is complete; null without a change. */
  #change: PromiseWithResolvers<void> | null = null;
  readonly #states = new FileStates();
  #missing: readonly string[] = [];
  #isStopped = false;

  constructor(options: ScriptHostOptions) {
    this.#options = options;
  }

  /** Sets the owners of the code. Call `serve` once, before the first load. */
  serve(owners: ScriptOwners): void {
    this.#owners = owners;
  }

  /** The number of lost processes that another process has replaced. */
  get processesLost(): number {
    return this.#processesLost;
  }

  /** Whether no script is loaded. */
  get isEmpty(): boolean {
    return this.#scripts.size === 0;
  }

  /** The reason why a file failed at the last load; null for a loaded file, and for a missing file. */
  problemOf(path: string): string | null {
    return this.states().find(({ file }) => file.path === path)?.problem?.message ?? null;
  }

  /** All files, each with the outcome of its last load. */
  states(): readonly FileState[] {
    return this.#states.list();
  }

  /** The declared variables that had no value at the last load. */
  missingVariables(): readonly string[] {
    return this.#missing;
  }

  /**
   * Loads the files in the folders now. Runs under way go on; later runs use either the old or the new set of files.
   */
  load(): Promise<void> {
    // A failed load must not prevent the next load.
    const before = this.#loading.catch(() => undefined);
    this.#loading = before.then(() => (this.#isStopped ? undefined : this.#load()));
    return this.#loading;
  }

  /** Calls the handler of a function or job, and gives the end of the run. Never rejects. */
  async run(task: ScriptTask): Promise<ScriptOutcome> {
    return runOutcome(await this.call("runs", task), task.timeoutMs);
  }

  /** Calls a handler in a lane. Never rejects. */
  async call(lane: Lane, task: ScriptTask): Promise<CallOutcome> {
    // During a reload, calls wait: a run that was scheduled with the old files must not start with the new files.
    if (this.#change !== null) await this.#change.promise;
    return this.#supervisorOf(task.path, lane)?.call(task) ?? { status: "gone" };
  }

  /** The least busy process among the processes that have loaded a file; undefined if no process has. */
  #supervisorOf(path: string, lane: Lane): Supervisor | undefined {
    const [first, ...others] = this.#scripts.get(path)?.generation.lanes.get(lane) ?? [];
    return first && others.reduce((least, each) => (each.load < least.load ? each : least), first);
  }

  /** The number of attempts that wait or are under way, including attempts of hooks and endpoints. */
  get underWay(): number {
    let attempts = 0;
    for (const generation of this.#alive) for (const { load } of supervisorsOf(generation)) attempts += load;
    return attempts;
  }

  /** Moves the time of the script processes, after the time of this process was moved (`moveTime`). */
  followTime(): void {
    for (const generation of this.#alive) for (const supervisor of supervisorsOf(generation)) supervisor.followTime();
  }

  /** Ends all processes. Runs and calls under way are reported as stopped. */
  stop(): void {
    this.#isStopped = true;
    for (const generation of this.#alive) for (const supervisor of supervisorsOf(generation)) supervisor.stop();
  }

  async #load(): Promise<void> {
    const root = this.#options.root();
    const files = listScripts(root);
    for (const path of listStrays(root))
      this.#options.logger.warn(
        `${path} has no effect: functions are functions/<collection>/<file>.ts, jobs are jobs/<file>.ts, endpoints end in .ts, shared code starts with _`,
      );
    const code = files.length === 0 ? [] : readCode(root);
    this.#missing = this.#missingVariables(root);
    for (const name of this.#missing)
      this.#options.logger.warn(
        `${name} is not set, which scripts.env declares: put it into the environment of the service, or into .env`,
      );
    const { generation, loaded } = await this.#open(root, files, code);
    if (this.#isStopped) return;
    const scripts = new Map<string, LoadedScript>();
    const broken: BrokenScript[] = [];
    this.#states.keep(files);
    const paths = files.map(({ path }) => path);
    for (const file of files) {
      const script = this.#scriptOf(file, loaded.get(file.path), { generation, paths });
      if (script === null) broken.push({ file, source: code.find(({ path }) => path === file.path)?.content ?? null });
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

  #missingVariables(root: string): string[] {
    const { env, process, logger } = this.#options;
    if (env.length === 0) return [];
    try {
      // The service's environment takes precedence.
      return missingVariables(env, {
        ...readEnvironmentFile(root, ".env"),
        ...withoutSettings(process(root).environment),
      });
    } catch (error) {
      logger.error(".env cannot be read", { error });
      return [];
    }
  }

  /** Ends the processes of an unneeded generation, after their runs have ended. */
  async #retire(generation: Generation): Promise<void> {
    const supervisors = supervisorsOf(generation);
    await Promise.all(supervisors.map((supervisor) => supervisor.drained()));
    for (const supervisor of supervisors) supervisor.stop();
    this.#alive.delete(generation);
  }

  /** Starts the processes that these files need. */
  async #open(
    root: string,
    files: readonly ScriptFile[],
    code: readonly CodeFile[],
  ): Promise<{ generation: Generation; loaded: Map<string, Loaded> }> {
    const lanes = new Map<Lane, readonly Supervisor[]>();
    const generation: Generation = { lanes };
    const loaded = new Map<string, Loaded>();
    this.#alive.add(generation);
    try {
      for (const lane of LANES) {
        const paths = files
          .filter((file) => this.#isTriedIn(lane, file, loaded.get(file.path)))
          .map(({ path }) => path);
        if (paths.length === 0) continue;
        lanes.set(lane, this.#supervisors(lane, root, code));
        await load(lanes.get(lane) ?? [], paths, loaded);
        // Some files were loaded in this lane only to read their exports.
        if (files.some((file) => this.#isNeededIn(lane, file, loaded.get(file.path)))) continue;
        for (const supervisor of lanes.get(lane) ?? []) supervisor.stop();
        lanes.delete(lane);
      }
      if (lanes.size === 0) this.#alive.delete(generation);
      return { generation, loaded };
    } catch (thrown) {
      this.#alive.delete(generation);
      for (const supervisor of supervisorsOf(generation)) supervisor.stop();
      throw new SetupError(`functions and jobs: their process cannot be started: ${messageOf(thrown)}`);
    }
  }

  #supervisors(lane: Lane, root: string, code: readonly CodeFile[]): readonly Supervisor[] {
    const start = this.#options.process(root);
    const spawn = (onMessage: (message: FromChild) => void): SpawnedProcess<ToChild, FromChild> =>
      new SpawnedProcess(start, onMessage);
    const { memoryLimit, logger } = this.#options;
    const { calls } = this.#owned();
    const onLost = (): void => {
      this.#processesLost += 1;
    };
    const options = { memoryLimit, logger, calls, ...laneOptions[lane], spawn, code, onLost };
    return Array.from({ length: this.#options.processes }, () => new Supervisor(options));
  }

  #owned(): ScriptOwners {
    if (this.#owners === null) throw new Error("No module has said that the code is its own");
    return this.#owners;
  }

  #isTriedIn(lane: Lane, file: ScriptFile, loaded: Loaded | undefined): boolean {
    if (loaded === undefined) return this.#kindOf(file).firstLane === lane;
    return this.#isNeededIn(lane, file, loaded);
  }

  #isNeededIn(lane: Lane, file: ScriptFile, loaded: Loaded | undefined): boolean {
    return loaded !== undefined && "exports" in loaded && this.#kindOf(file).lanesOf(loaded.exports).includes(lane);
  }

  #kindOf(file: ScriptFile): ScriptKind {
    const kind = this.#owned().kinds.find(({ folder }) => folder === file.folder);
    if (kind === undefined) throw new Error(`No kind of script has the folder ${file.folder}`);
    return kind;
  }

  /**
   * The newest version of a file that loads; null if no version loads. The reason of a failure is logged.
   */
  #scriptOf(
    file: ScriptFile,
    loaded: Loaded | undefined,
    { generation, paths }: { generation: Generation; paths: readonly string[] },
  ): LoadedScript | null {
    const { logger } = this.#options;
    const problem = this.#findProblem(file, loaded, paths);
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

  #findProblem(file: ScriptFile, loaded: Loaded | undefined, paths: readonly string[]): ScriptError | null {
    if (loaded === undefined) return { message: "was not loaded" };
    if ("error" in loaded) return loaded.error;
    try {
      this.#kindOf(file).check({ file, exports: loaded.exports }, paths);
      return null;
    } catch (thrown) {
      return { message: messageOf(thrown) };
    }
  }

  async #announce(broken: readonly BrokenScript[]): Promise<void> {
    const scripts = [...this.#scripts.values()];
    for (const kind of this.#owned().kinds)
      await kind.use(
        scripts.filter(({ file }) => file.folder === kind.folder),
        broken.filter(({ file }) => file.folder === kind.folder),
      );
  }
}

function supervisorsOf({ lanes }: Generation): Supervisor[] {
  return [...lanes.values()].flat();
}

/**
 * Loads files into processes, one process after another: a file that fails in the first process is not tried in the other
 * processes.
 */
async function load(
  supervisors: readonly Supervisor[],
  files: readonly string[],
  loaded: Map<string, Loaded>,
): Promise<void> {
  let paths = files;
  for (const path of paths) loaded.set(path, { error: { message: "was not loaded" } });
  for (const supervisor of supervisors) {
    for (const [path, result] of await supervisor.start(paths)) loaded.set(path, result);
    paths = paths.filter((path) => "exports" in (loaded.get(path) ?? {}));
  }
}
