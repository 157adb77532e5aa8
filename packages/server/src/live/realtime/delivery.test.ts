/**
 * Any sequence of subscribe, unsubscribe, role changes, permission changes, writes and broken connections delivers
 * exactly the events that the rules allow. The model below computes these events, without topics and counts.
 */
import { expect, test } from "bun:test";
import { type Event, PERMISSION_RULES, type PermissionRule, type Role } from "@socle/protocol";
import fc from "fast-check";
import { lastSeq, migrate, setRole } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomSeed } from "../../../test/random.ts";
import { openServer, type TestSocket } from "../../../test/sockets.ts";
import { type Bearer, system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";

const collections = ["red", "blue"];
const definition = (name: string, read: PermissionRule) => ({
  name,
  fields: [{ name: "n", type: "integer" }],
  permissions: { read, create: "public" },
});
const server = await openServer({ collections: collections.map((name) => definition(name, "public")) });
const { records, events } = server.service;
await server.admin();

/** The listeners: one without a user, and two users, one of them with two sockets. */
const listeners = ["nobody", "ann", "bob", "bob"];
const users = new Map<string, { id: string; token: string; role: Role; principal: Bearer }>();
for (const name of ["ann", "bob"]) {
  const { user, accessToken } = await server.register(`${name}@example.com`);
  const principal = await server.service.auth.callers.authenticate(accessToken);
  users.set(name, { id: user.id, token: accessToken, role: user.role, principal });
}

const channels = collections.flatMap((name) =>
  ["created", "updated", "deleted", "*"].map((change) => `${name}.${change}`),
);

type Step =
  | { do: "subscribe" | "unsubscribe"; socket: number; channel: string }
  | { do: "drop" | "resume"; socket: number }
  | { do: "role"; user: string; role: Role }
  | { do: "rule"; collection: string; rule: PermissionRule }
  | { do: "create"; collection: string; owner: string }
  | { do: "update" | "delete"; collection: string; nth: number };

const socket = fc.nat({ max: listeners.length - 1 });
const collection = fc.constantFrom(...collections);
const channel = fc.constantFrom(...channels);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("subscribe" as const), socket, channel }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("unsubscribe" as const), socket, channel }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("drop" as const, "resume" as const), socket }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("role" as const),
      user: fc.constantFrom("ann", "bob"),
      role: fc.constantFrom<Role>("admin", "authenticated", "public"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("rule" as const), collection, rule: fc.constantFrom(...PERMISSION_RULES) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      collection,
      owner: fc.constantFrom("nobody", "ann", "bob"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("update" as const, "delete" as const), collection, nth: fc.nat(5) }),
  },
);

interface Heard {
  type: string;
  id: string;
}

/** A socket in the model. */
interface ModelSocket {
  readonly listener: string;
  readonly channels: Set<string>;
  readonly heard: Heard[];
  client: TestSocket | null;
  /** The events that the earlier connections of the socket have heard. */
  before: Event[];
  /** Events that were sent while the socket was away, and the last event before. */
  missed: { event: Heard; owner: string; collection: string }[];
  droppedAt: string | null;
  /** The rules that were widened while the socket was away, by collection. */
  readonly widened: { collection: string; from: PermissionRule }[];
}

function isWiderThan(from: PermissionRule, to: PermissionRule): boolean {
  const rules: PermissionRule[] = ["admin", "owner", "authenticated", "public"];
  return rules.indexOf(to) > rules.indexOf(from);
}

function matches(name: string, type: string): boolean {
  return name === type || (name.endsWith(".*") && type.startsWith(name.slice(0, -1)));
}

class Model {
  readonly sockets: ModelSocket[] = [];
  readonly rules = new Map<string, PermissionRule>(collections.map((name) => [name, "public"]));
  readonly records = new Map<string, { id: string; owner: string }[]>(collections.map((name) => [name, []]));
  #n = 0;

  mayHear(listener: string, of: string, owner: string, rule = this.rules.get(of) ?? "admin"): boolean {
    const role = users.get(listener)?.role;
    if (rule === "public" || role === "admin") return true;
    if (role === undefined || rule === "admin") return false;
    return rule === "authenticated" || owner === listener;
  }

