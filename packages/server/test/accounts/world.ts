/**
 * Random sequences of operations on accounts, against the model: each answer has the status that the model expects, a session
 * opens for the account that the model expects, and nobody gets into a proven account of another person without a theft.
 */
import { setSystemTime } from "bun:test";
import type { FakeProvider } from "../fake-provider.ts";
import type { Answer, TestApi } from "../kit.ts";
import { randomNumbers } from "../random.ts";
import { type Account, type Expected, type Identity, type Person, type Purpose, people } from "./account-state.ts";
import { AccountModel } from "./model.ts";
import { Pockets, type SecretOf } from "./person-secrets.ts";

/** The services that sequences share: no two sequences have an address in common. */
export interface Stage {
  readonly api: TestApi;
  readonly fake: FakeProvider;
  readonly needsProof: boolean;
  /** The times of codes for texts that are no attempts of the service. */
  readonly strayCodes: number[];
  /** Lets milliseconds pass on the monotonic clock. */
  readonly pass: (milliseconds: number) => void;
}

interface Request {
  readonly token?: string | undefined;
  readonly body?: object;
}

/** The sender of a request, and the secrets in the request. */
export interface Deed {
  readonly by: Person;
  readonly secrets: readonly (string | undefined)[];
  /** The account that a session of the request belongs to. */
  readonly account?: Account | null | undefined;
}

interface MailRow {
  readonly seq: number;
  readonly kind: Purpose;
  readonly recipient: string;
  readonly text: string;
}

/** Longer than the grace time of refresh tokens divided by four, so that few requests are within the time. */
const tickMs = 3_000;
let addresses = 0;

export class World {
  readonly stage: Stage;
  readonly model: AccountModel;
  readonly pockets: Pockets;
  readonly trace: string[] = [];
  readonly identities: { readonly by: Person; readonly identity: Identity }[] = [];
  /** The number of attempts that have begun. */
  attempts = 0;
  /** Whether the attacker steals in this sequence: without a theft, the attacker gets into no proven account. */
  readonly hasThief: boolean;
  readonly #random: () => number;
  readonly #name: string;
  #mailSeq: number;
  #texts = 0;
  #admin = { token: "", until: 0 };

