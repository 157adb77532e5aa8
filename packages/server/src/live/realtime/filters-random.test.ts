/**
 * Any sequence of writes, subscriptions with filters, broken connections and memberships that come and go tells each subscription
 * exactly the records that its caller may read and its filter lets through. The model below knows the rules and filters as
 * functions, and neither SQL nor the log.
 */
import { expect, test } from "bun:test";
import type { Event } from "@socle/protocol";
import fc from "fast-check";
import { lastSeq, migrate } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomSeed } from "../../../test/random.ts";
import { openServer, type TestSocket } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const teamNames = ["red", "blue"] as const;

interface Task {
  id: string;
  status: string | null;
  n: number | null;
  team: string | null;
  by: string | null;
  /** Users and words: multiple fields. */
  watchers: string[];
  tags: string[];
}

const member = "team.members(team).user = @user.id";
const watching = "watchers = @user.id";
const rules = [
  "public",
  "authenticated",
  "owner",
  "admin",
  member,
  `status = "open" || ${member}`,
  `${watching} || tags = null`,
] as const;
type Rule = (typeof rules)[number];

const tasks = (read: Rule) => ({
  name: "tasks",
  fields: [
    { name: "status", type: "string" },
    { name: "n", type: "integer" },
    relation("team", "teams"),
    { ...relation("by", "users"), owner: true },
    { ...relation("watchers", "users"), multiple: true },
    { name: "tags", type: "string", multiple: true },
  ],
  permissions: { read, create: "public" },
});

const server = await openServer({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }] },
    { name: "members", fields: [relation("team", "teams"), relation("user", "users")] },
    tasks("public"),
  ],
});
const { records, events } = server.service;
const rootToken = await server.admin();

const listeners = ["nobody", "ann", "bob", "root"] as const;
const users = new Map<string, { id: string; token: string }>();
for (const name of ["ann", "bob"]) {
  const { user, accessToken } = await server.register(`${name}@example.com`);
  users.set(name, { id: user.id, token: accessToken });
}
const teams = new Map<string, string>();
for (const name of teamNames) teams.set(name, (await records.create("teams", system, { name })).record.id);

/** The filters, each as a text and as a function. */
const filters: { text: string; holds: (task: Task, listener: string) => boolean }[] = [
  { text: 'status = "open"', holds: ({ status }) => status === "open" },
  { text: 'status != "open"', holds: ({ status }) => status !== "open" },
  { text: 'n > 1 && !(status = "done")', holds: ({ n, status }) => n !== null && n > 1 && status !== "done" },
  { text: 'n in (0, 2) || status ~ "O"', holds: ({ n, status }) => n === 0 || n === 2 || (status ?? "").includes("o") },
  { text: "by = @user.id", holds: ({ by }, listener) => by !== null && by === users.get(listener)?.id },
  { text: 'team.name = "red"', holds: ({ team }) => team === teams.get("red") },
  { text: 'team.name != "red"', holds: ({ team }) => team !== teams.get("red") },
  { text: member, holds: ({ team }, listener) => isMember(team, listener) },
  { text: watching, holds: ({ watchers }, listener) => watchers.includes(users.get(listener)?.id ?? "") },
  {
    text: "watchers != @user.id",
    holds: ({ watchers }, listener) => !watchers.includes(users.get(listener)?.id ?? ""),
  },
  { text: 'tags = "a" && n > 0', holds: ({ tags, n }) => tags.includes("a") && n !== null && n > 0 },
  { text: 'tags !~ "A"', holds: ({ tags }) => !tags.includes("a") },
  { text: "tags = null || length(tags) = 2", holds: ({ tags }) => tags.length !== 1 },
  { text: `!(${member})`, holds: ({ team }, listener) => !isMember(team, listener) },
];

/** The memberships in force: the id of the record by team and user. */
const memberships = new Map<string, string>();

function isMember(team: string | null, listener: string): boolean {
  return memberships.has(`${team} ${users.get(listener)?.id}`);
}

const ruleHolds: { readonly [rule in Rule]: (task: Task, listener: string) => boolean } = {
  public: () => true,
  authenticated: (_task, listener) => listener !== "nobody",
  owner: ({ by }, listener) => by !== null && by === users.get(listener)?.id,
  admin: () => false,
  [member]: ({ team }, listener) => isMember(team, listener),
  [`status = "open" || ${member}`]: (task: Task, listener: string) =>
    task.status === "open" || isMember(task.team, listener),
  [`${watching} || tags = null`]: ({ watchers, tags }: Task, listener: string) =>
    watchers.includes(users.get(listener)?.id ?? "") || tags.length === 0,
};

type Values = Partial<Omit<Task, "id">>;

type Step =
  | { do: "subscribe"; socket: number; filter: number; channel: string }
  | { do: "unsubscribe"; socket: number; nth: number }
  | { do: "drop" | "resume"; socket: number }
  | { do: "join" | "leave"; user: "ann" | "bob"; team: string }
  | { do: "create"; values: Values }
  | { do: "update"; nth: number; values: Values }
  | { do: "delete"; nth: number };

