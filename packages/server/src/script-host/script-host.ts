/** The script host: loads the user's code into processes of its own, reloads it, and runs handlers there. */
import { type Awaitable, messageOf, SetupError } from "../kernel/index.ts";
import type { CallOutcome, Loaded, ScriptCall, ScriptOutcome, ScriptTask } from "./attempt.ts";
import { missingVariables, readEnvironmentFile } from "./environment.ts";
import { type FileState, FileStates } from "./file-states.ts";
import { SpawnedProcess, type SpawnOptions } from "./host-process.ts";
import { LANES, type Lane, laneOptions } from "./lanes.ts";
import { withoutSettings } from "./own-command.ts";
import type { CodeFile, FromChild, ScriptError, ScriptExports, ToChild } from "./protocol.ts";
import type { RequestOutcome, ScriptRequest } from "./request-attempt.ts";
import { listScripts, listStrays, readCode, type ScriptFile, type ScriptFolder } from "./script-files.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

/** A loaded file: its newest version that loads. */
export interface Script {
  readonly file: ScriptFile;
  readonly exports: ScriptExports;
}

/** A file that has never been loaded, because it does not load. */
export interface BrokenScript {
  readonly file: ScriptFile;
  /** Its text; null when it cannot be read. */
  readonly source: string | null;
}

/** A kind of script, functions or jobs: the owner of a folder. */
export interface ScriptKind {
  readonly folder: ScriptFolder;
  /** The lane in which its files are loaded first, to see their exports. */
  readonly firstLane: Lane;
  /** The lanes that a file with these exports is needed in. */
  lanesOf(exports: ScriptExports): readonly Lane[];
  /** Checks the exports of a file. @param files the paths of all files. @throws Error that names the fault. */
  check(script: Script, files: readonly string[]): void;
  /** Replaces all scripts of the kind. `broken` are the other files. */
  use(scripts: readonly Script[], broken: readonly BrokenScript[]): Awaitable<void>;
}

export interface ScriptHostOptions extends Omit<SupervisorOptions, "spawn" | "code" | "contents" | "capacity"> {
  /** How a process of the user's code is started, in a project's folder. */
  readonly process: (root: string) => SpawnOptions;
  /** The project's folder by its real path, which is asked for with each load: a link may lead elsewhere by then. */
  readonly root: () => string;
  /** The variables of the environment that the code declares, as `scripts.env` has them. */
  readonly env: readonly string[];
  /** Processes of each lane that has files. */
  readonly processes: number;
  readonly kinds: readonly ScriptKind[];
}

/** The processes that have loaded one state of the files. */
interface Generation {
  readonly lanes: ReadonlyMap<Lane, readonly Supervisor[]>;
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
  #missing: readonly string[] = [];
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

  /** All files, each with the outcome of its last load. */
  states(): readonly FileState[] {
    return this.#states.list();
  }

  /** The variables that are declared and, at the last load, were not set. */
  missingVariables(): readonly string[] {
    return this.#missing;
  }

  /**
   * Loads the files in the folders now. Runs under way go on; later ones run either the old or the new set of files.
   */
  load(): Promise<void> {
    // A load that failed must not keep the next one from starting.
    const before = this.#loading.catch(() => undefined);
    this.#loading = before.then(() => (this.#isStopped ? undefined : this.#load()));
    return this.#loading;
  }

  async run(task: ScriptTask): Promise<ScriptOutcome> {
    // During a reload, runs wait: one that was scheduled with the old files must not start with the new ones.
    if (this.#change !== null) await this.#change.promise;
    return this.#supervisorOf(task.path, "runs")?.run(task) ?? { status: "gone" };
  }

  /** Calls a handler and waits for its value, for as long as the call says. Never rejects. */
  async call(lane: Exclude<Lane, "runs">, call: ScriptCall): Promise<CallOutcome> {
    if (this.#change !== null) await this.#change.promise;
    return this.#supervisorOf(call.path, lane)?.call(call) ?? { status: "gone" };
  }

  /** Calls the handler of an endpoint; null where its file is not loaded. Never rejects. */
  async request(request: ScriptRequest): Promise<RequestOutcome | null> {
    if (this.#change !== null) await this.#change.promise;
    return this.#supervisorOf(request.path, "endpoints")?.request(request) ?? null;
  }

  /** Of the processes that have loaded a file, the one with the least to do; undefined when none has. */
  #supervisorOf(path: string, lane: Lane): Supervisor | undefined {
    const [first, ...others] = this.#scripts.get(path)?.generation.lanes.get(lane) ?? [];
    return first && others.reduce((least, each) => (each.load < least.load ? each : least), first);
  }

  /** Attempts that wait or are under way, those of hooks and endpoints included. */
  get underWay(): number {
    let attempts = 0;
    for (const generation of this.#alive) for (const { load } of supervisorsOf(generation)) attempts += load;
    return attempts;
  }

  /** The time of this process was moved (`moveTime`): it moves in those of the user's code too. */
  followTime(): void {
    for (const generation of this.#alive) for (const supervisor of supervisorsOf(generation)) supervisor.followTime();
  }

  /** Ends all processes. Runs and calls under way are settled as stopped. */
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
      // The service's environment wins.
      return missingVariables(env, {
        ...readEnvironmentFile(root, ".env"),
        ...withoutSettings(process(root).environment),
      });
    } catch (error) {
      logger.error(".env cannot be read", { error });
      return [];
    }
  }

  /** Ends the processes of a generation that no script needs any more, once their runs have ended. */
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
        // Some files had to be loaded here only to see their exports.
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
    const options = { ...this.#options, ...laneOptions[lane], spawn, code };
    return Array.from({ length: this.#options.processes }, () => new Supervisor(options));
  }

  #isTriedIn(lane: Lane, file: ScriptFile, loaded: Loaded | undefined): boolean {
    if (loaded === undefined) return this.#kindOf(file).firstLane === lane;
    return this.#isNeededIn(lane, file, loaded);
  }

  #isNeededIn(lane: Lane, file: ScriptFile, loaded: Loaded | undefined): boolean {
    return loaded !== undefined && "exports" in loaded && this.#kindOf(file).lanesOf(loaded.exports).includes(lane);
  }

  #kindOf(file: ScriptFile): ScriptKind {
    const kind = this.#options.kinds.find(({ folder }) => folder === file.folder);
    if (kind === undefined) throw new Error(`No kind of script has the folder ${file.folder}`);
    return kind;
  }

  /**
   * The newest version of a file that loads; null when there is none. The reason why the file does not load is logged.
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
    for (const kind of this.#options.kinds)
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
 * Loads files into processes, one process after the other: a file that does not load in the first one need not be tried
 * in the others.
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
