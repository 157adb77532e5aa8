/**
 * Live queries of the client against the service: windows equal fresh answers after random changes, optimistic changes end with the
 * position of the write, and a break is resumed.
 */
import { afterAll, expect, test } from "bun:test";
import { live } from "../packages/client/src/entries/live.ts";
import { createClient, type LiveState } from "../packages/client/src/index.ts";
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
