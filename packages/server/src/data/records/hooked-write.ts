/** Writes with hooks: the write is tried until its hooks have seen the write, in turns with other writes that conflict. */
import { codeOf, type Principal, shareOf } from "../../base/kernel/index.ts";
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
  /**
   * The caller whose share the write takes: a user id or an address. By default, the caller behind the principal. Asked only for a write that
   * may wait: the address of a request costs 2 µs.
   */
  readonly callerOf?: (() => string) | undefined;
  /** Whether the write also runs in read-only mode, because the transaction is rolled back. */
  readonly whileReadOnly?: boolean;
}

/** Rolls a transaction back until its hooks have been asked. */
const hooksPending = new Error("Hooks have to be asked first");

/** @throws AppError of the write and of hooks, and `conflict`. */
export async function writeHooked<T>(
  { database, turns, principal }: { database: Database; turns: ConflictTurns; principal: Principal },
  write: LongWrite<T> & { readonly hooks: WriteHooks },
  work: CallersWork<Promise<T>>,
): Promise<T> {
  const { hooks, makesRoom, whileReadOnly = false, quick = null } = write;
  const caller = write.callerOf?.() ?? shareOf(principal) ?? "";
  const conflicting = { owner: hooks, caller };
  const long: CallersWork<Promise<T>> = async (tx, current) => {
    hooks.begin();
    await hooks.look();
    return seen(hooks, await work(tx, current));
  };
  const short: CallersWork<T> | null =
    quick &&
    ((tx, current) => {
      hooks.begin();
      return seen(hooks, quick(tx, current));
    });
  // The write of a hook or a transaction, and a write beside a transaction with a turn, take no turn: the holder of the turn may wait
  // for the write.
  const waits = (): boolean =>
    write.hasTurns !== false &&
    !(principal !== null && (turns.hasAny(codeOf(principal) ?? principal) || codeOf(principal)?.isHook === true));
  const turn: Turn[] = [];
  const takeTurn = async (key: string | null): Promise<void> => {
    if (key === null || turns.isOf(key, hooks) || !waits()) return;
    turn.pop()?.release();
    turn.push(await turns.take(key, conflicting));
  };
  try {
    for (;;) {
      try {
        return await (short !== null && !hooks.hasReads
          ? database.transactFor(principal, short, { isRepeatable: true })
          : database.transactLongFor(principal, long, { makesRoom, whileReadOnly, caller }));
      } catch (thrown) {
        if (thrown !== hooksPending) throw thrown;
      }
      await takeTurn(hooks.takeConflict());
      await hooks.ask(caller);
      if (turn.length === 0 && waits()) await turns.pass(hooks.written, conflicting);
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
