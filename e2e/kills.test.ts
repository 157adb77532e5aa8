/**
 * The kills in the short form: a few `kill -9` of the service and the processes under mixed load; after each kill all
 * acknowledged data are present. `npm run test:kills` makes 300 kills, and kills the modules of the database thousands of times.
 */
// Promises: W1, E1, E2, E3, R1.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { RecordList } from "@socle/protocol";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { longTest, post, serve, singleService, until } from "./kit.ts";
import { killAtPoints } from "./reliability/kills-points.ts";
import { suffer } from "./reliability/kills-suite.ts";
import { collection, scriptProject, waiting } from "./scripts-kit.ts";

test("killed under mixed load: acknowledged writes are stored, once, with their events, published and run", async () => {
  singleService("faults");
  const { problems, known, runs } = await suffer(2, randomNumbers(randomSeed("kills")));
  expect(problems).toEqual([]);
  expect(known.items.acknowledged + known.notes.acknowledged).toBeGreaterThan(0);
  expect(runs).toBeGreaterThan(0);
});

test("the modules killed at random moments: acknowledged writes are stored", async () => {
  const random = randomNumbers(randomSeed("crash points"));
  let written = 0;
  // Each of three random moments may be before the first write.
  for (let i = 0; i < 20 && written === 0; i++) {
    const { problems, acknowledged } = await killAtPoints(3, random);
    expect(problems).toEqual([]);
    written += acknowledged;
  }
  expect(written).toBeGreaterThan(0);
});

longTest("a log that retains nothing retains the pending runs", async () => {
  const path = "functions/items/note.ts";
  const cwd = await scriptProject({
    collections: [collection("items"), collection("effects")],
    files: { [path]: "export const onCreate = () => new Promise(() => {});\n" },
    scripts: { timeout: "1h" },
  });
  const env = { SERVICE_EVENTS_RETENTION: "0" };
  const first = await serve(cwd, { env });
  for (let n = 0; n < 100; n++) await post(`${first.url}/api/items`, { n });
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const events = database.query<{ n: number }, []>("SELECT count(*) AS n FROM _events WHERE type = 'items.created'");
  await until(() => events.get()?.n === 0);
  expect(waiting(cwd)).toBe(100);
  first.signal("SIGKILL");
  await first.exited;
  const note = "export const onCreate = ({ record, db }: any) => db.collection('effects').create({ n: record.n });\n";
  await Bun.write(join(cwd, path), note);
  const second = await serve(cwd, { env });
  await until(() => waiting(cwd) === 0);
  const { items } = (await (await fetch(`${second.url}/api/effects`)).json()) as RecordList;
  const done = items.map((item) => Number(item["n"])).sort((a, b) => a - b);
  expect(done).toEqual(Array.from({ length: 100 }, (_, n) => n));
});
