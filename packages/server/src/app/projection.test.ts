/**
 * The projection: the notes of a random history, sent as JSON to a second projection, give the same state in memory, field by
 * field: definitions, counts, versions, sessions, quotas, open jobs and the end of the event log. The state is also the
 * state that a new process reads from the database.
 */
import { expect, test } from "bun:test";
import { keepsAll } from "../../test/event-log.ts";
import { fileForm, formType } from "../../test/forms.ts";
import { migrate, openApi, quietLogger } from "../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../test/random.ts";
import { Clock, newId } from "../base/kernel/index.ts";
import { LimitMeter } from "../base/logging/index.ts";
import { followCollection } from "../code/functions/index.ts";
import { JobTable } from "../code/jobs/job-table.ts";
import { type Collection, Collections } from "../data/collections/index.ts";
import type { Decision } from "../data/permissions/index.ts";
import { RecordCounts, Versions } from "../data/records/record-effects.ts";
import { Quota } from "../files/storage/upload.ts";
import { userTable } from "../people/auth/index.ts";
import { findSession, type Session, Sessions } from "../people/auth/sessions.ts";
import { Uses } from "../people/auth/uses.ts";
import { type Database, type Note, Projection } from "../store/database/index.ts";
import { EventLog, EventRetention } from "../store/events/index.ts";

const logger = quietLogger();
const rounds = Number(process.env["RUNS"] ?? 25);
const jobs = ["jobs/a", "jobs/b"] as const;
/** A version does not look at the condition. */
const own = { access: "own" } as Decision;

