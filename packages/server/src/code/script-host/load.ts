/** A load of the user's code: the kinds of scripts and their lanes, the results, and the processes that load the files. */
import { messageOf } from "../../base/kernel/index.ts";
import type { CallAnswers } from "./call-transport.ts";
import type { Loaded, ScriptExports } from "./protocol.ts";
import type { CodeState, ScriptFile, ScriptFolder } from "./script-files.ts";
import type { Supervisor } from "./supervisor.ts";

/**
 * Lanes: the groups of processes of the user's code. A request waits for a call, but not for a run: a function that
 * computes for half a minute must not keep a write waiting. So each lane with files has separate processes.
 */
export const LANES = ["runs", "hooks", "endpoints", "migrations"] as const;

/** `runs`: functions and jobs. `hooks`: handlers that a write waits for. `endpoints`: handlers of requests, and server queries. `migrations`: a migration at a time. */
export type Lane = (typeof LANES)[number];

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
  /** A warning about a file that loads, as the predicate of a sentence. */
  noticeOf?(script: Script): string | null;
  /** Replaces all scripts of the kind. `broken` are the other files. */
  use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void>;
}

export interface ScriptOwners {
  readonly kinds: readonly ScriptKind[];
  /** Answers the calls of the code. */
  readonly calls: CallAnswers;
}

/** The processes that have loaded the same state of the files. */
export type Generation = Map<Lane, readonly Supervisor[]>;

/** A load of all files. */
export interface Load extends ScriptOwners {
  readonly root: string;
  readonly files: readonly ScriptFile[];
  readonly state: CodeState;
  /** The results so far, by path. */
  readonly loaded: Map<string, Loaded>;
}

export function kindOf({ folder }: ScriptFile, { kinds }: ScriptOwners): ScriptKind {
  const kind = kinds.find((each) => each.folder === folder);
  if (kind === undefined) throw new Error(`No kind of script has the folder ${folder}`);
  return kind;
}

/** The files that the kinds want to be loaded. */
export function filesOf(scripts: readonly ScriptFile[], { kinds }: ScriptOwners): ScriptFile[] {
  return scripts.filter(({ folder, path }) =>
    kinds.some((kind) => kind.folder === folder && kind.paths?.has(path) !== false),
  );
}

/** The lanes that need a file; of a file that was not loaded yet, the lane that reads the exports. */
export function lanesOf(file: ScriptFile, load: Load): readonly Lane[] {
  const kind = kindOf(file, load);
  const result = load.loaded.get(file.path);
  if (result === undefined) return [kind.firstLane];
  return "exports" in result ? (kind.lanesOf?.(result.exports) ?? [kind.firstLane]) : [];
}

/** The result of loading a file, with the faults that the kind may find in the exports. */
export function checked(file: ScriptFile, load: Load): Loaded {
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
export async function loadInto(
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
