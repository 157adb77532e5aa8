/** The state of the pure model of accounts: accounts with credentials, sessions, attempts and proofs, as plain values. */

/** Three people who keep to the rules, and an attacker. */
export const people = ["ann", "ben", "cat", "eve"] as const;
export type Person = (typeof people)[number];

export const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The lives and the numbers of the proofs of an address (docs/accounts.md). */
export const proofRules = {
  verify: { lifeMs: 24 * hourMs, kept: 3 },
  reset: { lifeMs: hourMs, kept: 3 },
  email: { lifeMs: hourMs, kept: 3 },
  invitation: { lifeMs: 7 * 24 * hourMs, kept: 1 },
  code: { lifeMs: 10 * minuteMs, kept: 6 },
} as const;
export type Purpose = keyof typeof proofRules;

export interface Account {
  /** The id in the service; "" until the first answer with the user. */
  id: string;
  email: string;
  isVerified: boolean;
  isGone: boolean;
  password: string | null;
  /** Whether an admin has chosen the password before the first proof. */
  hasGivenPassword: boolean;
  totp: { readonly secret: string; lastStep: number } | null;
  /** A secret that no code has confirmed. */
  pending: string | null;
  readonly recoveryCodes: Set<string>;
  /** Ids of credentials of authenticators. */
  readonly passkeys: Set<string>;
  /** Subjects at the provider. */
  readonly links: Set<string>;
  readonly keys: Set<string>;
  /** The times of wrong codes of the app. */
  wrongFactors: number[];
  /** Whether the attacker has used a stolen secret of the account: from then on, the attacker may have made anything. */
  isCompromised: boolean;
}

export interface Session {
  readonly account: Account;
  readonly startedAt: number;
  /** `of` is the refresh token that came with the access token. */
  readonly access: { readonly text: string; readonly endsAt: number; readonly of: string }[];
  refresh: string;
  /** Whether a request has shown an access token that came with the present refresh token. */
  isSeen: boolean;
  readonly spent: { readonly text: string; at: number }[];
  endsAt: number;
  isOver: boolean;
}

/** A sign-in that waits for the second factor. */
export interface Attempt {
  readonly text: string;
  readonly account: Account;
  readonly endsAt: number;
  isOver: boolean;
}

export interface Proof {
  readonly purpose: Purpose;
  /** The token, or the attempt of a code; "" for a proof that nobody holds. */
  readonly text: string;
  readonly email: string;
  /** Null for an address without a user, and for an invitation. */
  readonly account: Account | null;
  readonly code?: string;
  readonly endsAt: number;
  isOver: boolean;
}

/** A person at the provider. */
export interface Identity {
  readonly sub: string;
  readonly email: string;
  readonly isVerified: boolean;
}

/** The expected answer. */
export interface Expected {
  readonly status: number;
  /** The account of the session that the answer opens. */
  readonly session?: Account;
  /** The account of the attempt that the answer begins. */
  readonly attempt?: Account;
  /** The secret that is mailed. */
  readonly mail?: { readonly purpose: Purpose; readonly to: string; readonly account: Account | null };
}

export function newAccount(email: string, password: string | null): Account {
  return {
    id: "",
    email,
    isVerified: false,
    isGone: false,
    password,
    hasGivenPassword: false,
    totp: null,
    pending: null,
    recoveryCodes: new Set(),
    passkeys: new Set(),
    links: new Set(),
    keys: new Set(),
    wrongFactors: [],
    isCompromised: false,
  };
}

/** Takes every credential but sessions away; a kept link stays. */
export function clearCredentials(account: Account, keptLink: string | null): void {
  account.password = null;
  clearFactors(account);
  account.keys.clear();
  for (const link of account.links) if (link !== keptLink) account.links.delete(link);
}

export function clearFactors(account: Account): void {
  account.totp = null;
  account.pending = null;
  account.recoveryCodes.clear();
  account.passkeys.clear();
}