/** The same database with another projection. */
function withProjection(database: Database, projection: Projection): Database {
  return new Proxy(database, {
    get(target, key) {
      if (key === "projection") return projection;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** All parts of the state in memory that follow the notes of a database. */
class State {
  readonly events: EventLog;
  readonly collections: Collections;
  readonly jobs: JobTable;
  readonly #database: Database;
  readonly #counts: RecordCounts;
  readonly #versions: Versions;
  readonly #sessions: Sessions;
  readonly #quota = new Quota({ total: 1e9, perUser: 0 });

  constructor(database: Database) {
    const clock = new Clock();
    this.#database = database;
    this.events = new EventLog({ database, clock, logger });
    this.collections = new Collections({
      database,
      events: this.events,
      clock,
      logger,
      users: userTable,
      renamed: followCollection,
    });
    this.#counts = new RecordCounts({ database });
    this.#versions = new Versions(database.projection);
    const limits = new LimitMeter(logger);
    this.#sessions = new Sessions({
      database,
      ttlMs: 1e9,
      maxPerUser: 3,
      limits,
      uses: new Uses(),
      tokenKey: () => "",
    });
    this.jobs = new JobTable(database);
  }

  async start(): Promise<void> {
    this.events.start();
    await this.collections.start();
    this.#quota.start(this.#database);
    await this.jobs.register(jobs.map((path) => ({ path, handler: "default" })));
  }

  view(sessionIds: readonly string[], users: readonly string[]): object {
    const { collections } = this;
    const all = collections.all();
    const versionFor = (userId: string): string => {
      const entered = new Map(
        all.map((each, n): [Collection, Decision] => [each, n % 2 === 0 ? own : { access: "all" }]),
      );
      // The first characters name the run of the service.
      return this.#versions.of(entered, { userId, role: "authenticated", sessionId: "" }).slice(8);
    };
    return {
      ...this.ofData(),
      epoch: collections.epoch,
      // A new process knows the bytes only as exactly as the size marks tell.
      logBytes: this.events.bytes(this.#database.reader),
      versions: users.map(versionFor),
      sessions: sessionIds.map((id) => this.#sessions.known(id) ?? null),
    };
  }

  /** The part that a new process reads from the database. */
  ofData(): object {
    const { events, collections } = this;
    const all = collections.all();
    return {
      definitions: JSON.parse(JSON.stringify(all)),
      counts: all.map((collection) => [collection.name, this.#counts.of(collection)]),
      quota: this.#quota.totals(this.#database.reader),
      jobs: jobs.map((path) => this.jobs.openCount({ path, kind: "queue" })),
      lastSeq: events.lastSeq(),
    };
  }

  /** A session as remembered, and as stored; null for a session that is unknown, or over. */
  session(id: string): { known: Session | null; stored: Session | null } {
    const known = this.#sessions.known(id) ?? null;
    return { known, stored: findSession(this.#database.reader, id) };
  }
}

test("a second projection with the same notes has the same state, field by field", async () => {
  const random = randomNumbers(randomSeed("projection"));
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const api = await openApi({
    collections: [
      { name: "lists", fields: [{ name: "t", type: "string" }] },
      {
        name: "items",
        fields: [
          { name: "list", type: "relation", collection: "lists", onDelete: "cascade" },
          { name: "n", type: "integer", unique: true },
        ],
      },
    ],
  });
  const { service, request } = api;
  const { database } = service;
  const sent: string[] = [];
  const { projection } = database;
  const apply = projection.apply.bind(projection);
  const kinds = new Set<string>();
  projection.apply = (notes: readonly Note[]): void => {
    sent.push(JSON.stringify(notes));
    for (const { kind } of notes) kinds.add(kind);
    apply(notes);
  };
  const second = new Projection();
  const [first, other] = [new State(database), new State(withProjection(database, second))];
  for (const state of [first, other]) await state.start();

  const admin = await api.admin();
  const users: { id: string; email: string; tokens: { accessToken: string; refreshToken: string }[] }[] = [];
  const ids: string[] = [];
  const records: { [name: string]: string[] } = { lists: [], items: [] };
  const files: string[] = [];
  const runs: { id: number; path: (typeof jobs)[number]; failed: boolean }[] = [];
  const sessionOf = (token: string): string =>
    (JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sid: string }).sid;
  const signIn = (user: (typeof users)[number], tokens: { accessToken: string; refreshToken: string }): void => {
    user.tokens.push(tokens);
    ids.push(sessionOf(tokens.accessToken));
  };
  let registered = 0;
  let named = 0;
  let fields = 0;
  const token = (): string => pick([admin, ...users.flatMap((user) => user.tokens.map((each) => each.accessToken))]);
  const body = (name: string): object =>
    name === "lists"
      ? { t: String(random()) }
      : { n: Math.floor(random() * 200), list: pick([null, ...(records["lists"] ?? [])]) };
  const actions: (() => Promise<unknown>)[] = [
    async () => {
      const name = pick(["lists", "items"]);
      const { body: made } = await request<{ id?: string }>("POST", `/api/${name}`, {
        body: body(name),
        token: token(),
      });
      if (made.id !== undefined) records[name]?.push(made.id);
    },
    async () => {
      const name = pick(["lists", "items"]);
      await request("PUT", `/api/${name}/${pick(records[name] ?? [])}`, { body: body(name), token: token() });
    },
    async () => {
      const name = pick(["lists", "items"]);
      await request("DELETE", `/api/${name}/${pick(records[name] ?? [])}`, { token: token() });
    },
    async () => {
      const operations = Array.from({ length: 5 }, () => ({
        action: "create",
        collection: "items",
        data: body("items"),
      }));
      await request("POST", "/api/batch", { body: { operations }, token: admin });
    },
    async () => {
      const email = `user${registered++}@example.com`;
      const session = await api.register(email);
      const user = { id: session.user.id, email, tokens: [] };
      users.push(user);
      signIn(user, session);
    },
    async () => {
      const user = pick(users);
      if (user === undefined) return;
      const credentials = { email: user.email, password: "correct horse" };
      const { status, body: session } = await request<{ accessToken: string; refreshToken: string }>(
        "POST",
        "/api/auth/login",
        { body: credentials },
      );
      if (status === 200) signIn(user, session);
    },
    async () => {
      const tokens = pick(users.flatMap((user) => user.tokens));
      if (tokens === undefined) return;
      await request("POST", "/api/auth/refresh", { body: { refreshToken: tokens.refreshToken } });
    },
    async () => {
      const tokens = pick(users.flatMap((user) => user.tokens));
      if (tokens !== undefined) await request("POST", "/api/auth/logout", { token: tokens.accessToken });
    },
    async () => {
      const user = pick(users);
      if (user === undefined) return;
      const role = pick(["admin", "authenticated"]);
      await request("PATCH", `/api/admin/users/${user.id}`, { body: { role }, token: admin });
    },
    async () => {
      const headers = { "Content-Type": formType };
      const form = fileForm(new Uint8Array(Math.floor(random() * 5_000)), { filename: "a.bin" });
      const { body: file } = await request<{ id: string }>("POST", "/api/storage/upload", {
        body: form,
        headers,
        token: admin,
      });
      files.push(file.id);
    },
    () => request("DELETE", `/api/storage/${pick(files)}`, { token: admin }),
    () => {
      const name = `more${named++}`;
      return migrate(service, {
        define: [
          { definition: { name, fields: [{ name: "a", type: "string", regex: "^a" }] }, renamedFrom: new Map() },
        ],
        drop: named % 3 === 0 ? [`more${named - 2}`] : [],
      }).catch(() => undefined);
    },
    () => {
      const definition = {
        name: "lists",
        fields: [
          { name: "t", type: "string" },
          { name: `f${fields++}`, type: "integer" },
        ],
      } as const;
      return migrate(service, {
        define: [{ definition: { ...definition, fields: [...definition.fields] }, renamedFrom: new Map() }],
        drop: [],
      });
    },
    () =>
      database.transact((tx) => {
        const path = pick(jobs);
        const run = {
          key: null,
          notBefore: 0,
          payload: "1",
          actor: null,
          depth: 0,
          cause: null,
          runId: newId("run", Date.now()),
          firstAt: 0,
        };
        runs.push({ id: first.jobs.add(tx, { path, kind: "queue" }, run), path, failed: false });
      }),
    async () => {
      const run = pick(runs);
      if (run === undefined) return;
      const { id, path, failed } = run;
      run.failed = !failed;
      await database.transact((tx) => {
        if (failed) first.jobs.retry(tx, { id, failedAt: 1 }, { path, at: 1 });
        else first.jobs.fail(tx, { id, job: { path, kind: "queue" } }, { at: 1, error: "no" });
      });
    },
    () =>
      database
        .transact((tx) => {
          first.jobs.add(
            tx,
            { path: "jobs/a", kind: "queue" },
            { key: null, notBefore: 0, payload: "1", actor: null, depth: 0, cause: null, runId: "run_x", firstAt: 0 },
          );
          throw new Error("taken back");
        })
        .catch(() => undefined),
    () =>
      new EventRetention({
        database,
        events: service.events,
        clock: service.clock,
        logger,
        config: { ...keepsAll, "events.maxCount": 50 },
      }).trim(),
  ];

  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: 8 }, () => pick(actions)()));
    // The last action removes events, of which there are enough at the end alone.
    if (round === rounds - 1) await actions.at(-1)?.();
    // The second projection hears of the commits late, and all at once.
    for (const notes of sent.splice(0)) second.apply(JSON.parse(notes) as Note[]);
    const owners = users.map(({ id }) => id);
    expect(other.view(ids, owners)).toEqual(first.view(ids, owners));
    const fresh = new State(withProjection(database, new Projection()));
    await fresh.start();
    expect(other.ofData()).toEqual(fresh.ofData());
    for (const { known, stored } of ids.map((id) => other.session(id))) expect(known ?? stored).toEqual(stored);
  }
  // The history has notes of every kind.
  expect([...kinds].sort()).toEqual([
    "definitions.changed",
    "events.appended",
    "events.trimmed",
    "files.changed",
    "files.stored",
    "jobs.added",
    "jobs.counted",
    "records.changed",
    "sessions.changed",
    "sessions.kept",
  ]);
}, 600_000);