const socket = fc.nat({ max: listeners.length - 1 });
const values: fc.Arbitrary<Values> = fc.record(
  {
    status: fc.constantFrom(null, "open", "done"),
    n: fc.constantFrom(null, 0, 1, 2),
    team: fc.constantFrom(null, ...teams.values()),
    by: fc.constantFrom(null, ...[...users.values()].map(({ id }) => id)),
    watchers: fc.subarray([...users.values()].map(({ id }) => id)),
    tags: fc.subarray(["a", "b"]),
  },
  { requiredKeys: [] },
);
const member_ = { user: fc.constantFrom("ann" as const, "bob" as const), team: fc.constantFrom(...teams.values()) };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("subscribe" as const),
      socket,
      filter: fc.nat({ max: filters.length - 1 }),
      channel: fc.constantFrom("tasks.*", "tasks.*", "tasks.created", "tasks.updated", "tasks.deleted"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unsubscribe" as const), socket, nth: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("drop" as const, "resume" as const), socket }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("join" as const, "leave" as const), ...member_ }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("create" as const), values }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("update" as const), nth: fc.nat(5), values }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), nth: fc.nat(5) }) },
);

/** A change: the record before and after. */
interface Change {
  readonly before: Task | null;
  readonly after: Task | null;
}

interface Subscription {
  readonly id: string;
  readonly channel: string;
  readonly filter: (typeof filters)[number];
  readonly heard: string[];
  /** The changes since the socket was dropped. */
  missed: Change[];
}

interface ModelSocket {
  readonly listener: string;
  readonly subscriptions: Map<string, Subscription>;
  /** Subscriptions that were given up, with all events heard. */
  readonly over: Subscription[];
  client: TestSocket | null;
  before: { id: string | undefined; event: Event }[];
  droppedAt: string | null;
}

class Model {
  readonly rule: Rule;
  readonly sockets: ModelSocket[] = [];
  readonly #tasks: Task[] = [];
  #lastId = 0;

  constructor(rule: Rule) {
    this.rule = rule;
  }

  async run(what: Step): Promise<void> {
    switch (what.do) {
      case "create": {
        const given = { status: null, n: null, team: null, by: null, watchers: [], tags: [], ...what.values };
        const { record } = await records.create("tasks", system, { ...given });
        const after = { id: record.id, ...given };
        this.#tasks.push(after);
        return this.#changed({ before: null, after });
      }
      case "update":
      case "delete": {
        const before = this.#tasks[what.nth % Math.max(1, this.#tasks.length)];
        if (before === undefined) return;
        const place = this.#tasks.indexOf(before);
        if (what.do === "delete") {
          await records.delete("tasks", system, before.id);
          this.#tasks.splice(place, 1);
          return this.#changed({ before, after: null });
        }
        if (Object.keys(what.values).length === 0) return;
        await records.update("tasks", system, { record: before.id, body: { ...what.values } });
        const after = { ...before, ...what.values };
        this.#tasks[place] = after;
        return this.#changed({ before, after });
      }
      case "join":
      case "leave": {
        // A membership counts at the time when a change is sent, and a filter may take its time.
        for (const on of this.sockets) await arrived(on);
        const user = users.get(what.user)?.id ?? "";
        const key = `${what.team} ${user}`;
        const known = memberships.get(key);
        if (what.do === "join" && known === undefined)
          memberships.set(key, (await records.create("members", system, { team: what.team, user })).record.id);
        if (what.do === "leave" && known !== undefined) {
          // A replay of a deletion counts memberships that ended after the deletion, as the events before the end did.
          for (const on of this.sockets)
            if (on.listener === what.user && isAwayFrom(on, what.team)) await this.#resume(on);
          await records.delete("members", system, known);
          memberships.delete(key);
        }
        return;
      }
      default:
        return this.#onSocket(what, this.sockets[what.socket]);
    }
  }

