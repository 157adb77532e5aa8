/** Replay: runs the statements of an entry of the journal in a transaction, in short steps of the event loop or on a thread. */
import { nextTurn } from "../../../base/kernel/index.ts";
import { type CommitEntry, EntryMismatch, returnsChanges } from "../entry.ts";
import type { Migration } from "../transaction.ts";

/** The longest time for which statements hold the event loop; the next statement runs in the next turn. */
const stepMs = 5;

/** Runs an entry. @throws EntryMismatch when a statement changes another number of rows than the entry says. */
export async function replayIn(tx: Migration, { site, texts, runs, notes }: CommitEntry): Promise<void> {
  let until = performance.now() + stepMs;
  const on = site === "thread" ? tx.slow : tx;
  for (const [text, changes, ...values] of runs) {
    const sql = texts[text];
    if (sql === undefined) throw new EntryMismatch("The entry names a statement that the entry does not have");
    const changed = returnsChanges(sql) ? (await on.all(sql, ...values)).length : await on.run(sql, ...values);
    if (changes !== null && changes !== changed)
      throw new EntryMismatch(`A statement has changed ${changed} rows, and ${changes} in the journal: ${sql}`);
    if (site === "thread" || performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + stepMs;
  }
  for (const note of notes) tx.note(note);
}
