/** The power-cut suite: cuts of a run at random entries of the log, each with a check. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers } from "../../../packages/server/test/random.ts";
import { temporaryFolder } from "../../kit.ts";
import { check } from "./check.ts";
import type { Cut } from "./disk.ts";
import type { Kind } from "./ledger.ts";
import type { Restore } from "./restores.ts";
import type { Run } from "./run.ts";

const kinds: readonly Kind[] = ["items", "tasks", "file", "session", "user", "definition", "backup"];

function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}

/**
 * An entry of the log: an acknowledgement, often the first of its kind, because a loss shows at once; soon after the
 * start; or any.
 */
function randomEntry({ disk, ledger }: Run, random: () => number): number {
  const way = random();
  const histories = ledger.of(pick(kinds, random) ?? "items");
  const history = way < 0.15 ? histories[0] : pick(histories, random);
  const acknowledged = pick(history?.steps ?? [], random)?.acknowledged;
  if (way < 0.5 && acknowledged !== undefined) return acknowledged;
  return Math.floor(random() * (way < 0.65 ? Math.min(1_000, disk.entries) : disk.entries + 1));
}

function randomLuck(random: () => number): Pick<Cut, "luck" | "names"> {
  const luck = pick(["nothing", "nothing", "some", "some", "everything"] as const, random) ?? "nothing";
  return { luck, names: pick([0, 0.5, 1], random) ?? 0 };
}

/** A cut; all unflushed changes are lost, or nothing, or some. */
export function randomCut(run: Run, seed: number): Cut {
  const random = randomNumbers(seed);
  const at = randomEntry(run, random);
  return { at, ...randomLuck(random), random };
}

/** Cuts at the first acknowledgement of each kind; all that was not flushed is lost. */
export function firstCuts({ ledger }: Run): Cut[] {
  return kinds.flatMap((kind) => {
    const at = ledger.of(kind)[0]?.steps[0]?.acknowledged;
    return at === undefined ? [] : [{ at, luck: "nothing", names: 0, random: () => 0 }];
  });
}

/** Cuts of a restore behind the list of moves: each cut is other luck with the names. */
const cutsAsListed = 8;

/** Cuts of a restore: at the list of the moves, at the end, among the moves before the end, and anywhere. */
export function restoreCuts({ disk: { entries }, listed }: Restore, seed: number, count: number): Cut[] {
  const random = randomNumbers(seed);
  const moves = Math.min(entries, 60);
  // The list of moves may be on disk before the other files of the folder.
  const asListed = Array.from({ length: cutsAsListed }, (): Cut => ({ at: listed, luck: "some", names: 0.5, random }));
  const others = Array.from({ length: count }, (_, i): Cut => {
    if (i % 3 === 0) return { at: entries, luck: "nothing", names: i % 2 === 0 ? 0 : 0.5, random };
    if (i % 3 === 1) return { at: entries - Math.floor(random() * moves), luck: "some", names: 0.5, random };
    return { ...randomLuck(random), at: Math.floor(random() * (entries + 1)), random };
  });
  return [...asListed, ...others];
}

/** Rebuilds the folder after a cut and checks the folder. Answers the faults. */
export async function suffer({ disk, ledger }: Run, cut: Cut): Promise<string[]> {
  const folder = join(temporaryFolder(), "data");
  disk.rebuild(folder, cut);
  try {
    return await check(folder, { ledger, cut: cut.at });
  } catch (thrown) {
    return [String(thrown)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function nameOf({ at, luck, names }: Cut): string {
  return `entry ${at}, ${luck} of the unflushed bytes, ${names * 100} % of the unflushed names`;
}