  async run(what: Step): Promise<void> {
    switch (what.do) {
      case "create": {
        const principal = users.get(what.owner)?.principal ?? system;
        const { record } = await records.create(what.collection, principal, { n: this.#next() });
        this.records.get(what.collection)?.push({ id: record.id, owner: what.owner });
        return this.#sent(`${what.collection}.created`, record.id, what.owner, what.collection);
      }
      case "update":
      case "delete": {
        const all = this.records.get(what.collection) ?? [];
        const record = all[what.nth % Math.max(1, all.length)];
        if (record === undefined) return;
        if (what.do === "update") {
          await records.update(what.collection, system, { record: record.id, body: { n: this.#next() } });
        } else {
          await records.delete(what.collection, system, record.id);
          all.splice(all.indexOf(record), 1);
        }
        return this.#sent(`${what.collection}.${what.do}d`, record.id, record.owner, what.collection);
      }
      case "role": {
        const user = users.get(what.user);
        if (user === undefined) return;
        await setRole(server.service, user.id, what.role);
        user.role = what.role;
        return;
      }
      case "rule": {
        const parsed = parseDefinition(definition(what.collection, what.rule));
        await migrate(server.service, { define: [parsed], drop: [] });
        this.#widened(what.collection, this.rules.get(what.collection) ?? "admin", what.rule);
        this.rules.set(what.collection, what.rule);
        return;
      }
      default:
        return this.#onSocket(what, this.sockets[what.socket]);
    }
  }

  async #onSocket(what: Step, on: ModelSocket | undefined): Promise<void> {
    if (on === undefined) return;
    if (what.do === "drop" && on.client !== null) {
      on.before.push(...(await on.client.events()));
      on.client.socket.close();
      on.client = null;
      on.droppedAt = (await events.read((await lastSeq(server.service)) - 1, 1))[0]?.id ?? null;
    } else if (what.do === "resume" && on.client === null && on.droppedAt !== null) {
      on.client = await connect(on.listener);
      const closed = on.widened.filter(
        ({ collection: of, from }) => this.#isWider(of, from) && !this.mayHear(on.listener, of, "none", from),
      );
      const hasGap = (of: string): boolean => closed.some((each) => each.collection === of);
      for (const name of on.channels) {
        const frame = { action: "subscribe", channel: name, since: on.droppedAt };
        const answer = await on.client.ask(frame);
        expect(answer).toMatchObject(
          hasGap(name.split(".")[0] ?? "") ? { code: "resume_gap" } : { type: "subscribed" },
        );
        if (answer.type === "error") await on.client.subscribe(name);
      }
      for (const { event, owner, collection: of } of on.missed) {
        const isGone = !event.type.endsWith(".deleted") && !this.records.get(of)?.some(({ id }) => id === event.id);
        if (!isGone && !hasGap(of) && this.mayHear(on.listener, of, owner)) on.heard.push(event);
      }
      on.missed = [];
      on.widened.length = 0;
    } else if (on.client !== null && what.do === "subscribe") {
      await on.client.subscribe(what.channel);
      on.channels.add(what.channel);
    } else if (on.client !== null && what.do === "unsubscribe") {
      await on.client.ask({ action: "unsubscribe", channel: what.channel });
      on.channels.delete(what.channel);
    }
  }

  #widened(of: string, from: PermissionRule, to: PermissionRule): void {
    if (!isWiderThan(from, to)) return;
    for (const on of this.sockets) if (on.client === null) on.widened.push({ collection: of, from });
  }

  /** Whether the rule in force is wider than another rule: a rule that was widened and narrowed again leaves no gap. */
  #isWider(of: string, from: PermissionRule): boolean {
    return isWiderThan(from, this.rules.get(of) ?? "admin");
  }

  #next(): number {
    this.#n += 1;
    return this.#n;
  }

  #sent(type: string, id: string, owner: string, of: string): void {
    for (const on of this.sockets) {
      if (![...on.channels].some((name) => matches(name, type))) continue;
      if (on.client === null) on.missed.push({ event: { type, id }, owner, collection: of });
      else if (this.mayHear(on.listener, of, owner)) on.heard.push({ type, id });
    }
  }
}

async function connect(listener: string): Promise<TestSocket> {
  return server.connect(users.get(listener)?.token);
}

/** Events in the order of the log: after a break each channel is in order, all channels together are not. */
function inOrder(heard: readonly Event[]): Heard[] {
  const sorted = [...heard].sort((a, b) => (a.id < b.id ? -1 : 1));
  return sorted.map(({ type, payload }) => ({ type, id: String(payload["id"]) }));
}

test("sockets receive exactly the events that the rules allow", async () => {
  const seed = randomSeed("delivery");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: "max" }), async (steps) => {
      const model = new Model();
      for (const name of collections) await model.run({ do: "rule", collection: name, rule: "public" });
      for (const listener of listeners) {
        const client = await connect(listener);
        const state = { channels: new Set<string>(), heard: [], before: [], missed: [], droppedAt: null, widened: [] };
        model.sockets.push({ listener, client, ...state });
      }
      for (const what of steps) await model.run(what);
      for (const index of model.sockets.keys()) await model.run({ do: "resume", socket: index });
      for (const on of model.sockets) {
        // A replay ends on its own: with a later event, the events of the replay have arrived.
        await arrived(on);
        const now = (await on.client?.events()) ?? [];
        const all = [...on.before, ...now];
        expect(inOrder(all)).toEqual(on.heard);
        for (const type of new Set(all.map((event) => event.type))) {
          const ids = all.filter((event) => event.type === type).map(({ id }) => id);
          expect(ids).toEqual([...ids].sort());
        }
        on.client?.socket.close();
      }
    }),
    { seed, numRuns: isLong ? 40 : 20 },
  );
});

/** Waits for the expected number of events, and a moment longer for an unexpected event. */
async function arrived(on: ModelSocket): Promise<void> {
  const end = performance.now() + 120_000;
  while (on.client !== null && performance.now() < end) {
    if (on.before.length + (await on.client.events()).length >= on.heard.length) break;
    await Bun.sleep(1);
  }
  await Bun.sleep(5);
}
