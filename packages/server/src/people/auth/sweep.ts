/** The sweep: removes expired sessions, tokens, sign-ins under way and API keys, and stores the uses of credentials. */
import type { Database } from "../../store/database/index.ts";
import { expiringAttempts } from "./attempt-table.ts";
import { expiringChallenges } from "./factors/passkey-table.ts";
import { expiringKeys, keyIdPrefix, setUsed } from "./keys/key-table.ts";
import { expiringProofs } from "./proof-table.ts";
import { expiringSteps } from "./providers/provider-table.ts";
import { markSeen, spentTokens } from "./refresh-token-table.ts";
import { expiringSessions } from "./sessions.ts";
import type { Uses } from "./uses.ts";

const tables = [
  expiringSessions,
  spentTokens,
  expiringAttempts,
  expiringProofs,
  expiringSteps,
  expiringChallenges,
  expiringKeys,
];

/** The most rows of a table that a transaction removes, and the most uses that a transaction stores. */
const sweepStep = 50;

/** Sweeps in small steps, to the end or until `signal` is aborted. */
export async function sweepExpired(database: Database, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await sweepOnce(database, Date.now()))) {
    // Waiting writes run between two steps.
    await Bun.sleep(5);
  }
}

/** Answers whether another step is due. */
async function sweepOnce(database: Database, now: number): Promise<boolean> {
  const found = tables.map(({ over, remove }) => ({ remove, keys: over(database.reader, now, sweepStep) }));
  const longest = Math.max(...found.map(({ keys }) => keys.length));
  if (longest === 0) return false;
  await database.upkeep((tx) => {
    for (const { remove, keys } of found) for (const key of keys) remove(tx, key, now);
  });
  return longest === sweepStep;
}

/** Stores the noted uses of API keys and access tokens, in small steps. */
export async function storeUses(uses: Uses, database: Database, signal: AbortSignal): Promise<void> {
  while (uses.size > 0 && !signal.aborted)
    await database.upkeep((tx) => {
      // Until this transaction, a refresh finds the use in memory.
      for (const [id, at] of uses.take(sweepStep))
        if (id.startsWith(keyIdPrefix)) setUsed(tx, id, at);
        else markSeen(tx, id);
    });
}
