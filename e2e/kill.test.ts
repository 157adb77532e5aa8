import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { post, project, serve } from "./kit.ts";

const rounds = 20;
const connections = 32;

const items = {
  name: "items",
  fields: [
    { name: "n", type: "integer", required: true, unique: true },
    { name: "text", type: "text" },
  ],
};

/**
 * What a power cut or a `kill -9` may not do: lose an answered record, or leave a record without its event or an event
 * without its record. A process that is killed loses nothing that it has written to a file, so this proves the order of
 * write, event and answer; that the answer waits for the flush is proved in database.test.ts.
 */
test(`killed ${rounds} times under ${connections} connections: each acknowledged record is there, with its event`, async () => {
  const cwd = await project({ collections: [items] });
  const acknowledged = new Set<string>();
  let n = 0;
  for (let round = 0; round < rounds; round++) {
    const server = await serve(cwd);
    const before = acknowledged.size;
    let isUp = true;
    const client = async (): Promise<void> => {
      while (isUp) {
        n += 1;
        try {
          const response = await post(`${server.url}/api/items`, { n, text: "x".repeat(n % 500) });
          const { id } = (await response.json()) as { id: string };
          expect(response.status).toBe(201);
          acknowledged.add(id);
        } catch (thrown) {
          // The connection broke: the service was killed, and nothing was acknowledged.
          if (isUp) throw thrown;
        }
      }
    };
    const clients = Array.from({ length: connections }, client);
    await Bun.sleep(50 + Math.random() * 150);
    isUp = false;
    server.signal("SIGKILL");
    await Promise.all([...clients, server.exited]);
    expect(acknowledged.size).toBeGreaterThan(before);
  }

  const server = await serve(cwd);
  const list = (await (await fetch(`${server.url}/api/items`)).json()) as { items: { id: string }[] };
  const stored = list.items.map(({ id }) => id);
  expect(new Set(stored).size).toBe(stored.length);
  expect([...acknowledged].filter((id) => !stored.includes(id))).toEqual([]);
  expect(await server.stop()).toBe(0);

  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const events = database
    .query<{ id: string }, []>("SELECT payload ->> 'id' AS id FROM _events WHERE type = 'items.created' ORDER BY seq")
    .all()
    .map(({ id }) => id);
  expect(events).toEqual(stored.reverse());
  expect(database.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get()).toEqual({
    integrity_check: "ok",
  });
  database.close();
}, 120_000);