  async #onSocket(what: Step, on: ModelSocket | undefined): Promise<void> {
    if (on === undefined) return;
    if (what.do === "subscribe" && on.client !== null) {
      const filter = filters[what.filter];
      if (filter === undefined || on.subscriptions.size >= 8) return;
      this.#lastId += 1;
      const id = `s${this.#lastId}`;
      const answer = await on.client.ask({ action: "subscribe", channel: what.channel, filter: filter.text, id });
      expect(answer).toEqual({ type: "subscribed", channel: what.channel, id });
      on.subscriptions.set(id, { id, channel: what.channel, filter, heard: [], missed: [] });
    } else if (what.do === "unsubscribe" && on.client !== null) {
      const all = [...on.subscriptions.values()];
      const gone = all[what.nth % Math.max(1, all.length)];
      if (gone === undefined) return;
      await on.client.ask({ action: "unsubscribe", channel: gone.channel, id: gone.id });
      on.subscriptions.delete(gone.id);
      on.over.push(gone);
    } else if (what.do === "drop" && on.client !== null) {
      await arrived(on);
      await on.client.events();
      on.before.push(...framesOf(on.client));
      on.client.socket.close();
      on.client = null;
      on.droppedAt = (await events.read((await lastSeq(server.service)) - 1, 1))[0]?.id ?? null;
    } else if (what.do === "resume" && on.client === null) {
      await this.#resume(on);
    }
  }

  async #resume(on: ModelSocket): Promise<void> {
    on.client = await connect(on.listener);
    for (const { id, channel, filter } of on.subscriptions.values()) {
      const frame = { action: "subscribe", channel, filter: filter.text, id, since: on.droppedAt };
      expect(await on.client.ask(frame)).toEqual({ type: "subscribed", channel, id });
    }
    for (const subscription of on.subscriptions.values()) {
      for (const change of subscription.missed) {
        const told = this.#replayed(change, on.listener, subscription);
        if (told !== null) note(subscription, told, change);
      }
      subscription.missed = [];
    }
    await arrived(on);
  }

  /** The event type in a replay of a change, by the present rule, memberships and record. */
  #replayed({ before, after }: Change, listener: string, { filter }: Subscription): string | null {
    const isIn = (task: Task | null): boolean => task !== null && this.#isIn(task, listener, filter);
    if (isIn(after)) {
      const now = this.#tasks.find(({ id }) => id === after?.id) ?? null;
      return isIn(now) ? (isIn(before) ? "updated" : "created") : null;
    }
    return isIn(before) ? "deleted" : null;
  }

  #isIn(task: Task, listener: string, filter: Subscription["filter"]): boolean {
    return (listener === "root" || ruleHolds[this.rule](task, listener)) && filter.holds(task, listener);
  }

  #changed(change: Change): void {
    for (const on of this.sockets)
      for (const subscription of on.subscriptions.values()) {
        if (on.client === null) {
          subscription.missed.push(change);
          continue;
        }
        const { before, after } = change;
        const was = before !== null && this.#isIn(before, on.listener, subscription.filter);
        const is = after !== null && this.#isIn(after, on.listener, subscription.filter);
        if (is) note(subscription, was ? "updated" : "created", change);
        else if (was) note(subscription, "deleted", change);
      }
  }
}

/** Whether a dropped socket has missed a change of a record that was of a team. */
function isAwayFrom({ client, subscriptions }: ModelSocket, team: string): boolean {
  return (
    client === null &&
    [...subscriptions.values()].some(({ missed }) => missed.some(({ before }) => before?.team === team))
  );
}

function note({ channel, heard }: Subscription, type: string, { before, after }: Change): void {
  if (channel === "tasks.*" || channel === `tasks.${type}`) heard.push(`tasks.${type} ${(after ?? before)?.id}`);
}

function framesOf(client: TestSocket): { id: string | undefined; event: Event }[] {
  return client.frames.flatMap((frame) => (frame.type === "event" ? [{ id: frame.id, event: frame.event }] : []));
}

async function connect(listener: string): Promise<TestSocket> {
  return server.connect(listener === "root" ? rootToken : users.get(listener)?.token);
}

/** Waits for the expected number of events, and a moment longer for an unexpected event. */
async function arrived(on: ModelSocket): Promise<void> {
  const all = [...on.over, ...on.subscriptions.values()];
  const wanted = all.reduce((sum, { heard }) => sum + heard.length, 0);
  const end = performance.now() + 120_000;
  while (on.client !== null && performance.now() < end) {
    await on.client.events();
    if (on.before.length + framesOf(on.client).length >= wanted) break;
    await Bun.sleep(1);
  }
  await Bun.sleep(5);
}

test("a subscription receives exactly the events that pass its filter and the read rule", async () => {
  const seed = randomSeed("filters");
  const sequence = fc.array(step, { minLength: 15, maxLength: 60, size: "max" });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...rules), sequence, async (rule, steps) => {
      await migrate(server.service, { define: [parseDefinition(tasks(rule))], drop: [] });
      const model = new Model(rule);
      for (const listener of listeners) {
        const client = await connect(listener);
        model.sockets.push({ listener, client, subscriptions: new Map(), over: [], before: [], droppedAt: null });
      }
      for (const what of steps) await model.run(what);
      for (const index of model.sockets.keys()) await model.run({ do: "resume", socket: index });
      for (const on of model.sockets) {
        await arrived(on);
        const all = [...on.before, ...(on.client === null ? [] : framesOf(on.client))];
        for (const { id, channel, filter, heard } of [...on.over, ...on.subscriptions.values()]) {
          const own = all.filter((each) => each.id === id).map(({ event }) => `${event.type} ${event.payload["id"]}`);
          expect([on.listener, channel, filter.text, own]).toEqual([on.listener, channel, filter.text, heard]);
        }
        for (const { event } of all)
          if (event.type === "tasks.deleted") expect(Object.keys(event.payload)).toEqual(["id"]);
        on.client?.socket.close();
      }
    }),
    { seed, numRuns: isLong ? 50 : 10 },
  );
});
