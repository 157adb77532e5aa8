/**
 * The names of files and folders as a disk keeps the names. A change of a name is sure after a flush of the
 * folder; until then a power cut may undo the change. Changes of one name are undone from the last one backwards. A rename is one
 * change of two names.
 */

export interface Folder {
  readonly kind: "folder";
  readonly names: Map<string, Node>;
}

export interface File {
  readonly kind: "file";
  readonly path: string;
  readonly changes: Change[];
  readonly flushes: Flush[];
}

export type Node = Folder | File;

/** A change of a file's bytes or size: `at` is the entry of the log. */
export type Change = { readonly at: number } & (
  | { readonly kind: "write"; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: "resize" | "grow"; readonly size: number }
);

/** A write before the entry `since` is on disk once the entry `at` has been reached. */
export interface Flush {
  readonly at: number;
  readonly since: number;
}

interface Place {
  readonly folder: Folder;
  readonly name: string;
}

/** `node` is null for a name that goes. */
interface NameChange {
  readonly at: number;
  readonly names: readonly (Place & { readonly node: Node | null })[];
}

export function lastSure(flushes: readonly Flush[], cut: number): number {
  return flushes.reduce((since, flush) => (flush.at < cut ? Math.max(since, flush.since) : since), 0);
}

export class Names {
  readonly #changes: NameChange[] = [];
  readonly #flushes = new Map<Folder, Flush[]>();

  /** Makes a change, also in the tree without a power cut. */
  change(change: NameChange): void {
    this.#changes.push(change);
    for (const { folder, name, node } of change.names)
      if (node === null) folder.names.delete(name);
      else folder.names.set(name, node);
  }

  flush(folder: Folder, flush: Flush): void {
    const flushes = this.#flushes.get(folder) ?? [];
    flushes.push(flush);
    this.#flushes.set(folder, flushes);
  }

  /**
   * The names in each folder after a cut.
   * @param isKept decides about a change that is not sure.
   */
  after(cut: number, isKept: () => boolean): Map<Folder, Map<string, Node>> {
    const made = this.#changes.filter(({ at }) => at < cut);
    const sure = this.#sureOf(made, cut);
    const undone = new Keys();
    const state = new Map<Folder, Map<string, Node>>();
    for (const change of made) {
      if (!sure.has(change) && (change.names.some((place) => undone.has(place)) || !isKept())) {
        for (const place of change.names) undone.add(place);
        continue;
      }
      for (const { folder, name, node } of change.names) {
        const names = state.get(folder) ?? new Map<string, Node>();
        state.set(folder, names);
        if (node === null) names.delete(name);
        else names.set(name, node);
      }
    }
    return state;
  }

  /** The changes that are on disk: the flushed changes, and the earlier changes of the same names. */
  #sureOf(made: readonly NameChange[], cut: number): Set<NameChange> {
    const flushed = new Map([...this.#flushes].map(([folder, flushes]) => [folder, lastSure(flushes, cut)]));
    const needed = new Keys();
    const sure = new Set<NameChange>();
    for (const change of made.toReversed()) {
      const isFlushed = change.names.some(({ folder }) => change.at < (flushed.get(folder) ?? 0));
      if (!isFlushed && !change.names.some((place) => needed.has(place))) continue;
      sure.add(change);
      for (const place of change.names) needed.add(place);
    }
    return sure;
  }
}

/** A set of names in folders. */
class Keys {
  readonly #names = new Map<Folder, Set<string>>();

  has({ folder, name }: Place): boolean {
    return this.#names.get(folder)?.has(name) === true;
  }

  add({ folder, name }: Place): void {
    const names = this.#names.get(folder) ?? new Set<string>();
    this.#names.set(folder, names.add(name));
  }
}
