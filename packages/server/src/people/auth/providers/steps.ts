/** Steps of sign-ins at providers: kept for a token that works once, for one purpose and within a time. */
import { AppError, type SignedIn } from "../../../base/kernel/index.ts";
import type { LimitMeter } from "../../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import type { ProviderIdentity } from "./presets.ts";
import { addStep, findStep, removeStep, type StepPurpose } from "./provider-table.ts";

/** How long a person may take for the sign-in at the provider, and an app for the exchange of the code. */
const ttlMs: { readonly [purpose in StepPurpose]: number } = { link: 60_000, state: 10 * 60_000, code: 60_000 };

/** The content of a step. */
export interface Step {
  readonly provider: string;
  /** The address of the app. */
  readonly redirect: string;
  /** The SHA-256 hash of the app's verifier, in base64url. */
  readonly challenge: string;
  /** The signed-in user who adds a link; null for a sign-in. */
  readonly linkFor: SignedIn | null;
  /** The hash of the browser's secret, of a `state`. */
  readonly browser?: string;
  /** The person, of a `code`. */
  readonly identity?: ProviderIdentity;
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

  /** Adds a step and answers the token of the step. */
  add(tx: Transactor, purpose: StepPurpose, content: Step): string {
    const { limits, most } = this.#options;
    const { token, hasForgotten } = addStep(tx, purpose, { content, ttlMs: ttlMs[purpose], most });
    if (hasForgotten) tx.onDurable(() => limits.reached("providerSignIns", {}));
    return token;
  }

  /**
   * The step of a token, which stays.
   * @param isOwn whether the caller is the caller that the step waits for.
   * @throws AppError `bad_request`, the same for each token that does not work.
   */
  look(purpose: StepPurpose, token: string, isOwn: (step: Step) => boolean): Step {
    return find(this.#options.database.reader, { purpose, token, isOwn }).step;
  }

  /** Like `look`, and the token works no more. */
  take(tx: Transactor, purpose: StepPurpose, given: { token: string; isOwn: (step: Step) => boolean }): Step {
    const { hash, step } = find(tx, { purpose, ...given });
    removeStep(tx, hash);
    return step;
  }
}

function find(
  reader: Reader,
  { purpose, token, isOwn }: { purpose: StepPurpose; token: string; isOwn: (step: Step) => boolean },
): { hash: string; step: Step } {
  const row = findStep(reader, purpose, token);
  const step: Step | null = row === null ? null : JSON.parse(row.content);
  if (row !== null && step !== null && isOwn(step)) return { hash: row.hash, step };
  throw new AppError("bad_request", "The token is unknown, used or expired. Begin again.");
}
