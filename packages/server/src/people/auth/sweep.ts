/** The sweep: removes expired sessions, attempts, proofs, sign-ins at providers and challenges, and used refresh tokens. */
import type { Database } from "../../store/database/index.ts";
import { expiredAttempts, removeAttempt } from "./factors/attempt-table.ts";
import { expiredChallenges, removeChallenge } from "./factors/passkey-table.ts";
import { expiredProofs, removeProof } from "./proofs/proof-table.ts";
import { expiredSteps, removeStep } from "./providers/provider-table.ts";
import { removeToken, spentTokens } from "./refresh-token-table.ts";
import { endSession, expiredSessions, findUnexpired } from "./sessions.ts";

/** The most rows of a table that a transaction removes. */
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
  const { reader } = database;
  const sessions = expiredSessions(reader, now, sweepStep);
  const tokens = spentTokens(reader, now, sweepStep);
  const attempts = expiredAttempts(reader, now, sweepStep);
  const proofs = expiredProofs(reader, now, sweepStep);
  const steps = expiredSteps(reader, now, sweepStep);
  const challenges = expiredChallenges(reader, now, sweepStep);
  const longest = Math.max(...[sessions, tokens, attempts, proofs, steps, challenges].map(({ length }) => length));
  if (longest === 0) return false;
  await database.transact((tx) => {
    // The session may have been renewed since.
    for (const id of sessions) if (findUnexpired(tx, id, now) === null) endSession(tx, id);
    for (const hash of tokens) removeToken(tx, hash);
    for (const hash of attempts) removeAttempt(tx, hash);
    for (const hash of proofs) removeProof(tx, hash);
    for (const hash of steps) removeStep(tx, hash);
    for (const hash of challenges) removeChallenge(tx, hash);
  });
  return longest === sweepStep;
}
