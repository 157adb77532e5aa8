/** The script host: loads and reloads the user's code in separate processes, and runs the handlers. */
import { messageOf, type Preview, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { type CallOutcome, runOutcome, type ScriptOutcome, type ScriptTask } from "./attempt.ts";
import { DebugPorts, endless } from "./debug.ts";
import { missingVariables, readEnvironmentFile, withoutSettings } from "./environment.ts";
import { FramedProcess } from "./frames.ts";
import type { SpawnOptions } from "./host-process.ts";
import {
  type BrokenScript,
  checked,
  filesOf,
  type Generation,
  kindOf,
  LANES,
  type Lane,
  type Load,
  lanesOf,
  loadInto,
  type Script,
  type ScriptOwners,
} from "./load.ts";
import { PreviewProcesses } from "./preview-processes.ts";
import { ScriptProcess } from "./process.ts";
import { changedModules, codeState, type FileState, FileStates, findScripts, type ScriptFile } from "./script-files.ts";
import { StartedAttemptsFile } from "./started-attempts.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";
import { update } from "./update.ts";

/** Updates of a process; after these, a load starts new processes: timers and connections of replaced modules may be left. */
const maxUpdates = 100;

/** The time for running handlers to end before the processes end, with a debugger. */
const drainMs = 2_000;

/** `runs`: 48 of functions, 48 of jobs, and some runs beyond that width. */
const laneOptions: {
  readonly [lane in Lane]: Pick<
    SupervisorOptions,
    "contents" | "capacity" | "isAwaited" | "isRepeatable" | "isAskedAgain"
  >;
} = {
  runs: { contents: "functions and jobs", capacity: 112, isAwaited: false, isRepeatable: true, isAskedAgain: false },
  hooks: { contents: "hooks", capacity: 1_024, isAwaited: true, isRepeatable: true, isAskedAgain: true },
  endpoints: {
    contents: "endpoints and queries",
    capacity: 1_024,
    isAwaited: true,
    isRepeatable: false,
    isAskedAgain: false,
  },
  // A repeated call would begin with the position of the first call.
  migrations: { contents: "migrations", capacity: 1, isAwaited: false, isRepeatable: false, isAskedAgain: false },
};

export interface ScriptHostOptions {
  /** Bytes of resident memory of a process. */
  readonly memoryLimit: number;
  /** See `ScriptProcessOptions`. */
  readonly sampledPercent?: number | undefined;
  readonly logger: Logger;
  /** The path of the file in which processes note the attempts that begin; the folder need not be there. */
  readonly begunFile: string;
  /** The start of the processes of the user's code, in a project's folder. */
  readonly process: (root: string) => SpawnOptions;
  /** The real path of the project's folder, read at each load: the target of a link may have changed. */
  readonly root: () => string;
  /** The variables of the environment that `scripts.env` declares. */
  readonly env: readonly string[];
  /** The number of processes of each lane that has files. */
  readonly processes: number;
  /** The first port for a debugger; without a port, no debugger attaches. */
  readonly inspectPort?: number | undefined;
}

/** The newest load, with the processes. */
interface Newest {
  readonly load: Load;
  readonly generation: Generation;
  readonly updates: number;
}

interface LoadedScript extends Script {
  readonly notice: string | null;
  readonly generation: Generation;
}

/**
 * Each load starts new processes, so that no state of the earlier code is left; in development, an update is enough for a change of
 * modules. A file that does not load stays in service in the processes with the last version.
 */
export class ScriptHost {
  readonly #options: ScriptHostOptions;
  readonly #debugPorts: DebugPorts | null;
  #processesLost = 0;
  /** By path. */
  #scripts = new Map<string, LoadedScript>();
  /** All generations with processes, including generations that only finish the runs. */
  readonly #alive = new Set<Generation>();
  #loading: Promise<void> = Promise.resolve();
  /** Resolved when the change from one set of scripts to the next is complete; null without a change. */
  #change: PromiseWithResolvers<void> | null = null;
  /** The load from which the next update starts; null when the next update must be a load. */
  #newest: Newest | null = null;
  readonly #states = new FileStates();
  #missing: readonly string[] = [];
  /** Null before the first process. */
  #begun: StartedAttemptsFile | null = null;
  #isStopped = false;
  /** The last load whose results are in use; null before. */
  #used: Load | null = null;
  readonly #previews = new Map<Preview, PreviewProcesses>();

  constructor(options: ScriptHostOptions) {
    this.#options = options;
    this.#debugPorts = options.inspectPort === undefined ? null : new DebugPorts(options.inspectPort);
  }

  /** The number of lost processes that another process has replaced. */
  get processesLost(): number {
    return this.#processesLost;
  }

  /** The files that failed at the last load. */
  problems(): { path: string; message: string }[] {
    return this.states().flatMap(({ file: { path }, problem }) =>
      problem === null ? [] : [{ path, message: problem.message }],
    );
  }

  states(): readonly FileState[] {
    return this.#states.list();
  }

  /** The declared variables that had no value at the last load. */
  missingVariables(): readonly string[] {
    return this.#missing;
  }

  /** Loads the files in the folders now. Runs under way go on; later runs use either the old or the new set of files. */
  load(owners: ScriptOwners): Promise<void> {
    return this.#inTurn(() => this.#load(owners));
  }

  /** Like `load`, but the running processes go on if only modules have changed. The state of unchanged modules stays. */
  update(owners: ScriptOwners): Promise<void> {
    return this.#inTurn(async () => {
      if (!(await this.#update(owners)) && !this.#isStopped) await this.#load(owners);
    });
  }

  #inTurn(load: () => Promise<unknown>): Promise<void> {
    // A failed load must not prevent the next load.
    const before = this.#loading.catch(() => undefined);
    this.#loading = before.then(async () => {
      if (!this.#isStopped) await load();
    });
    return this.#loading;
  }

  /** Calls the handler of a function, job or migration, and gives the end of the run. Never rejects. */
  async run(task: ScriptTask, lane: Lane = "runs"): Promise<ScriptOutcome> {
    return runOutcome(await this.call(lane, task), task.timeoutMs);
  }

  /** Calls a handler in a lane. Never rejects. */
  async call(lane: Lane, task: ScriptTask): Promise<CallOutcome> {
    const { preview } = task.principal;
    if (preview !== undefined) return this.#previews.get(preview)?.call(lane, task) ?? { status: "gone" };
    // During a reload, calls wait: a run that was scheduled with the old files must not start with the new files.
    if (this.#change !== null) await this.#change.promise;
    const limited = this.#debugPorts === null ? task : endless(task);
    return this.#supervisorOf(task.path, lane)?.call(limited) ?? { status: "gone" };
  }

  /** Starts no process yet: the handlers of a preview run in processes of the preview, with the code in use. */
  openPreview(preview: Preview): PreviewProcesses | null {
    const load = this.#used;
    if (load === null || this.#isStopped) return null;
    const { memoryLimit, sampledPercent, logger, process } = this.#options;
    const { calls, root, state } = load;
    const from = process(root);
    const marked = { ...from, options: { ...from.options, isPreview: true } };
    const spawn: SupervisorOptions["spawn"] = (onMessage) =>
      this.#begunFile().give((place) => new FramedProcess(marked, place, onMessage));
    const common = { memoryLimit, sampledPercent, logger, calls, spawn, code: state.code, preview };
    const processes = new PreviewProcesses((lane) => new ScriptProcess({ ...common, ...laneOptions[lane] }));
    this.#previews.set(preview, processes);
    return processes;
  }

  /** Ends the processes of a preview. */
  closePreview(preview: Preview): void {
    this.#previews.get(preview)?.end();
    this.#previews.delete(preview);
  }

  #begunFile(): StartedAttemptsFile {
    this.#begun ??= StartedAttemptsFile.open(this.#options.begunFile);
    return this.#begun;
  }

  /** The least busy process among the processes that have loaded a file; undefined if no process has. */
  #supervisorOf(path: string, lane: Lane): Supervisor | undefined {
    const [first, ...others] = this.#scripts.get(path)?.generation.get(lane) ?? [];
    return first && others.reduce((least, each) => (each.load < least.load ? each : least), first);
  }

  /** The number of attempts that wait or are under way, including attempts of hooks and endpoints. */
  get underWay(): number {
    return this.#supervisors().reduce((attempts, { load }) => attempts + load, 0);
  }

  /** The test of this service has moved the time of this process, or mocked `fetch`: the script processes follow. */
  followTest(): void {
    for (const supervisor of this.#supervisors()) supervisor.followTest();
  }

  /** Ends all processes. Runs and calls under way are reported as stopped. */
  stop(): void {
    this.#isStopped = true;
    for (const supervisor of this.#supervisors()) supervisor.stop();
    for (const preview of this.#previews.keys()) this.closePreview(preview);
    this.#begun?.close();
  }

  #supervisors(): Supervisor[] {
    return [...this.#alive].flatMap(supervisorsOf);
  }

  async #load(owners: ScriptOwners): Promise<void> {
    this.#newest = null;
    const load = this.#read(owners);
    if (this.#debugPorts !== null) await this.#endAll();
    const generation = await this.#open(load);
    if (this.#isStopped) return;
    await this.#use(load, generation);
    this.#newest = { load, generation, updates: 0 };
  }

  /** Ends all processes, so that other processes can listen for the debugger on the same ports. */
  async #endAll(): Promise<void> {
    const supervisors = this.#supervisors();
    await Promise.race([Promise.all(supervisors.map((supervisor) => supervisor.drained())), Bun.sleep(drainMs)]);
    await Promise.all(supervisors.map((supervisor) => supervisor.end()));
    this.#alive.clear();
    this.#scripts.clear();
  }

  /** Answers whether the update sufficed. */
  async #update(owners: ScriptOwners): Promise<boolean> {
    const newest = this.#newest;
    // A process that has taken a part of a change takes no other change.
    this.#newest = null;
    if (newest === null || newest.updates === maxUpdates) return false;
    const { load: before, generation, updates } = newest;
    const state = codeState(before.root);
    const changed = before.root === this.#options.root() ? changedModules(before.state, state) : null;
    // A migration that has run is loaded no more.
    if (changed === null || filesOf(before.files, owners).length < before.files.length) return false;
    const load: Load = { ...before, ...owners, state, loaded: new Map() };
    if (!(await update({ before, load, changed, generation }))) return false;
    await this.#use(load, generation);
    this.#newest = { load, generation, updates: updates + 1 };
    return true;
  }

  /** Reads the files, and logs faults that keep no file from loading. */
  #read(owners: ScriptOwners): Load {
    const root = this.#options.root();
    const { scripts, strays } = findScripts(root);
    const files = filesOf(scripts, owners);
    for (const path of strays)
      this.#options.logger.warn(
        `${path} has no effect: functions are functions/<collection>/<file>.ts, jobs are jobs/<file>.ts, queries are queries/<file>.ts, migrations are migrations/<file>.ts, endpoints end in .ts, shared code starts with _`,
      );
    this.#missing = this.#missingVariables(root);
    for (const name of this.#missing)
      this.#options.logger.warn(
        `${name} is not set, which scripts.env declares: put it into the environment of the service, or into .env`,
      );
    return { ...owners, root, files, state: codeState(root), loaded: new Map() };
  }

  /** Has the runs and calls use the results of a load. */
  async #use(load: Load, generation: Generation): Promise<void> {
    const { files, kinds } = load;
    const { code } = load.state;
    const loaded = new Map<string, LoadedScript>();
    const broken: BrokenScript[] = [];
    this.#states.keep(files);
    for (const file of files) {
      const script = this.#scriptOf(file, load, generation);
      if (script === null) broken.push({ file, source: code.find(({ path }) => path === file.path)?.content ?? null });
      else loaded.set(file.path, script);
    }
    this.#used = load;
    this.#change = Promise.withResolvers<void>();
    try {
      this.#scripts = loaded;
      for (const kind of kinds) {
        const isOwn = ({ file }: { readonly file: ScriptFile }): boolean => file.folder === kind.folder;
        await kind.use([...loaded.values()].filter(isOwn), broken.filter(isOwn));
      }
    } finally {
      this.#change.resolve();
      this.#change = null;
    }
    const needed = new Set([...loaded.values()].map((script) => script.generation));
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

  /** Ends the processes of an unneeded generation, after the runs have ended. */
  async #retire(generation: Generation): Promise<void> {
    const supervisors = supervisorsOf(generation);
    await Promise.all(supervisors.map((supervisor) => supervisor.drained()));
    for (const supervisor of supervisors) supervisor.stop();
    this.#alive.delete(generation);
  }

  /** Starts the processes that the files need, and loads the files. */
  async #open(load: Load): Promise<Generation> {
    const { files, loaded } = load;
    const generation: Generation = new Map();
    this.#alive.add(generation);
    try {
      for (const lane of LANES) {
        const isNeeded = (file: ScriptFile): boolean => lanesOf(file, load).includes(lane);
        const paths = files.filter(isNeeded).map(({ path }) => path);
        if (paths.length === 0) continue;
        const supervisors = this.#start(lane, load);
        generation.set(lane, supervisors);
        await loadInto(supervisors, paths, loaded);
        // Some files were loaded in this lane only to read the exports.
        if (files.some(isNeeded)) continue;
        for (const supervisor of supervisors) supervisor.stop();
        generation.delete(lane);
      }
      if (generation.size === 0) this.#alive.delete(generation);
      return generation;
    } catch (thrown) {
      this.#alive.delete(generation);
      for (const supervisor of supervisorsOf(generation)) supervisor.stop();
      throw new SetupError(`functions and jobs: their process cannot be started: ${messageOf(thrown)}`);
    }
  }

  #start(lane: Lane, { root, state, calls }: Load): readonly Supervisor[] {
    const { memoryLimit, sampledPercent, logger, process } = this.#options;
    const begun = this.#begunFile();
    const options = process(root);
    const ports = this.#debugPorts;
    const spawn: SupervisorOptions["spawn"] = (onMessage) => {
      const start = (from: SpawnOptions): FramedProcess =>
        begun.give((place) => new FramedProcess(from, place, onMessage));
      return ports === null ? start(options) : ports.spawn(lane, options, start);
    };
    const onLost = (): void => {
      this.#processesLost += 1;
    };
    const shared = { memoryLimit, sampledPercent, logger, calls, spawn, code: state.code, onLost };
    const supervised = { ...shared, ...laneOptions[lane], isDebugged: ports !== null };
    return Array.from({ length: this.#options.processes }, () => new Supervisor(supervised));
  }

  /** The newest version of a file that loads; null if no version loads. The reason of a failure is logged. */
  #scriptOf(file: ScriptFile, load: Load, generation: Generation): LoadedScript | null {
    const result = checked(file, load);
    if ("exports" in result) {
      const notice = kindOf(file, load).noticeOf?.({ file, exports: result.exports }) ?? null;
      if (notice !== null && this.#scripts.get(file.path)?.notice !== notice)
        this.#options.logger.warn(`${file.path} ${notice}`);
      this.#states.loaded(file);
      return { file, exports: result.exports, generation, notice };
    }
    this.#states.failed(file, result.error);
    const old = this.#scripts.get(file.path);
    const isAsked = file.folder === "endpoints" || file.folder === "queries";
    const none = isAsked ? "its path answers 500" : "it has no effect";
    const effect = old === undefined ? none : "its last version keeps running";
    this.#options.logger.error(`${file.path} does not load, ${effect}: ${result.error.message}`);
    return old ?? null;
  }
}

function supervisorsOf(generation: Generation): Supervisor[] {
  return [...generation.values()].flat();
}
