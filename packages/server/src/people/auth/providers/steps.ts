/** Steps of sign-ins that lead through a browser: kept for a token that works once, for one purpose and within a time. */
import type { SignedIn } from "../../../base/kernel/index.ts";
import type { LimitMeter } from "../../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import { invalidProof } from "../proof-table.ts";
import type { ProviderIdentity } from "./presets.ts";
import { addStep, findStep, removeStep, type StepPurpose } from "./provider-table.ts";

/** How long a person may take for the sign-in at the provider, and an app for the exchange of the code. */
export const ttlMs: { readonly [purpose in StepPurpose]: number } = { link: 60_000, state: 10 * 60_000, code: 60_000 };

/** The app that a sign-in is for. */
export interface AppTarget {
  /** The address of the app. */
  readonly redirect: string;
  /** The SHA-256 hash of the app's verifier, in base64url. */
  readonly challenge: string;
}

/** A step of a sign-in at a provider. */
export interface ProviderStep extends AppTarget {
  readonly provider: string;
  /** Whether `redirect` is a page of this service, which gets the outcome as parameters of the address. */
  readonly isOnPage?: true;
  /** The signed-in user who adds a link; null for a sign-in. */
  readonly linkFor: SignedIn | null;
  /** The hash of the browser's secret, of a `state`. */
  readonly browser?: string;
  /** The person, of a `code`. */
  readonly identity?: ProviderIdentity;
}

/** The last step of a sign-in on the pages of this service: a session that waits for the app. */
export interface SessionStep extends AppTarget {
  readonly sessionId: string;
}

/** The content of a step, by purpose. */
interface StepOf {
  readonly link: ProviderStep;
  readonly state: ProviderStep;
  readonly code: ProviderStep | SessionStep;
}

/** A token, and whether the caller is the caller that the step of the token waits for. */
interface Given<P extends StepPurpose> {
  readonly token: string;
  readonly isOwn: (step: StepOf[P]) => boolean;
}

interface StepsOptions {
  readonly database: Database;
  readonly limits: LimitMeter;
  /** The most steps that are kept. */
  readonly most: number;
}

export class Steps {
  readonly #options: StepsOptions;

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  /** Adds a step and answers the token of the step. `caller` is the key of the caller whose share the step takes. */
  add<P extends StepPurpose>(tx: Transactor, purpose: P, step: { content: StepOf[P]; caller: string }): string {
    const { limits, most } = this.#options;
    const { token, hasForgotten } = addStep(tx, purpose, { ...step, ttlMs: ttlMs[purpose], most });
    if (hasForgotten) tx.onDurable(() => limits.reached("providerSignIns", {}));
    return token;
  }

  /**
   * The step of a token, which stays.
   * @throws AppError `bad_request`, the same for each token that does not work.
   */
  look<P extends StepPurpose>(purpose: P, given: Given<P>): StepOf[P] {
    return find(this.#options.database.reader, purpose, given).step;
  }

  /** Like `look`, and the token works no more. */
  take<P extends StepPurpose>(tx: Transactor, purpose: P, given: Given<P>): StepOf[P] {
    const { hash, step } = find(tx, purpose, given);
    removeStep(tx, hash);
    return step;
  }
}

function find<P extends StepPurpose>(
  reader: Reader,
  purpose: P,
  { token, isOwn }: Given<P>,
): { hash: string; step: StepOf[P] } {
  const row = findStep(reader, purpose, token);
  const step: StepOf[P] | null = row === null ? null : JSON.parse(row.content);
  if (row !== null && step !== null && isOwn(step)) return { hash: row.hash, step };
  throw invalidProof();
}
