/** Times of a cluster, in milliseconds. */

/** How long a lease lasts: of the leader, and of the right of an instance to serve. */
export const leaseMs = 5_000;
/** The time between two beats of an instance: the row of the instance, and the lease of the leader. */
export const beatMs = 1_000;
/**
 * How long instances may serve on after the last question in which an instance said that the engine is away: the leader counts the question for
 * two beats, then the right of the leader lasts, and the right that the leader gave last.
 */
export const withoutEngineMs = 2 * beatMs + 2 * leaseMs;
/** How long the leader keeps a question of a replica that has every commit. */
export const pollMs = 1_000;
/** The same, for a replica that cannot reach the engine of the journal. */
export const awayMs = 250;
/** The time after which a question to another instance fails. */
export const questionMs = 3_000;
