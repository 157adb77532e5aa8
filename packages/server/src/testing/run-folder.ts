/**
 * The temporary folder of a run of `socle test`. The folder is locked while the run lasts; a killed run leaves the folder,
 * which the next run removes.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf, SetupError } from "../base/kernel/index.ts";
import { DatabaseLock } from "../store/database/index.ts";

const prefix = "socle-tests-of-";
/** A younger folder may not be locked yet. */
const leftAfterMs = 60_000;
/** The base name of the file that is locked. */
const lockName = "run";

export class RunFolder implements Disposable {
  readonly path: string;
  readonly #lock: DatabaseLock;

  /** @throws SetupError when no folder can be made. */
  constructor() {
    try {
      this.path = mkdtempSync(join(tmpdir(), prefix));
    } catch (thrown) {
      throw new SetupError(`${tmpdir()}: no folder for the tests can be made there (${messageOf(thrown)})`);
    }
    this.#lock = new DatabaseLock(join(this.path, lockName));
    removeLeftovers();
  }

  [Symbol.dispose](): void {
    this.#lock.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const folder = join(tmpdir(), name);
    if (name.startsWith(prefix) && isLeft(folder)) rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a folder of this user is left by a run that has ended. */
function isLeft(folder: string): boolean {
  try {
    const stats = statSync(folder);
    if (stats.uid !== process.getuid?.() || Date.now() - stats.mtimeMs < leftAfterMs) return false;
    if (!existsSync(join(folder, `${lockName}-lock`))) return false;
    new DatabaseLock(join(folder, lockName)).close();
    return true;
  } catch {
    // The run goes on, or the folder has gone meanwhile.
    return false;
  }
}
