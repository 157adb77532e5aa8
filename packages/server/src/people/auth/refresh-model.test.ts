/**
 * Random sequences of refreshes, lost answers, uses of access tokens, sweeps and restarts against a pure model: a refresh token
 * works again only within ten seconds of a use, or while no request has shown the successor; any other second use ends the session.
 */
import { expect, setSystemTime, test } from "bun:test";
import { monotonicClock } from "../../../test/clock.ts";
import { openApi, type TestApi, temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

const graceMs = 10_000;
const lifetimeMs = 3_600_000;
const settings = { SERVICE_LIMITS_RATE_REFRESH: "off", SERVICE_LIMITS_SESSIONS_PER_USER: "1000" };
const pass = monotonicClock();

/** A refresh token of a session, in the order of issue. The last token of a live session is in force. */
interface Issued {
  readonly text: string;
  readonly access: { readonly text: string; readonly endsAt: number }[];
  usedAt: number;
}

interface ModelSession {
  readonly tokens: Issued[];
  isOver: boolean;
  /** Whether a request has shown the newest generation: as the process knows, and as the database knows. */
  isSeen: boolean;
  isStored: boolean;
}

class World {
  api: TestApi;
  readonly sessions: ModelSession[] = [];
  readonly trace: string[] = [];
  readonly random: () => number;
  readonly #folder: string;
  now = 1_800_000_000_000;

  constructor(api: TestApi, folder: string, random: () => number) {
    this.api = api;
    this.#folder = folder;
    this.random = random;
    setSystemTime(this.now);
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  async open(): Promise<void> {
    const { auth, database } = this.api.service;
    const user = auth.users.findByEmail("ann@example.com");
    if (user === null) throw new Error("The user is there");
    const opened = await database.transact((tx) => auth.sessions.open(tx, user, { key: "192.0.2.1" }));
    const { refreshToken, accessToken } = await auth.signIns.respond({ ...opened, user });
    const access = [{ text: accessToken, endsAt: this.now + lifetimeMs }];
    const tokens = [{ text: refreshToken, access, usedAt: 0 }];
    this.sessions.push({ tokens, isOver: false, isSeen: true, isStored: true });
  }

  /** The token that the model answers; null for a refusal. The newest is made by the service. */
  expected(session: ModelSession, place: number): Issued | "new" | null {
    const { tokens } = session;
    const newest = tokens.length - 1;
    const [used, last] = [tokens[place], tokens[newest]];
    if (session.isOver || used === undefined || last === undefined) return null;
    if (place === newest) {
      used.usedAt = this.now;
      session.isSeen = false;
      session.isStored = false;
      return "new";
    }
    if (this.now - used.usedAt <= graceMs) return last;
    if (place === newest - 1 && !session.isSeen) {
      used.usedAt = this.now;
      return last;
    }
    session.isOver = true;
    return null;
  }

  async refresh(session: ModelSession, place: number): Promise<void> {
    const expected = this.expected(session, place);
    this.trace.push(
      `${this.now} session ${this.sessions.indexOf(session)} refreshes ${place} of ${session.tokens.length}`,
    );
    const refreshToken = session.tokens[place]?.text;
    const { status, body } = await this.api.request("POST", "/api/auth/refresh", { body: { refreshToken } });
    if (expected === null) return expect(status).toBe(401);
    expect(status).toBe(200);
    const [text, access] = [String(body["refreshToken"]), String(body["accessToken"])];
    const shown = { text: access, endsAt: this.now + lifetimeMs };
    if (expected !== "new") {
      expect(text).toBe(expected.text);
      expected.access.push(shown);
      return;
    }
    expect(session.tokens.map((token) => token.text)).not.toContain(text);
    session.tokens.push({ text, access: [shown], usedAt: 0 });
  }

  /** A request with an access token that came with the refresh token at the place. */
  async show(session: ModelSession, place: number): Promise<void> {
    const issued = session.tokens[place]?.access ?? [];
    const { text, endsAt } = issued[this.below(issued.length)] ?? { text: "", endsAt: 0 };
    this.trace.push(`${this.now} session ${this.sessions.indexOf(session)} shows ${place} of ${session.tokens.length}`);
    const isRight = !session.isOver && endsAt > this.now;
    if (isRight && place === session.tokens.length - 1) session.isSeen = true;
    const { status } = await this.api.request("GET", "/api/auth/me", { token: text });
    expect(status).toBe(isRight ? 200 : 401);
  }

  wait(ms: number): void {
    this.trace.push(`${ms} ms pass`);
    this.now += ms;
    pass(ms);
    setSystemTime(this.now);
  }

  async sweep(): Promise<void> {
    this.trace.push("sweep");
    for (const session of this.sessions) session.isStored = session.isSeen;
    await this.api.service.auth.sweep();
  }

  /** As after a crash: the uses since the last sweep are forgotten. */
  async restart(): Promise<void> {
    this.trace.push("restart");
    for (const session of this.sessions) session.isSeen = session.isStored;
    await this.api.close();
    this.api = await openApi({ settings, folder: this.#folder });
  }

  async step(): Promise<void> {
    const live = this.sessions.filter(({ isOver }) => !isOver);
    const choices = this.random() < 0.9 && live.length > 0 ? live : this.sessions;
    const session = choices[this.below(choices.length)];
    const choice = this.random();
    if (session === undefined || choice < 0.05) return this.open();
    // Most tokens that are shown are new.
    const back = this.random() < 0.6 ? 0 : this.random() < 0.75 ? 1 : this.below(session.tokens.length);
    const place = Math.max(0, session.tokens.length - 1 - back);
    if (choice < 0.4) return this.refresh(session, place);
    if (choice < 0.65) return this.show(session, place);
    if (choice < 0.7) return this.sweep();
    if (choice < 0.71) return this.restart();
    const longest = this.random() < 0.5 ? 4_000 : this.random() < 0.9 ? 30_000 : lifetimeMs;
    this.wait(1 + this.below(longest));
  }
}

test("a refresh token works again exactly as in the model, and any other reuse ends the session", async () => {
  const seed = randomSeed("refresh");
  const random = randomNumbers(seed);
  const folder = temporaryFolder();
  const api = await openApi({ settings, folder });
  await api.register("ann@example.com");
  const world = new World(api, folder, random);
  const steps = Number(process.env["STEPS"] ?? 1_500);
  try {
    for (let i = 0; i < steps; i++) await world.step();
    const reused = world.sessions.filter(({ isOver }) => isOver).length;
    const longest = Math.max(...world.sessions.map(({ tokens }) => tokens.length));
    expect([reused > 0, longest > 5]).toEqual([true, true]);
  } catch (thrown) {
    throw new Error(`SEED=${seed}\n${world.trace.slice(-40).join("\n")}`, { cause: thrown });
  } finally {
    setSystemTime();
  }
});
