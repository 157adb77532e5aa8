/** The secrets that each person of the model of accounts has: made, read in mails, or stolen. */
import type { SoftPasskey } from "../soft-authenticator.ts";
import type { Person, Purpose } from "./account-state.ts";

/** A kind of secrets that are texts, with more about each secret. */
type Text<Kind, More = object> = Kind extends string ? { readonly kind: Kind; readonly text: string } & More : never;

export type Secret =
  | Text<"access" | "refresh" | "attempt" | "recovery" | "totp">
  | Text<"password", { readonly email: string }>
  | Text<"key", { readonly id: string }>
  /** `asker` is the person whose request has had the mail sent. */
  | Text<Exclude<Purpose, "code">, { readonly asker: Person }>
  | Text<"code", { readonly code: string; readonly asker: Person }>
  | Text<"passkey", { readonly passkey: SoftPasskey }>;
export type SecretKind = Secret["kind"];
export type SecretOf<Kind extends SecretKind> = Extract<Secret, { kind: Kind }>;

export class Pockets {
  readonly #secrets = new Map<Person, Secret[]>();
  readonly #stolen = new Set<string>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  keep(person: Person, secret: Secret): void {
    this.all(person).push(secret);
  }

  all(person: Person): Secret[] {
    const found = this.#secrets.get(person) ?? [];
    this.#secrets.set(person, found);
    return found;
  }

  /** A secret of a kind, more often a new secret than an old secret; undefined without any. */
  pick<Kind extends SecretKind>(person: Person, kind: Kind): SecretOf<Kind> | undefined {
    const fitting = this.all(person).filter((secret): secret is SecretOf<Kind> => secret.kind === kind);
    return fitting.at(-1 - Math.floor(this.#random() ** 2 * fitting.length));
  }

  pickAny(person: Person): Secret | undefined {
    const all = this.all(person);
    return all[Math.floor(this.#random() * all.length)];
  }

  /** The attacker gets a copy. A passkey stays in its authenticator. */
  steal(secret: Secret): void {
    if (secret.kind === "passkey") return;
    this.#stolen.add(secret.text);
    this.keep("eve", secret);
  }

  isStolen(text: string): boolean {
    return this.#stolen.has(text);
  }
}
