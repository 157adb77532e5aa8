/** Writes with hooks: the write is tried until its hooks have seen the write, in turns with other writes that conflict. */
import type { Principal } from "../../base/kernel/index.ts";
import type { CallersWork, Database } from "../../store/database/index.ts";
import type { ConflictTurns, Turn } from "./turns.ts";
import type { WriteHooks } from "./write-hooks.ts";

/** A write in a long transaction. */
export interface LongWrite<T> {
  readonly hooks: WriteHooks | null;
  /** As in `TransactOptions`. */
  readonly makesRoom: boolean;
  /** The same write for a short transaction, while no hook has read anything. */
  readonly quick?: CallersWork<T> | null;
  /** Whether conflicting hooks take turns. By default, yes. */
  readonly hasTurns?: boolean;
}

/** Rolls a transaction back until its hooks have been asked. */
const hooksPending = new Error("Hooks have to be asked first");

/** @throws AppError of the write and of hooks, and `conflict`. */
export async function writeHooked<T>(
  { database, turns, principal }: { database: Database; turns: ConflictTurns; principal: Principal },
  write: LongWrite<T> & { readonly hooks: WriteHooks },
  work: CallersWork<Promise<T>>,
): Promise<T> {
  const { hooks, makesRoom, quick = null } = write;
  const long: CallersWork<Promise<T>> = async (tx, caller) => {
    hooks.begin();
    await hooks.look();
    return seen(hooks, await work(tx, caller));
  };
  const short: CallersWork<T> | null =
    quick &&
    ((tx, caller) => {
      hooks.begin();
      return seen(hooks, quick(tx, caller));
    });
  // The write of a hook or a transaction, and a write beside a transaction with a turn, take no turn: the holder of the turn may wait
  // for the write.
  const waits = (): boolean =>
    write.hasTurns !== false &&
    !(principal !== null && (turns.hasAny(principal) || ("isHook" in principal && principal.isHook)));
  const turn: Turn[] = [];
  const takeTurn = async (key: string | null | undefined): Promise<void> => {
    if (turn.length === 0 && typeof key === "string" && waits()) turn.push(await turns.take(key, hooks));
  };
  try {
    for (;;) {
      try {
        return await (short !== null && !hooks.hasReads
          ? database.transactFor(principal, short, { isRepeatable: true })
          : database.transactLongFor(principal, long, { makesRoom }));
      } catch (thrown) {
        if (thrown !== hooksPending) throw thrown;
      }
      await takeTurn(hooks.conflict);
      await hooks.ask();
      await takeTurn(hooks.keys.find((key) => turns.isTaken(key, hooks)));
      await hooks.refresh();
    }
  } finally {
    turn[0]?.release();
  }
}

/** @throws `hooksPending` unless the hooks have seen the write. */
function seen<T>(hooks: WriteHooks, saved: T): T {
  if (hooks.isPending) throw hooksPending;
  return saved;
}
