/**
 * Changes that are made once: a create or a batch whose answer was lost is sent again with the same `Idempotency-Key`, for which
 * the service makes the change a single time.
 */
import { SocleError } from "./error.ts";

/** How often a change is sent again, unless the client's options say otherwise. */
export const defaultRetries = 5;
/** The wait before the second try; each further wait is twice as long. A service that does not answer at all is waited for half as long. */
const firstWaitMs = 500;
/** A service that asks for a longer wait is not waited for. */
const longestWaitMs = 60_000;

const answersOfOutage: readonly number[] = [502, 503, 504];

interface Tries {
  readonly idempotencyKey?: string;
  readonly retries: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the user of the change is not signed in any more: nobody else sends the change again. */
  isOver(): boolean;
}

/**
 * Sends a change until an answer comes.
 * @param send sends the change with a key, or with null without a key. @param options see `OnceOptions`.
 * @throws the error of the last try.
 */
export async function once<T>(
  send: (key: string | null) => Promise<T>,
  { idempotencyKey, retries, signal, isOver }: Tries,
): Promise<T> {
  // React Native has no `crypto`, and a key that somebody may guess is no key.
  const isKeyless = idempotencyKey === undefined && (retries === 0 || globalThis.crypto === undefined);
  if (isKeyless) return send(null);
  const key = idempotencyKey ?? randomKey();
  for (let failures = 0; ; failures++) {
    try {
      return await send(key);
    } catch (thrown) {
      if (failures === 0 && idempotencyKey === undefined && hasNoKeyLeft(thrown)) return send(null);
      const waitMs = failures < retries && !signal?.aborted ? waitAfter(thrown, failures) : null;
      if (waitMs === null) throw thrown;
      await wait(waitMs, signal);
      if (isOver()) throw thrown;
    }
  }
}

/** Waits; an abort ends the wait, and the next try rejects with the reason of the signal. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** Milliseconds until the next try; null for an error that another try does not change. */
function waitAfter(thrown: unknown, failures: number): number | null {
  // Waits of different lengths: clients that lost the same service do not come back at the same moment.
  const ownMs = firstWaitMs * 2 ** failures * (0.75 + Math.random() / 2);
  // Without a whole answer, nobody knows whether the change was made.
  if (!(thrown instanceof SocleError) || thrown.is("offline")) return ownMs / 2;
  const { status, retryAfter } = thrown;
  // The service asks to wait while the first request with the key is under way. Other conflicts are answers.
  const isUnderWay = status === 409 && retryAfter !== null;
  if (!isUnderWay && !answersOfOutage.includes(status)) return null;
  const askedMs = (retryAfter ?? 0) * 1_000;
  return askedMs > longestWaitMs ? null : Math.max(ownMs, askedMs || 0);
}

/** Whether the service keeps no more keys of this caller (`limits.idempotencyKeys`). The change was not made. */
function hasNoKeyLeft(thrown: unknown): boolean {
  return (
    thrown instanceof SocleError &&
    thrown.status === 429 &&
    thrown.details.some(({ field }) => field === "Idempotency-Key")
  );
}

/** 128 random bits. `crypto.randomUUID` is missing on pages without HTTPS. */
function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
