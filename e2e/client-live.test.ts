/**
 * Live queries of the client against the service: windows equal fresh answers after random changes, optimistic changes end with the
 * position of the write, and a break is resumed.
 */
import { afterAll, expect, test } from "bun:test";
import { live } from "../packages/client/src/entries/live.ts";
import { createClient, type LiveState } from "../packages/client/src/index.ts";
import { livePagesStore, type PagesState } from "../packages/client/src/live-pages.ts";
import { States } from "../packages/client/src/testing/live-server.ts";
import { project, serve } from "./kit.ts";

const projects = {
  name: "projects",
  fields: [{ name: "name", type: "string" }],
  permissions: { read: "public", create: "public", update: "public" },
};
const tasks = {
  name: "tasks",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "done", type: "boolean", default: false },
    { name: "n", type: "integer" },
    { name: "project", type: "relation", collection: "projects" },
  ],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
};
const server = await serve(await project({ collections: [projects, tasks] }));
/** Sockets of the client, which a test breaks. */
const sockets: WebSocket[] = [];
class Breakable extends WebSocket {
  constructor(url: string) {
    super(url);
    sockets.push(this);
  }
}
const client = createClient({ baseUrl: server.url, live, webSocket: Breakable });
const other = createClient({ baseUrl: server.url });
afterAll(() => client.close());
const mine = client.collection("tasks");
const theirs = other.collection("tasks");

test("windows equal fresh responses after random changes and breaks", async () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  console.log(`SEED=${seed}`);
  let state = seed;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const projectIds: string[] = [];
  for (const name of ["a", "b"]) projectIds.push((await other.collection("projects").create({ name })).id);
  const queries = [
    mine.where({ done: false }).orderBy("-n", "title").limit(5),
    mine
      .where({ project: { name: "a" } })
      .select("title", { project: ["name"] })
      .withTotal(),
    mine
      .where({ n: { gte: 3 } })
      .expand("project")
      .orderBy("n"),
    mine.group("done").aggregate("count", "sum(n)"),
  ];
  const states = queries.map((query) => {
    const found = new States<LiveState>();
    query.live(found.add);
    return found;
  });
  const ids: string[] = [];
  for (let round = 0; round < 60; round++) {
    const id = ids[random(ids.length)];
    const values = { n: random(7), done: random(2) === 0, project: projectIds[random(3)] ?? null };
    const actor = random(2) === 0 ? mine : theirs;
    const options = { optimistic: actor === mine && random(2) === 0 };
    const kind = random(4);
    if (id === undefined || kind === 0) ids.push((await actor.create({ title: `t${round}`, ...values }, options)).id);
    else if (kind === 1) {
      await actor.delete(id, options);
      ids.splice(ids.indexOf(id), 1);
    } else if (kind === 2) await actor.update(id, values, options);
    else await other.collection("projects").update(projectIds[random(2)] ?? "", { name: random(2) === 0 ? "a" : "b" });
    if (random(10) === 0) sockets.at(-1)?.close();
  }
  for (const [i, query] of queries.entries()) {
    const { items, total } = await query.page().then((page) => ({ total: undefined, ...page }));
    const wanted = JSON.stringify([items, total ?? null]);
    const found = states[i];
    await found?.until(
      (window) => window.status === "live" && JSON.stringify([window.items, window.total ?? null]) === wanted,
    );
  }
});

test("an optimistic change is shown at once, and gone when another has deleted the record", async () => {
  const states = new States<LiveState>();
  mine.where({ title: "mine" }).live(states.add);
  await states.until(({ status }) => status === "live");
  const creating = mine.create({ title: "mine" }, { optimistic: true });
  expect(states.last.items).toHaveLength(1);
  const { id } = await creating;
  await theirs.delete(id);
  await states.until(({ items }) => items.length === 0);
});

test("a query that the service refuses ends with the reason", async () => {
  const states = new States<LiveState>();
  mine.filter("nonsense = 1").live(states.add);
  const { error } = await states.until(({ status }) => status === "error");
  expect(error?.message).toContain("nonsense");
});

test("pages equal the beginning of the list while records move between pages, and reach the bound of 1,000 records", async () => {
  const where = { title: { contains: "page" } };
  const query = mine.where(where).orderBy("n").limit(3);
  const store = livePagesStore(query);
  const states = new States<PagesState<unknown>>();
  const stop = store.subscribe(states.add);
  // The list as it is now, and the state that equals the list; no state before has a record twice.
  const agrees = async (pages: number): Promise<PagesState<unknown>> => {
    const { items, nextCursor } = await theirs
      .where(where)
      .orderBy("n")
      .limit(3 * pages);
    const wanted = JSON.stringify(items);
    const state = await states.until(
      ({ status, items: shown, hasNextPage }) =>
        status === "live" && JSON.stringify(shown) === wanted && hasNextPage === (nextCursor !== null),
    );
    for (const each of states.all) {
      const ids = each.items.map((item) => Reflect.get(Object(item), "id"));
      expect(new Set(ids).size).toBe(ids.length);
    }
    return state;
  };
  const create = (n: number): Promise<{ id: string }> => theirs.create({ title: `page ${n}`, n });
  const made: { id: string }[] = [];
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) made.push(await create(n));
  await agrees(1);
  // A record of the second page comes to the first page while the second page is under way.
  const page = store.get().fetchNextPage();
  await theirs.update(made[4]?.id ?? "", { n: 0 });
  await page;
  await agrees(2);
  await theirs.update(made[0]?.id ?? "", { n: 9 });
  await agrees(2);
  await theirs.delete(made[1]?.id ?? "");
  await agrees(2);
  await mine.create({ title: "page 0", n: -1 }, { optimistic: true });
  await agrees(2);
  await store.get().fetchNextPage();
  const end = await agrees(3);
  expect(end.hasNextPage).toBe(false);
  await create(10);
  await create(11);
  expect((await agrees(3)).hasNextPage).toBe(true);
  stop();

  const many = Array.from({ length: 1_000 }, (_, n) => ({
    ...{ method: "create", collection: "tasks" },
    body: { title: `page ${100 + n}`, n: 100 + n },
  })) as Parameters<typeof other.batch>[0];
  await other.batch(many);
  const large = livePagesStore(mine.where(where).orderBy("n").limit(600));
  const stopLarge = large.subscribe(() => undefined);
  await large.ready();
  await large.get().fetchNextPage();
  const { items, hasNextPage, nextCursor } = large.get();
  expect([items.length, hasNextPage, typeof nextCursor]).toEqual([1_000, false, "string"]);
  // The cursor leads on.
  const rest = await mine
    .where(where)
    .orderBy("n")
    .limit(600)
    .after(nextCursor ?? null);
  expect(rest.items).toHaveLength((await mine.where(where).count()) - 1_000);
  stopLarge();
});
