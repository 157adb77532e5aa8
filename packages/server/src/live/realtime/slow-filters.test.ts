/** Filters on a thread: writes do not wait for such filters; each subscription hears its changes later, in order, once, and by its rights. */
import { describe, expect, test } from "bun:test";
import { type FilterWorld, heard, openFilterWorld, relation } from "../../../test/filter-world.ts";
import { setRole } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

/** Too long for the event loop, by the number of terms. */
const body = `${"x".repeat(10_000)} needle`;
const terms = Array.from({ length: 20 }, (_, n) => `body !~ "none ${n}"`).join(" && ");
const slow = `body ~ "needle" && status = "open" && ${terms}`;
const quick = 'status = "open"';
const minute = 60_000;
const settings = { SERVICE_LIMITS_FILTER_TIME: "10s" };

/** The types and ids of the events of a subscription. */
function eventsOf(socket: TestSocket, id: string): string[] {
  return socket.frames.flatMap((frame) =>
    frame.type === "event" && frame.id === id ? [`${frame.event.type} ${frame.event.payload["id"]}`] : [],
  );
}

/** Changes of tasks at random: tasks begin and stop to match a filter. */
async function changes({ make, change, records }: FilterWorld, { seed, count }: { seed: number; count: number }) {
  const random = randomNumbers(seed);
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const id = ids[Math.floor(random() * ids.length)];
    const status = random() < 0.6 ? "open" : "done";
    if (id === undefined || random() < 0.3) ids.push(await make("tasks", { title: `${n}`, status, body }));
    else if (random() < 0.2) {
      ids.splice(ids.indexOf(id), 1);
      await records.delete("tasks", system, id).catch(() => undefined);
    } else await change("tasks", id, { status, title: `${n}` });
  }
}

describe("a filter that a thread decides", () => {
  test("sends the events of a quick filter, in the same order, each change once", async () => {
    const world = await openFilterWorld(settings);
    const [ann, bob] = [await world.server.register("ann@x.org"), await world.server.register("bob@x.org")];
    const sockets = [await world.server.connect(ann.accessToken), await world.server.connect(bob.accessToken)];
    for (const socket of sockets)
      for (const [id, filter] of Object.entries({ slow, quick }))
        await socket.subscribe("tasks.*", undefined, { filter, id });
    await changes(world, { seed: randomSeed("slow filters"), count: 60 });
    const last = await world.make("tasks", { title: "last", status: "open", body });
    for (const socket of sockets) {
      const isOver = (id: string): boolean => eventsOf(socket, id).at(-1) === `tasks.created ${last}`;
      await until(() => isOver("quick") && isOver("slow"), minute);
      expect(eventsOf(socket, "quick").length).toBeGreaterThan(10);
      expect(eventsOf(socket, "slow")).toEqual(eventsOf(socket, "quick"));
    }
  });

  test("misses nothing and receives nothing twice when the role, the socket or the definition changes", async () => {
    const world = await openFilterWorld(settings);
    await world.server.admin();
    const { user, accessToken } = await world.server.register("ann@x.org");
    const socket = await world.server.connect(accessToken);
    const since = await world.place();
    await socket.subscribe("tasks.*", undefined, { filter: slow, id: "slow" });
    const made: string[] = [];
    const make = async (): Promise<void> => {
      made.push(await world.make("tasks", { title: `${made.length}`, status: "open", body }));
    };
    for (let n = 0; n < 10; n++) {
      await make();
      if (n === 3) await setRole(world.server.service, user.id, "admin");
      if (n === 6) await setRole(world.server.service, user.id, "authenticated");
      if (n === 8)
        await world.define({
          name: "tasks",
          fields: [
            { name: "title", type: "string" },
            { name: "status", type: "string" },
            { name: "body", type: "text" },
          ],
        });
    }
    const expected = made.map((id) => `tasks.created ${id}`);
    await until(() => eventsOf(socket, "slow").length >= expected.length, minute);
    expect(eventsOf(socket, "slow")).toEqual(expected);
    const later = await world.server.connect(accessToken);
    await later.subscribe("tasks.*", since, { filter: slow, id: "slow" });
    await until(() => eventsOf(later, "slow").length >= expected.length, minute);
    expect(eventsOf(later, "slow")).toEqual(expected);
    await heard(world, later);
    expect([eventsOf(later, "slow"), eventsOf(socket, "slow")]).toEqual([expected, expected]);
  });

  test("keeps the order of the log, over its types, when the role changes while changes wait", async () => {
    const world = await openFilterWorld(settings);
    const { user, accessToken } = await world.server.register("ann@x.org");
    const old: string[] = [];
    for (let n = 0; n < 8; n++) old.push(await world.make("tasks", { title: "old", status: "open", body }));
    const socket = await world.server.connect(accessToken);
    await socket.subscribe("tasks.*", undefined, { filter: slow, id: "slow" });
    const expected: string[] = [];
    // Each record changes once: a replay tells a change only as far as the current record agrees.
    for (let n = 0; n < 4; n++) {
      const [changed = "", closed = ""] = old.splice(0, 2);
      await world.change("tasks", changed, { title: "new" });
      await world.change("tasks", closed, { status: "done" });
      const made = await world.make("tasks", { title: "made", status: "open", body });
      expected.push(`tasks.updated ${changed}`, `tasks.deleted ${closed}`, `tasks.created ${made}`);
      if (n === 2) await setRole(world.server.service, user.id, "admin");
    }
    await until(() => eventsOf(socket, "slow").length >= expected.length, minute);
    expect(eventsOf(socket, "slow")).toEqual(expected);
  });

  test("sends nobody a record that the listener may not read at the moment of sending", async () => {
    const world = await openFilterWorld(settings);
    await world.define({ name: "members", fields: [relation("user", "users")] });
    await world.define({
      name: "letters",
      fields: [{ name: "text", type: "string" }, { name: "body", type: "text" }, relation("to", "members")],
      permissions: { read: "to.user = @user.id" },
    });
    const { user, accessToken } = await world.server.register("ann@x.org");
    const membership = await world.make("members", { user: user.id });
    const socket = await world.server.connect(accessToken);
    await socket.subscribe("letters.*", undefined, { filter: `body ~ "needle" && ${terms}`, id: "slow" });
    const read = await world.make("letters", { text: "a", to: membership, body });
    await until(() => eventsOf(socket, "slow").length === 1, minute);
    await world.change("members", membership, { user: null });
    await world.make("letters", { text: "b", to: membership, body });
    await world.change("members", membership, { user: user.id });
    const last = await world.make("letters", { text: "c", to: membership, body });
    await until(() => eventsOf(socket, "slow").includes(`letters.created ${last}`), minute);
    expect(eventsOf(socket, "slow")[0]).toBe(`letters.created ${read}`);
  });
});
