/**
 * Following: how a reader process follows the commits of the process that writes. All reads see the state of one commit, and the
 * state in memory is of the same commit. A commit arrives as a number and notes, a moment after the data can be read. So the
 * next snapshot is taken beside the present one: (1) the first commit that arrives opens the next snapshot, which tells its
 * position; (2) the notes up to that position arrive; (3) data and state go on to the position, in the same turn of the event loop.
 */
import type { Projection, ToldCommit } from "../transaction.ts";
import type { SnapshotReader } from "./connection.ts";
import { positionOf } from "./position-table.ts";

export class Following {
  readonly #reader: SnapshotReader;
  readonly #projection: Projection;
  /** The commits after the position, in order. */
  readonly #waiting: ToldCommit[] = [];
  #position: number | null = null;

  constructor(reader: SnapshotReader, projection: Projection) {
    this.#reader = reader;
    this.#projection = projection;
  }

  /** The commit that all reads and the state in memory have. */
  get position(): number {
    return this.#position ?? 0;
  }

  /**
   * Takes the first snapshot. The state that a module then reads from the database is of this snapshot; the state that follows from
   * notes alone is of the position `known`. Call `start` once, before `take`.
   * @returns the position of the snapshot: the commits from `known` up to this position must be taken before any module reads.
   */
  start(): number {
    this.#reader.follow();
    this.#position = positionOf(this.#reader);
    return this.#position;
  }

  /** Takes the next commit. Answers the position of all reads and of the state in memory. */
  take(commit: ToldCommit): number {
    // The first snapshot has the data already.
    if (commit.position <= this.position) {
      this.#projection.apply(commit.notes);
      return this.position;
    }
    this.#waiting.push(commit);
    const next = this.#reader.ahead(positionOf);
    if (next > commit.position) return this.position;
    const commits = this.#waiting.splice(0);
    this.#reader.step(commits.some(({ isMigration }) => isMigration));
    for (const { notes } of commits) this.#projection.apply(notes);
    this.#position = next;
    return next;
  }

  /** Takes the present state anew, so that the write-ahead log can start over. */
  renew(): void {
    this.#reader.renew();
  }
}
