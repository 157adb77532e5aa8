import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { peakMiB, project, serve } from "../kit.ts";

const count = 1_000_000;
const allowedMiB = 40;

const items = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
    { name: "count", type: "integer" },
    { name: "score", type: "float" },
  ],
};

/** Reads a whole list and answers the number of records, without keeping the list. */
async function countList(url: string): Promise<number> {
  const response = await fetch(`${url}/api/items`);
  if (response.body === null) throw new Error("no body");
  let records = 0;
  for await (const chunk of response.body) records += Buffer.from(chunk).toString("latin1").split('"rec_').length - 1;
  return records;
}

test("a list of 1,000,000 records costs at most 40 MiB more resident memory than an empty list", async () => {
  const cwd = await project({ collections: [items] });
  const first = await serve(cwd);
  const base = await peakMiB(first, async () => {
    for (let i = 0; i < 20; i++) await countList(first.url);
  });
  await first.stop();

  // Through the API the same would take minutes; the rows are as the API would write.
  const database = new Database(join(cwd, "socle.db"));
  const insert = database.prepare(
    "INSERT INTO items (id, createdAt, updatedAt, title, body, count, score) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  database.transaction(() => {
    for (let n = 0; n < count; n++) {
      const time = new Date(1.7e12 + n).toISOString();
      insert.run(
        `rec_${Bun.randomUUIDv7("hex", 1.7e12 + n)}`,
        time,
        time,
        `Item ${n}`,
        "A text of a hundred characters or so, with an é and a 漢字.",
        n,
        n / 7,
      );
    }
  })();
  insert.finalize();
  database.close();

  const second = await serve(cwd);
  let found = 0;
  const peak = await peakMiB(second, async () => {
    found = await countList(second.url);
  });
  expect(found).toBeGreaterThanOrEqual(count - 1_000);
  console.log(`none: ${base.toFixed(1)} MiB, ${count.toLocaleString("en")}: ${peak.toFixed(1)} MiB`);
  expect(peak - base).toBeLessThan(allowedMiB);

  // Twenty clients that ask and do not read: nothing may pile up for these clients.
  const { hostname, port } = new URL(second.url);
  const sockets = Array.from({ length: 20 }, () => {
    const socket = connect(Number(port), hostname, () => {
      socket.write("GET /api/items HTTP/1.1\r\nHost: x\r\n\r\n");
      socket.pause();
    });
    return socket;
  });
  const slowPeak = await peakMiB(second, () => Bun.sleep(5_000));
  console.log(`twenty that do not read: ${slowPeak.toFixed(1)} MiB`);
  // The buffers and a page for each socket: nothing that grows with the list, which is 250 MB.
  expect(slowPeak - base).toBeLessThan(2 * allowedMiB);
  expect((await fetch(`${second.url}/health`)).status).toBe(200);
  for (const socket of sockets) socket.destroy();
}, 300_000);
