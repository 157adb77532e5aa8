/**
 * Undos: changes of records that an admin has taken back, newest first, in transactions of up to a thousand changes. An undo goes on after a
 * restart: the position in the log is saved with the changes. A single undo runs at a time.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { UndoEffect, UndoLeft, UndoPreview, UndoState, UndoStatus } from "@socle/protocol";
import {
  AppError,
  type Clock,
  count,
  LoopTurns,
  messageOf,
  newId,
  nextTurn,
  type SignedIn,
  type System,
  system,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { HeldValues, LaterChanges, Records } from "../../data/records/index.ts";
import type { Database, Transactor, Waiter } from "../../store/database/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";
import { changesOf, kindOf, type UndoSelection } from "./selection.ts";
import { putUndo, runningUndo, saveUndo, type UndoRow, undoOf } from "./undo-table.ts";

/** The changes of an undo that is a single transaction, at most; and the changes of a transaction of a larger undo: other writes wait meanwhile. */
const maxWhole = 1_000;
const sliceSize = 50;
/** The pause before a slice is tried again that the database could not take. */
const pauseMs = 1_000;
/** The changes that were left and are told. */
const maxTold = 1_000;

/** Takes the transaction of a preview back. */
const takenBack = new Error("The transaction of a preview is taken back");

interface UndosOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly records: Records;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The most changes of an undo (`limits.undo`). */
  readonly maxChanges: number;
}

/**
 * Thrown at the end of a transaction. Some changes have relied on later changes in vain: another record still has the unique value, or the
 * target of a relation has not come back.
 */
class InVain extends Error {
  readonly seqs: ReadonlySet<number>;

  constructor(seqs: ReadonlySet<number>) {
    super("Changes have relied on others in vain");
    this.seqs = seqs;
  }
}

/** Whether the change of an event may rely on the older changes of its transaction. */
type MayRely = (seq: number) => boolean;

/** The tries of a transaction, at most; in the last try, no change relies on another. */
const maxTries = 3;

/** An undo that is about to begin. */
export interface NewUndo {
  readonly id: string;
  readonly begin: (tx: Transactor) => void;
}

/** The changes of a slice: those that were taken back, and those that were left. */
interface Slice {
  readonly taken: readonly LoggedEvent[];
  readonly left: readonly UndoLeft[];
}

export class Undos {
  readonly #options: UndosOptions;
  #stopping: AbortSignal = AbortSignal.abort();
  #running: Promise<void> | null = null;

  constructor(options: UndosOptions) {
    this.#options = options;
  }

  /** Runs undos until the signal, and goes on with the undos that a stop has cut off. */
  start(stopping: AbortSignal): void {
    this.#stopping = stopping;
    this.#run();
  }

