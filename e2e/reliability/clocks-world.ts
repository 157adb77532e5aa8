/**
 * A service with a time of day that is moved, with the checks that hold at any time of day: the order of records and
 * events, times that do not fall, cursors and event ids that stay valid.
 */
import { expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { TestSocket } from "../../packages/server/test/sockets.ts";
import { project, temporaryFolder } from "../kit.ts";
import { write } from "../scripts-kit.ts";
import { Caller } from "./kills-caller.ts";
import { Control } from "./tracer/control.ts";
import { serveTraced, type Traced } from "./tracer/traced.ts";

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const yearMs = 365 * dayMs;

/** Corrections up to this size do not show (docs/operating.md). */
const correctionMs = 5 * secondMs;
/** The tracer and this process read one clock at different moments. */
const readingMs = 1_000;

export interface Item {
  readonly id: string;
  readonly n: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const collections = [
  {
    name: "items",
    fields: [
      { name: "n", type: "integer" },
      { name: "text", type: "text" },
    ],
  },
  { name: "load", fields: [{ name: "text", type: "text" }] },
];
const jobs = { "jobs/tick.ts": 'export const schedule = "* * * * *";\nexport default () => undefined;\n' };

export class ClockWorld {
  readonly cwd: string;
  readonly control: Control;
  /** The acknowledged records in the order of the answers; one client makes all requests in turn. */
  readonly created: Item[] = [];
  readonly #output = join(temporaryFolder(), "tracer");
  #server: Traced | null = null;
  #admin: Caller | null = null;
  #next = 0;
  #lastCreatedAt = 0;

  private constructor(cwd: string) {
    this.cwd = cwd;
    mkdirSync(this.#output, { recursive: true });
    this.control = new Control(this.#output);
  }

  static async open(accessTokenTtl = "1h"): Promise<ClockWorld> {
    const auth = { jwtSecret: "a secret of thirty-two characters, or more", accessTokenTtl };
    const cwd = await project({ collections, config: { admin: { email: "admin@example.com" }, auth } });
    await write(cwd, jobs);
    return new ClockWorld(cwd);
  }

  get server(): Traced {
    if (this.#server === null) throw new Error("The service does not run");
    return this.#server;
  }

  /** Signed in at the last start. */
  get admin(): Caller {
    if (this.#admin === null) throw new Error("Nobody has signed in");
    return this.#admin;
  }

  /** Milliseconds by which the service's time of day is ahead. */
  get offset(): number {
    return this.control.clockOffsetMs;
  }

  set offset(milliseconds: number) {
    this.control.clockOffsetMs = milliseconds;
  }

  async start(): Promise<void> {
    this.#server = await serveTraced(this.cwd, { output: this.#output, clock: true });
    this.#admin = await new Caller(() => this.server.url).as("admin@example.com");
  }

  /** Stops, and answers the output. */
  async stop(): Promise<string> {
    expect(await this.server.stop()).toBe(0);
    const output = this.server.output();
    expect(output).not.toMatch(/ERROR|FATAL|uncaught|unhandled/i);
    return output;
  }

  /** Creates a record; the time is the clock's time, and follows the clock back only for more than a correction. */
  async create(text = ""): Promise<Item> {
    const before = Date.now() + this.offset;
    const { status, body } = await this.admin.ask<Item>("POST", "/api/items", { n: this.#next++, text });
    const after = Date.now() + this.offset;
    expect(status).toBe(201);
    const createdAt = Date.parse(body.createdAt);
    expect(createdAt).toBeGreaterThanOrEqual(before - readingMs);
    expect(createdAt).toBeLessThanOrEqual(after + correctionMs + readingMs);
    // Small steps add up: how far the clock is behind the last time counts.
    const behind = this.#lastCreatedAt - before;
    if (behind <= correctionMs - readingMs) expect(createdAt).toBeGreaterThanOrEqual(this.#lastCreatedAt);
    this.#lastCreatedAt = createdAt;
    this.created.push(body);
    return body;
  }

  /** Updates a record: the time rises, whatever the clock does. */
  async update(item: Item): Promise<Item> {
    const { status, body } = await this.admin.ask<Item>("PUT", `/api/items/${item.id}`, {
      text: String(Math.random()),
    });
    expect(status).toBe(200);
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(item.updatedAt));
    expect(body.createdAt).toBe(item.createdAt);
    return body;
  }

  /** The numbers of the acknowledged records in the order of a list without parameters. */
  get listed(): number[] {
    return this.created
      .toSorted((a, b) => (a.createdAt === b.createdAt ? a.n - b.n : a.createdAt < b.createdAt ? -1 : 1))
      .map(({ n }) => n)
      .toReversed();
  }

  /** The list is in the order of the times, and the log of events in the order in which the records were made. */
  async expectOrder(): Promise<void> {
    const wanted = this.created.map(({ n }) => n);
    for (const search of ["", "?sort=-createdAt", "?limit=1000"]) {
      const list = await this.admin.ask<{ items: Item[] }>("GET", `/api/items${search}`);
      expect(list.body.items.map(({ n }) => n)).toEqual(this.listed.slice(0, list.body.items.length));
      if (search === "") expect(list.body.items.length).toBe(wanted.length);
    }
    const events = await this.events("items.created");
    expect(events.map(({ payload }) => payload.n)).toEqual(wanted);
    const ids = events.map(({ id }) => id);
    expect(ids.toSorted()).toEqual(ids);
  }

  /** All events of a type in the log, oldest first. */
  async events(type: string): Promise<{ id: string; payload: { n: number } }[]> {
    const all: { id: string; payload: { n: number } }[] = [];
    for (let total = 1; all.length < total; ) {
      const path = `/api/admin/events?type=${type}&limit=1000&offset=${all.length}`;
      const { status, body } = await this.admin.ask<{ items: typeof all; total: number }>("GET", path);
      expect(status).toBe(200);
      if (body.items.length === 0) break;
      all.push(...body.items);
      total = body.total;
    }
    return all.toReversed();
  }

  /** A client that resumes from the last event that the client saw misses no event, and hears no event twice. */
  async expectReplay(since: { id: string; n: number }): Promise<void> {
    const socket = await TestSocket.open(this.server.url, this.admin.token);
    await socket.subscribe("items.created", since.id);
    const wanted = this.created.map(({ n }) => n).filter((n) => n > since.n);
    const heard = async (): Promise<number[]> =>
      (await socket.events()).map(({ payload }) => Number(Reflect.get(payload, "n")));
    // The subscription is answered before the replay is over.
    while ((await heard()).length < wanted.length) await Bun.sleep(5);
    expect(await heard()).toEqual(wanted);
    socket.socket.close();
  }

  /** Reads the list from a cursor on: nothing is missing, nothing comes twice. */
  async expectRest(cursor: string, from: number): Promise<void> {
    const seen: number[] = [];
    for (let next: string | null = cursor; next !== null; ) {
      const path: string = `/api/items?limit=100&cursor=${encodeURIComponent(next)}`;
      const { status, body } = await this.admin.ask<{ items: Item[]; nextCursor: string | null }>("GET", path);
      expect(status).toBe(200);
      seen.push(...body.items.map(({ n }) => n));
      next = body.nextCursor ?? null;
    }
    expect(seen).toEqual(this.listed.slice(this.listed.indexOf(from) + 1));
  }

  /** How often the job has run. */
  async runs(): Promise<number> {
    const { body } = await this.admin.ask<{ items: unknown[] }>("GET", "/api/admin/jobs/tick/runs");
    return body.items.length;
  }
}