  constructor(stage: Stage, seed: number) {
    this.stage = stage;
    this.#random = randomNumbers(seed);
    this.#name = `${seed.toString(36)}${stage.needsProof ? "p" : ""}`;
    this.model = new AccountModel(stage.needsProof, stage.strayCodes);
    this.model.now = Math.ceil(Date.now() / 1_000) * 1_000;
    setSystemTime(this.model.now);
    this.pockets = new Pockets(this.#random);
    this.hasThief = this.chance(0.5);
    this.#mailSeq = this.#reader.get<{ seq: number }>("SELECT max(seq) AS seq FROM _mails")?.seq ?? 0;
  }

  get #reader() {
    return this.stage.api.service.database.reader;
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)];
    if (picked === undefined) throw new Error("Nothing to pick from");
    return picked;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A password that nobody has used. */
  newPassword(): string {
    this.#texts += 1;
    return `secret ${this.#name} ${this.#texts}`;
  }

  /** The two addresses of a person. */
  addressesOf(person: Person): [string, string] {
    return [`${person}-${this.#name}@example.com`, `${person}2-${this.#name}@example.com`];
  }

  ownerOf(email: string): Person {
    const owner = people.find((person) => this.addressesOf(person).includes(email));
    if (owner === undefined) throw new Error(`${email} is nobody's address`);
    return owner;
  }

  /** A person uses the own addresses; the attacker uses any address. */
  addressFor(person: Person): string {
    const [first, second] = this.addressesOf(person === "eve" && this.chance(0.7) ? this.pick(people) : person);
    return this.chance(0.85) ? first : second;
  }

  /** Accounts of people at the provider. The attacker also has an account with the unproven address of another person. */
  identityOf(person: Person): Identity {
    const isLie = person === "eve" && this.chance(0.5);
    const email = isLie ? this.addressFor("eve") : this.addressesOf(person)[0];
    const owner = this.ownerOf(email);
    const isSecond = this.chance(0.2);
    return { sub: `${person}-${this.#name}-${email}-${isSecond}`, email, isVerified: owner === person };
  }

  tick(milliseconds: number = tickMs): void {
    this.model.now += milliseconds;
    this.stage.pass(milliseconds);
    setSystemTime(this.model.now);
  }

  /** Each request comes from an address of its own: the bounds of an address have tests of their own. */
  send<T = Answer["body"]>(method: string, path: string, { token, body }: Request = {}): Promise<Answer<T>> {
    addresses += 1;
    const headers = { "x-test-address": `network-${addresses}` };
    return this.stage.api.request<T>(method, path, {
      headers,
      ...(token !== undefined && { token }),
      ...(body !== undefined && { body }),
    });
  }

  post(path: string, body: object, token?: string): Promise<Answer> {
    return this.send("POST", `/api/auth/${path}`, { body, token });
  }

  /** The token of an admin whose sign-in is recent. */
  async admin(): Promise<string> {
    if (this.#admin.until > this.model.now) return this.#admin.token;
    const { body } = await this.post("login", { email: "admin@example.com", password: "correct horse" });
    this.#admin = { token: String(body["accessToken"]), until: this.model.now + 9 * 60_000 };
    return this.#admin.token;
  }

  idOf({ email }: Account): string {
    const found = this.#reader.get<{ id: string }>("SELECT id FROM _users WHERE email = ?", email);
    if (found === null) throw new Error(`There is no user ${email}`);
    return found.id;
  }

  /** Compares an answer with the model, and keeps what the answer and the mails tell. */
  async settle(expected: Expected, answer: Answer, deed: Deed): Promise<void> {
    this.#compare(expected, answer);
    const account = expected.session ?? expected.attempt ?? deed.account ?? null;
    const isTheft = deed.by === "eve" && deed.secrets.some((text) => text !== undefined && this.pockets.isStolen(text));
    if (isTheft && account !== null && answer.status < 400) account.isCompromised = true;
    if (expected.session !== undefined) this.#opened(expected.session, answer, deed.by);
    if (expected.attempt !== undefined) this.#attempted(expected.attempt, answer, deed.by);
    await this.#readMails(expected, answer, deed.by);
  }

  /** Notes an account at the provider that was used. */
  met(by: Person, identity: Identity): void {
    if (!this.identities.some((each) => each.identity.sub === identity.sub)) this.identities.push({ by, identity });
  }

  note(text: string): void {
    this.trace.push(text);
  }

  #compare(expected: Expected, answer: Answer): void {
    const isOpen = answer.body["accessToken"] !== undefined;
    const isAttempt = answer.body["next"] !== undefined && answer.body["attempt"] !== undefined;
    const got = { status: answer.status, isOpen, isAttempt };
    const status = expected.status;
    const right = { status, isOpen: expected.session !== undefined, isAttempt: expected.attempt !== undefined };
    if (JSON.stringify(got) === JSON.stringify(right)) return;
    throw new Error(`expected ${JSON.stringify(right)}, got ${JSON.stringify(got)} ${JSON.stringify(answer.body)}`);
  }

  /** A session has opened: for the right account, and for a person who has proven the identity. */
  #opened(account: Account, { body }: Answer, by: Person): void {
    const user = { id: String(body["user"]?.["id"]), email: String(body["user"]?.["email"]) };
    if (account.id === "") account.id = user.id;
    if (user.id !== account.id || user.email !== account.email)
      throw new Error(`a session of ${account.email} opened for ${user.email}`);
    if (account.isVerified && !account.isCompromised && this.ownerOf(account.email) !== by)
      throw new Error(`${by} has a session of ${account.email}, without any theft`);
    this.model.opened(account, {
      accessToken: String(body["accessToken"]),
      refreshToken: String(body["refreshToken"]),
    });
    this.keepTokens(by, body);
  }

  keepTokens(by: Person, body: Answer["body"]): void {
    this.pockets.keep(by, { kind: "access", text: String(body["accessToken"]) });
    this.pockets.keep(by, { kind: "refresh", text: String(body["refreshToken"]) });
  }

  #attempted(account: Account, { body }: Answer, by: Person): void {
    const text = String(body["attempt"]);
    this.attempts += 1;
    this.model.attempted(account, text);
    this.pockets.keep(by, { kind: "attempt", text });
  }

  /** The mails with secrets since the last request: exactly the expected mail, read by the owner of the address. */
  async #readMails({ mail }: Expected, answer: Answer, by: Person): Promise<void> {
    // The work of a request for a mail follows the answer.
    if (answer.status === 202) {
      await new Promise((resolve) => setImmediate(resolve));
      await this.stage.api.service.database.transact(() => undefined);
    }
    const sql =
      "SELECT seq, kind, recipient, text FROM _mails WHERE seq > ? AND kind NOT IN ('notice', 'taken') ORDER BY seq";
    const mails = this.#reader.all<MailRow>(sql, this.#mailSeq);
    const isSent = mail !== undefined && (mail.purpose !== "code" || mail.account !== null);
    const expected = isSent ? [`${mail.purpose} ${mail.to}`] : [];
    const got = mails.map(({ kind, recipient }) => `${kind} ${recipient}`);
    if (got.join() !== expected.join()) throw new Error(`expected the mails [${expected}], got [${got}]`);
    if (mail === undefined) return;
    const [sent] = mails;
    const [, token, code] = /\?token=(\S+)|^(\d{6})$/m.exec(sent?.text ?? "") ?? [];
    const text = mail.purpose === "code" ? String(answer.body["attempt"]) : String(token);
    this.model.proofs.add(mail, { text, code, now: this.model.now });
    this.#mailSeq = sent?.seq ?? this.#mailSeq;
    if (mail.purpose !== "code") this.pockets.keep(this.ownerOf(mail.to), { kind: mail.purpose, text, asker: by });
    else this.#keepCode(mail.to, { text, code: code ?? "000000", asker: by });
  }

  /** The requester of a code knows the attempt, and the owner of the address knows the code. */
  #keepCode(to: string, { text, code, asker }: Omit<SecretOf<"code">, "kind">): void {
    const owner = this.ownerOf(to);
    if (owner === asker) this.pockets.keep(owner, { kind: "code", text, code, asker });
    else this.pockets.keep(asker, { kind: "code", text, code: this.#guess(code), asker });
  }

  /** A wrong code. */
  #guess(code: string): string {
    return String((Number(code) + 1 + this.below(999_999)) % 1_000_000).padStart(6, "0");
  }
}