  /** Resolves when no undo runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /**
   * The effects of an undo. The newest thousand changes are taken back for a try; of further changes, the number is told.
   * @throws AppError as `prepare`.
   */
  async preview(selection: UndoSelection, waiter: Waiter): Promise<UndoPreview> {
    const total = await this.#count(selection, waiter);
    const changes = await changesOf(this.#options.events, selection, { before: this.#end, limit: maxWhole, waiter });
    let slice: Slice = { taken: [], left: [] };
    await settling(async (mayRely) => {
      const work = async (tx: Transactor): Promise<never> => {
        slice = await this.#takeIn(tx, system, { changes, mayRely });
        throw takenBack;
      };
      const { database } = this.#options;
      await database.transactLong(waiter.caller, work, { whileReadOnly: true }).catch((thrown: unknown) => {
        if (thrown !== takenBack) throw thrown;
      });
    });
    const effects = effectsOf(slice.taken);
    return {
      dryRun: true,
      total,
      tried: changes.length,
      effects,
      text: textOf(effects, slice.left.length),
      left: [...slice.left],
    };
  }

  /** @throws AppError `not_found` without a change; `bad_request` beyond `limits.undo`. */
  async prepare(selection: UndoSelection, waiter: Waiter & { principal: SignedIn }): Promise<NewUndo> {
    const total = await this.#count(selection, waiter);
    const actor = waiter.principal.userId;
    const id = newId("und", this.#options.clock.now());
    const before = this.#end;
    const begin = (tx: Transactor): void => {
      putUndo(tx, { id, actor, selection: JSON.stringify(selection), before, total });
      tx.onDurable(() => this.#run());
    };
    return { id, begin };
  }

  /** @throws AppError `not_found`. */
  state(id: string): UndoState {
    const row = undoOf(this.#options.database.reader, id);
    if (row === null) throw new AppError("not_found", "There is no undo with this id.");
    const { status, done, total, leftCount, error } = row;
    return { id, status, done, total, leftCount, left: [...lostOf(row)], error };
  }

  /** Null for an unknown undo. */
  statusOf(id: string): UndoStatus | null {
    return undoOf(this.#options.database.reader, id)?.status ?? null;
  }

  get #end(): number {
    return this.#options.events.committedSeq + 1;
  }

  #run(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = null;
    });
  }

  /** Never rejects: an undo whose state cannot be read or written goes on at the next start. */
  async #work(): Promise<void> {
    const { database, logger } = this.#options;
    while (!this.#stopping.aborted) {
      let row: UndoRow | null = null;
      try {
        row = runningUndo(database.reader);
        if (row === null) return;
        await this.#goOn(row);
      } catch (thrown) {
        if (this.#stopping.aborted) return;
        // The disk is full, or the journal of the cluster is away.
        if (thrown instanceof AppError && thrown.code === "unavailable") {
          await sleep(pauseMs, undefined, { signal: this.#stopping }).catch(() => undefined);
          continue;
        }
        const isSaved = row !== null && (await this.#fail(row, thrown));
        if (isSaved) continue;
        logger.error("Undos have stopped, and go on at the next start", { error: thrown });
        return;
      }
    }
  }

  /** Notes that an undo has failed; false if that cannot be written. */
  async #fail(row: UndoRow, thrown: unknown): Promise<boolean> {
    const { database, logger } = this.#options;
    logger.error(`The undo ${row.id} has failed`, { error: thrown });
    const failed = { ...row, status: "failed" as const, error: messageOf(thrown) };
    return database
      .upkeep((tx) => saveUndo(tx, failed, lostOf(row)))
      .then(
        () => true,
        () => false,
      );
  }

  /** Takes a slice of an undo back, or ends the undo. */
  async #goOn(row: UndoRow): Promise<void> {
    const { database } = this.#options;
    // The selection was written by `prepare`.
    const selection = JSON.parse(row.selection) as UndoSelection;
    const waiter = { caller: row.actor ?? "", signal: this.#stopping };
    const limit = row.total <= maxWhole ? maxWhole : sliceSize;
    const changes = await changesOf(this.#options.events, selection, { before: row.before, limit, waiter });
    if (changes.length === 0) {
      await database.upkeep((tx) => saveUndo(tx, { ...row, status: "completed" }, lostOf(row)));
      return;
    }
    const principal: System = { ...system, actor: row.actor, cause: { kind: "undo", id: row.id } };
    await settling((mayRely) =>
      database.transactLong(waiter.caller, async (tx) => {
        const { taken, left } = await this.#takeIn(tx, principal, { changes, mayRely });
        const before = changes.at(-1)?.seq ?? 0;
        const lost = [...lostOf(row), ...left].slice(0, maxTold);
        const after = { ...row, before, done: row.done + taken.length, leftCount: row.leftCount + left.length };
        saveUndo(tx, after, lost);
      }),
    );
  }

  /**
   * An update takes unique values that other records have until an older change of the slice frees the values, as in a batch, and a deleted
   * record points to records that come back with an older change.
   * @throws InVain: the transaction must be taken back.
   */
  async #takeIn(
    tx: Transactor,
    principal: System,
    { changes, mayRely }: { changes: readonly LoggedEvent[]; mayRely: MayRely },
  ): Promise<Slice> {
    const { reversals } = this.#options.records;
    const turns = new LoopTurns();
    const taken: LoggedEvent[] = [];
    const left: UndoLeft[] = [];
    const waiting = new Map<number, HeldValues>();
    const awaited: { readonly seq: number; isThere(): boolean }[] = [];
    // The record keeps the present values until the end, so no older change of the slice may be about the record.
    const oldest = new Map(changes.map(({ subject, seq }) => [subject, seq]));
    for (const event of changes) {
      const { seq, subject } = event;
      const later: LaterChanges = {
        holds: (held) => {
          const isHeld = oldest.get(subject) === seq && mayRely(seq);
          if (isHeld) waiting.set(seq, held);
          return isHeld;
        },
        bringBack: ({ id }, isThere) => {
          const isAwaited = oldest.has(id) && mayRely(seq);
          if (isAwaited) awaited.push({ seq, isThere });
          return isAwaited;
        },
      };
      const { isDone, reason } = reversals.take(tx, principal, { event, later });
      if (isDone) taken.push(event);
      if (reason !== null)
        left.push({ collection: collectionOf(event), record: event.subject ?? "", seq: event.seq, reason });
      if (turns.isDue()) await turns.next();
    }
    for (const held of waiting.values()) held.empty();
    const inVain = new Set(awaited.filter(({ isThere }) => !isThere()).map(({ seq }) => seq));
    for (const [seq, held] of waiting) if (held.settle().length > 0) inVain.add(seq);
    if (inVain.size > 0) throw new InVain(inVain);
    return { taken, left };
  }

  async #count(selection: UndoSelection, waiter: Waiter): Promise<number> {
    const { events, maxChanges } = this.#options;
    let total = 0;
    for (let before = this.#end; ; ) {
      const changes = await changesOf(events, selection, { before, limit: sliceSize, waiter });
      // A page takes a millisecond or two, and a write that waits needs several turns.
      await nextTurn();
      total += changes.length;
      if (total > maxChanges)
        throw new AppError(
          "bad_request",
          `These are more than ${maxChanges} changes (limits.undo): name a part of the changes, or raise the limit.`,
          { limit: "undo" },
        );
      const last = changes.at(-1);
      if (last === undefined || changes.length < sliceSize) break;
      before = last.seq;
    }
    if (total === 0) throw new AppError("not_found", "The log has no change of a record that fits.");
    return total;
  }
}

/** Runs a transaction. After `InVain`, runs the transaction again, and the changes of the error rely on no later change. */
async function settling(run: (mayRely: MayRely) => Promise<unknown>): Promise<void> {
  let barred: ReadonlySet<number> = new Set();
  for (let tries = 1; ; tries++)
    try {
      await run((seq) => tries < maxTries && !barred.has(seq));
      return;
    } catch (thrown) {
      if (!(thrown instanceof InVain)) throw thrown;
      barred = barred.union(thrown.seqs);
    }
}

function lostOf({ lost }: UndoRow): readonly UndoLeft[] {
  // The text was written from `UndoLeft[]`.
  return JSON.parse(lost) as UndoLeft[];
}

function collectionOf({ type }: LoggedEvent): string {
  return type.slice(0, type.lastIndexOf("."));
}

function effectsOf(taken: readonly LoggedEvent[]): UndoEffect[] {
  const byCollection = new Map<string, { deleted: number; changed: number; restored: number }>();
  for (const event of taken) {
    const name = collectionOf(event);
    const effect = byCollection.getOrInsertComputed(name, () => ({ deleted: 0, changed: 0, restored: 0 }));
    const kind = kindOf(event);
    effect[kind === "created" ? "deleted" : kind === "updated" ? "changed" : "restored"] += 1;
  }
  return [...byCollection].map(([collection, effect]) => ({ collection, ...effect }));
}

/** The effects of an undo, in a sentence. */
function textOf(effects: readonly UndoEffect[], left: number): string {
  const parts = effects.flatMap(({ collection, deleted, changed, restored }) => [
    ...(deleted > 0 ? [`${count(deleted, "creation")} in ${collection} taken back`] : []),
    ...(changed > 0 ? [`${count(changed, "update")} in ${collection} taken back`] : []),
    ...(restored > 0 ? [`${count(restored, "deleted record")} of ${collection} restored`] : []),
  ]);
  const done = parts.length === 0 ? "Nothing would change" : parts.join(", ");
  return left === 0 ? `${done}.` : `${done}; ${count(left, "change")} with a remark.`;
}
