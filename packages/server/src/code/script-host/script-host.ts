/** The script host: loads and reloads the user's code in separate processes, and runs the handlers. */
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { type CallOutcome, runOutcome, type ScriptOutcome, type ScriptTask } from "./attempt.ts";
import type { CallAnswers } from "./call-transport.ts";
import { missingVariables, readEnvironmentFile, withoutSettings } from "./environment.ts";
import { FramedProcess } from "./frames.ts";
import type { SpawnOptions } from "./host-process.ts";
import type { CodeFile, Loaded, ScriptExports } from "./protocol.ts";
import {
  type FileState,
  FileStates,
  findScripts,
  readCode,
  type ScriptFile,
  type ScriptFolder,
} from "./script-files.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

/**
 * Lanes: the groups of processes of the user's code. A request waits for a call, but not for a run: a function that
 * computes for half a minute must not keep a write waiting. So each lane with files has separate processes.
 */
const LANES = ["runs", "hooks", "endpoints", "migrations"] as const;

/** `runs`: functions and jobs. `hooks`: handlers that a write waits for. `endpoints`: handlers of requests. `migrations`: a migration at a time. */
export type Lane = (typeof LANES)[number];

/** `runs`: 48 of functions, 48 of jobs, and some runs beyond that width. */
const laneOptions: {
  readonly [lane in Lane]: Pick<
    SupervisorOptions,
    "contents" | "capacity" | "isAwaited" | "isRepeatable" | "isAskedAgain"
  >;
} = {
  runs: { contents: "functions and jobs", capacity: 112, isAwaited: false, isRepeatable: true, isAskedAgain: false },
  hooks: { contents: "hooks", capacity: 1_024, isAwaited: true, isRepeatable: true, isAskedAgain: true },
  endpoints: { contents: "endpoints", capacity: 1_024, isAwaited: true, isRepeatable: false, isAskedAgain: false },
  // A repeated call would begin with the position of the first call.
  migrations: { contents: "migrations", capacity: 1, isAwaited: false, isRepeatable: false, isAskedAgain: false },
};

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
  /** The files of the folder to load; by default, all files. */
  readonly paths?: ReadonlySet<string>;
  /** The lane that loads a file first, to read the file's exports. */
  readonly firstLane: Lane;
  /** The lanes that need a file with these exports; by default, the first lane. */
  lanesOf?(exports: ScriptExports): readonly Lane[];
  /** Checks the exports of a file. @param files the paths of all files. @throws Error that names the fault. */
  check(script: Script, files: readonly string[]): void;
  /** Replaces all scripts of the kind. `broken` are the other files. */
  use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void>;
}

export interface ScriptHostOptions {
  /** Bytes of resident memory of a process. */
  readonly memoryLimit: number;
  readonly logger: Logger;
  /** The start of the processes of the user's code, in a project's folder. */
  readonly process: (root: string) => SpawnOptions;
  /** The real path of the project's folder, read at each load: the target of a link may have changed. */
  readonly root: () => string;
  /** The variables of the environment that `scripts.env` declares. */
  readonly env: readonly string[];
  /** The number of processes of each lane that has files. */
  readonly processes: number;
}

export interface ScriptOwners {
  readonly kinds: readonly ScriptKind[];
  /** Answers the calls of the code. */
  readonly calls: CallAnswers;
}

/** The processes that have loaded the same state of the files. */
type Generation = Map<Lane, readonly Supervisor[]>;

/** A load of all files. */
interface Load extends ScriptOwners {
  readonly root: string;
  readonly files: readonly ScriptFile[];
  readonly code: readonly CodeFile[];
  /** The results so far, by path. */
  readonly loaded: Map<string, Loaded>;
}

interface LoadedScript extends Script {
  readonly generation: Generation;
}

/**
 * Each load starts new processes, so that no state of the earlier code is left. A file that does not load stays in
 * service in the processes with the last version.
 */
