/** Deletions that take others along, and sequences, under kills at random moments. */
// Promises: W2.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { inParallel, isLong, post, project, serve, until } from "./kit.ts";

/** Kills of each test. */
const rounds = isLong ? 6 : 3;
const children = 1_500;
const relation = (collection: string, onDelete: string): object => ({
  name: "parent",
  type: "relation",
  collection,
  onDelete,
});

test("killed during a cascade: whole or not at all, events too", async () => {
  const random = randomNumbers(randomSeed("cascades"));
  const cwd = await project({
    collections: [
      { name: "parents", fields: [{ name: "n", type: "integer" }] },
      { name: "children", fields: [relation("parents", "cascade")] },
      { name: "friends", fields: [relation("parents", "clear")] },
    ],
  });
  const counted = { whole: 0, nothing: 0 };
  let server = await serve(cwd);
  for (let round = 0; round < rounds; round++) {
    const { id } = (await (await post(`${server.url}/api/parents`, { n: round })).json()) as { id: string };
    for (const [collection, n] of [
      ["children", children],
      ["friends", 50],
    ] as const)
      await inParallel(Array(n).keys(), 32, async () => {
        expect((await post(`${server.url}/api/${collection}`, { parent: id })).status).toBe(201);
      });
    const deletion = fetch(`${server.url}/api/parents/${id}`, { method: "DELETE" }).then(
      ({ status }) => status,
      () => null,
    );
    await Bun.sleep(random() * 500);
    server.signal("SIGKILL");
    const status = await deletion;
    await server.exited;
    server = await serve(cwd);
    using database = new Database(join(cwd, "socle.db"), { readonly: true });
    const count = (sql: string): number => database.query<{ n: number }, [string]>(sql).get(id)?.n ?? -1;
    const found = [
      count("SELECT count(*) AS n FROM parents WHERE id = ?"),
      count("SELECT count(*) AS n FROM children WHERE parent = ?"),
      count("SELECT count(*) AS n FROM friends WHERE parent = ?"),
    ];
    const isWhole = found[0] === 0;
    expect(found).toEqual(isWhole ? [0, 0, 0] : [1, children, 50]);
    // An answer is a promise.
    if (status !== null) expect([status, isWhole]).toEqual([204, true]);
    const deleted = database
      .query<{ n: number }, []>("SELECT count(*) AS n FROM _events WHERE type = 'children.deleted'")
      .get();
    counted[isWhole ? "whole" : "nothing"] += 1;
    expect(deleted?.n).toBe(counted.whole * children);
  }
  console.log(`cascades: ${counted.whole} whole, ${counted.nothing} not at all`);
  await server.stop();
});

test("killed under writers: no number of a sequence is given twice", async () => {
  const random = randomNumbers(randomSeed("sequences"));
  const sequence = { name: "n", type: "integer", sequence: ["scope"] };
  const fields = [{ name: "scope", type: "string" }, sequence];
  const cwd = await project({ collections: [{ name: "items", fields }] });
  const told = new Set<string>();
  const tell = (scope: string, n: number): void => {
    expect(told.has(`${scope} ${n}`)).toBe(false);
    told.add(`${scope} ${n}`);
  };
  for (let round = 0; round < rounds; round++) {
    const server = await serve(cwd);
    let isOver = false;
    const batches = async (i: number): Promise<void> => {
      const scope = `s${i % 3}`;
      const operations = Array.from({ length: 20 }, () => ({ method: "create", collection: "items", body: { scope } }));
      while (!isOver) {
        const answer = await post(`${server.url}/api/batch`, { operations }).catch(() => null);
        const made = (await answer?.json().catch(() => null)) as
          | { results: { body: { n: number } }[] }
          | null
          | undefined;
        if (made === null || made === undefined) return;
        for (const { body } of made.results) tell(scope, body.n);
        await Bun.sleep(5);
      }
    };
    const writer = async (i: number): Promise<void> => {
      while (!isOver) {
        const scope = `s${i % 3}`;
        const answer = await post(`${server.url}/api/items`, { scope }).catch(() => null);
        if (answer === null) return;
        const record = (await answer.json().catch(() => null)) as { id: string; n: number } | null;
        if (record === null) return;
        tell(scope, record.n);
        // The number of a record that is gone is not given again, either.
        if (i % 2 === 0) await fetch(`${server.url}/api/items/${record.id}`, { method: "DELETE" }).catch(() => null);
        await Bun.sleep(5);
      }
    };
    const writers = Promise.all(Array.from({ length: 32 }, (_, i) => (i % 8 === 0 ? batches(i) : writer(i))));
    const enough = told.size + 20;
    await until(() => told.size >= enough);
    await Bun.sleep(random() * 300);
    server.signal("SIGKILL");
    isOver = true;
    await writers;
    await server.exited;
  }
  expect(told.size).toBeGreaterThan(100);
});
