/** Tests of the live room: all that a window takes counts, for the caller, for the users of an address, and for all. */
import { expect, test } from "bun:test";
import { openServer, type TestSocket } from "../../../test/sockets.ts";

const server = await openServer({
  collections: [{ name: "notes", fields: [{ name: "text", type: "text" }] }],
  settings: { SERVICE_LIMITS_LIVE_RECORDS: "4000" },
});

/** Asks for windows of one record each. Answers the ids of the windows that were admitted; the others are refused by the limit. */
async function view(socket: TestSocket, count: number, filter: (n: number) => string): Promise<string[]> {
  const admitted: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const id = `q${n}`;
    const query = { collection: "notes", limit: 1, filter: filter(n) };
    const before = socket.frames.length;
    socket.send({ action: "subscribe", id, query });
    while (!socket.frames.slice(before).some((frame) => "id" in frame && frame.id === id)) await Bun.sleep(1);
    const answer = socket.frames.slice(before).find((frame) => "id" in frame && frame.id === id);
    if (answer?.type === "subscribed") admitted.push(id);
    else expect(answer).toMatchObject({ type: "error", code: "query_limit" });
  }
  return admitted;
}

async function userAt(name: string, address: string): Promise<TestSocket> {
  return server.connect((await server.register(`${name}@example.com`)).accessToken, address);
}

test("windows of a single record count with the memory of a window and of the text, and release their share at their end", async () => {
  const socket = await userAt("ann", "203.0.113.1");
  const short = await view(socket, 20, (n) => `text = "ann ${n}"`);
  // An eighth of 4,000, and about 37 for each window.
  expect(short.length).toBeGreaterThan(10);
  expect(short.length).toBeLessThan(15);
  for (const id of short) await socket.ask({ action: "unsubscribe", id });
  const long = await view(socket, 20, (n) => `text = "${"x".repeat(1_000)} ${n}"`);
  expect(long.length).toBeGreaterThan(5);
  expect(long.length).toBeLessThan(short.length);
  for (const id of long) await socket.ask({ action: "unsubscribe", id });
  expect(await view(socket, 20, (n) => `text = "anew ${n}"`)).toEqual(short);
  socket.socket.close();
});

test("each viewer of a window counts, also of an equal query", async () => {
  const token = (await server.register("same@example.com")).accessToken;
  let admitted = 0;
  for (let n = 0; n < 8; n += 1) {
    const socket = await server.connect(token, "203.0.113.2");
    admitted += (await view(socket, 40, () => 'text = "equal"')).length;
  }
  // One window of about 35, and 2 for each viewer of the eighth of 4,000.
  expect(admitted).toBeGreaterThan(220);
  expect(admitted).toBeLessThan(240);
});

test("the users of an address share a half, and another address has budget left", async () => {
  let admitted = 0;
  for (let n = 0; n < 6; n += 1)
    admitted += (await view(await userAt(`user${n}`, "203.0.113.3"), 15, (q) => `text = "${n} ${q}"`)).length;
  expect(admitted).toBeGreaterThan(45);
  expect(admitted).toBeLessThan(56);
  const other = await view(await userAt("other", "203.0.113.4"), 10, (q) => `text = "other ${q}"`);
  expect(other).toHaveLength(10);
});