export class ScriptHost {
  readonly #options: ScriptHostOptions;
  #processesLost = 0;
  /** By path. */
  #scripts = new Map<string, LoadedScript>();
  /** All generations with processes, including generations that only finish the runs. */
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
    // A failed load must not prevent the next load.
    const before = this.#loading.catch(() => undefined);
    this.#loading = before.then(() => (this.#isStopped ? undefined : this.#load(owners)));
    return this.#loading;
  }

  /** Calls the handler of a function, job or migration, and gives the end of the run. Never rejects. */
  async run(task: ScriptTask, lane: Lane = "runs"): Promise<ScriptOutcome> {
    return runOutcome(await this.call(lane, task), task.timeoutMs);
  }

  /** Calls a handler in a lane. Never rejects. */
  async call(lane: Lane, task: ScriptTask): Promise<CallOutcome> {
    // During a reload, calls wait: a run that was scheduled with the old files must not start with the new files.
    if (this.#change !== null) await this.#change.promise;
    return this.#supervisorOf(task.path, lane)?.call(task) ?? { status: "gone" };
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
  }

  #supervisors(): Supervisor[] {
    return [...this.#alive].flatMap(supervisorsOf);
  }

  async #load(owners: ScriptOwners): Promise<void> {
    const root = this.#options.root();
    const { scripts, strays } = findScripts(root);
    const files = scripts.filter(({ folder, path }) =>
      owners.kinds.some((kind) => kind.folder === folder && kind.paths?.has(path) !== false),
    );
    for (const path of strays)
      this.#options.logger.warn(
        `${path} has no effect: functions are functions/<collection>/<file>.ts, jobs are jobs/<file>.ts, migrations are migrations/<file>.ts, endpoints end in .ts, shared code starts with _`,
      );
    this.#missing = this.#missingVariables(root);
    for (const name of this.#missing)
      this.#options.logger.warn(
        `${name} is not set, which scripts.env declares: put it into the environment of the service, or into .env`,
      );
    const code = files.length === 0 ? [] : readCode(root);
    const load: Load = { ...owners, root, files, code, loaded: new Map() };
    const generation = await this.#open(load);
    if (this.#isStopped) return;
    const loaded = new Map<string, LoadedScript>();
    const broken: BrokenScript[] = [];
    this.#states.keep(files);
    for (const file of files) {
      const script = this.#scriptOf(file, load, generation);
      if (script === null) broken.push({ file, source: code.find(({ path }) => path === file.path)?.content ?? null });
      else loaded.set(file.path, script);
    }
    this.#change = Promise.withResolvers<void>();
    try {
      this.#scripts = loaded;
      for (const kind of owners.kinds) {
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

  #start(lane: Lane, { root, code, calls }: Load): readonly Supervisor[] {
    const start = this.#options.process(root);
    const spawn: SupervisorOptions["spawn"] = (onMessage) => new FramedProcess(start, onMessage);
    const { memoryLimit, logger } = this.#options;
    const onLost = (): void => {
      this.#processesLost += 1;
    };
    const options = { memoryLimit, logger, calls, ...laneOptions[lane], spawn, code, onLost };
    return Array.from({ length: this.#options.processes }, () => new Supervisor(options));
  }

  /** The newest version of a file that loads; null if no version loads. The reason of a failure is logged. */
  #scriptOf(file: ScriptFile, load: Load, generation: Generation): LoadedScript | null {
    const result = checked(file, load);
    if ("exports" in result) {
      this.#states.loaded(file);
      return { file, exports: result.exports, generation };
    }
    this.#states.failed(file, result.error);
    const old = this.#scripts.get(file.path);
    const effect = old === undefined ? "it has no effect" : "its last version keeps running";
    this.#options.logger.error(`${file.path} does not load, ${effect}: ${result.error.message}`);
    return old ?? null;
  }
}

function supervisorsOf(generation: Generation): Supervisor[] {
  return [...generation.values()].flat();
}

function kindOf({ folder }: ScriptFile, { kinds }: ScriptOwners): ScriptKind {
  const kind = kinds.find((each) => each.folder === folder);
  if (kind === undefined) throw new Error(`No kind of script has the folder ${folder}`);
  return kind;
}

/** The lanes that need a file; of a file that was not loaded yet, the lane that reads the exports. */
function lanesOf(file: ScriptFile, load: Load): readonly Lane[] {
  const kind = kindOf(file, load);
  const result = load.loaded.get(file.path);
  if (result === undefined) return [kind.firstLane];
  return "exports" in result ? (kind.lanesOf?.(result.exports) ?? [kind.firstLane]) : [];
}

/** The result of loading a file, with the faults that the kind may find in the exports. */
function checked(file: ScriptFile, load: Load): Loaded {
  const result = load.loaded.get(file.path) ?? notLoaded;
  if ("error" in result) return result;
  const paths = load.files.map(({ path }) => path);
  try {
    kindOf(file, load).check({ file, exports: result.exports }, paths);
    return result;
  } catch (thrown) {
    return { error: { message: messageOf(thrown) } };
  }
}

const notLoaded: Loaded = { error: { message: "was not loaded" } };

/** Loads files into one process at a time. A file that fails in a process is not tried in further processes. */
async function loadInto(
  supervisors: readonly Supervisor[],
  files: readonly string[],
  loaded: Map<string, Loaded>,
): Promise<void> {
  let paths = files;
  for (const path of paths) loaded.set(path, notLoaded);
  for (const supervisor of supervisors) {
    for (const [path, result] of await supervisor.start(paths)) loaded.set(path, result);
    paths = paths.filter((path) => "exports" in (loaded.get(path) ?? notLoaded));
  }
}
