/** An update: running processes load changed modules, and the modules that import the changed modules, in place of a new generation. */
import { checked, type Generation, type Lane, type Load, lanesOf } from "./load.ts";
import type { CodeFile } from "./protocol.ts";
import type { ScriptFile } from "./script-files.ts";

export interface Update {
  /** The load of the generation, or the last update of the generation. */
  readonly before: Load;
  /** The new load, which gets the results. */
  readonly load: Load;
  readonly changed: readonly CodeFile[];
  readonly generation: Generation;
}

/**
 * Updates the processes of a generation, all or none. Answers false when only new processes can take the change: a file that
 * loaded before, or has changed, does not load; a file needs another lane; or a process was lost.
 */
export async function update(given: Update): Promise<boolean> {
  const { before, load, generation } = given;
  const lanes = new Map(load.files.map((file) => [file, lanesBefore(file, before)]));
  if ([...lanes.values()].flat().some((lane) => !generation.has(lane))) return false;
  const pathsOf = (lane: Lane): string[] =>
    load.files.filter((file) => lanes.get(file)?.includes(lane)).map(({ path }) => path);
  for (const [lane, supervisors] of generation)
    for (const supervisor of supervisors) {
      const results = await supervisor.update(given.changed, pathsOf(lane));
      if (results === null) return false;
      for (const [path, result] of results) if (!hasFailed(path, load)) load.loaded.set(path, result);
    }
  if (!load.files.every((file) => isTaken(file, given, lanes.get(file) ?? []))) return false;
  const supervisors = [...generation].flatMap(([lane, all]) => all.map((supervisor) => ({ lane, supervisor })));
  // No await from here on: the processes change together.
  if (!supervisors.every(({ supervisor }) => supervisor.hasTakenChange)) return false;
  for (const { lane, supervisor } of supervisors)
    supervisor.adopt(
      load.state.code,
      pathsOf(lane).filter((path) => !hasFailed(path, load)),
    );
  return true;
}

function hasFailed(path: string, { loaded }: Load): boolean {
  return "error" in (loaded.get(path) ?? {});
}

/** The lanes that have a file; of a file that did not load, the lane that reads the exports. */
function lanesBefore(file: ScriptFile, before: Load): readonly Lane[] {
  const isLoaded = !hasFailed(file.path, before);
  return lanesOf(file, isLoaded ? before : { ...before, loaded: new Map() });
}

/** Whether the update suffices for a file: the file has loaded in the needed lanes, or is as broken as before. */
function isTaken(file: ScriptFile, { before, load, changed }: Update, lanes: readonly Lane[]): boolean {
  if ("error" in checked(file, load))
    return "error" in checked(file, before) && !changed.some(({ path }) => path === file.path);
  return lanesOf(file, load).join() === lanes.join();
}
