/** A single record with chosen fields: rights and records may change while the read waits. */
import { expect, spyOn, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import type { Waiter } from "../../store/database/index.ts";

const definition = {
  name: "notes",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "string" },
    { name: "parent", type: "relation", collection: "notes" },
  ],
  permissions: { read: "owner", create: "authenticated" },
};
const { request, register, service, admin } = await openApi({ collections: [definition] });
const adminToken = await admin();
const { accessToken: token } = await register("a@example.com");
const { user: other } = await register("b@example.com");

/** No query is run on the event loop. */
function onThreadsAlone(): { mockRestore: () => void } {
  return spyOn(service.database.rows, "within").mockReturnValue(null);
}

/** Asks for a note on a thread; `before` happens while the query waits for the thread. */
async function getMeanwhile(fields: string, before: (id: string) => Promise<unknown>): Promise<number> {
  const body = { title: "mine" };
  const { id } = (await request<{ id: string }>("POST", "/api/notes", { body, token })).body;
  const { database } = service;
  const onThreads = onThreadsAlone();
  let isFirst = true;
  const task = database.task.bind(database);
  const waiting = spyOn(database, "task").mockImplementation(async (makeInput, waiter) => {
    if (isFirst) await before(id);
    isFirst = false;
    return task(makeInput, waiter);
  });
  try {
    return (await request("GET", `/api/notes/${id}?fields=${fields}&expand=notes(parent)`, { token })).status;
  } finally {
    onThreads.mockRestore();
    waiting.mockRestore();
  }
}

async function change(path: string, body: object): Promise<void> {
  expect((await request("PUT", path, { body, token: adminToken })).status).toBe(200);
}

test("nothing changes: the record", async () => {
  expect(await getMeanwhile("title", async () => undefined)).toBe(200);
});

test("another has become its owner: 403", async () => {
  const give = (id: string): Promise<unknown> =>
    service.database.transact((tx) => tx.run("UPDATE notes SET _owner = ? WHERE id = ?", other.id, id));
  expect(await getMeanwhile("title", give)).toBe(403);
});

test("a field is dropped: a read of another field succeeds, and the field itself is unknown", async () => {
  const path = "/api/admin/collections/notes";
  const drop = (): Promise<void> => change(path, { fields: [definition.fields[0], definition.fields[2]] });
  expect(await getMeanwhile("body", drop)).toBe(400);
  await change(path, { fields: definition.fields });
  expect(await getMeanwhile("title", drop)).toBe(200);
});

test("the collection is closed to the caller: 403", async () => {
  const close = (): Promise<void> => change("/api/admin/collections/notes", { permissions: { read: "admin" } });
  expect(await getMeanwhile("title", close)).toBe(403);
});

test("a right ends while the query runs: the response has none of the read values", async () => {
  const path = "/api/admin/collections/notes";
  await change(path, { permissions: { read: "owner", create: "authenticated" } });
  const { id } = (await request<{ id: string }>("POST", "/api/notes", { body: { title: "mine" }, token })).body;
  const { database } = service;
  const task = database.task.bind(database);
  const onThreads = onThreadsAlone();
  const running = spyOn(database, "task").mockImplementation(
    async <T>(makeInput: () => unknown, waiter: Waiter): Promise<T> => {
      const answer = await task<T>(makeInput, waiter);
      await change(path, { permissions: { read: "admin", create: "authenticated" } });
      return answer;
    },
  );
  try {
    for (const address of [`/api/notes/${id}?expand=notes(parent)`, "/api/notes?sort=title"]) {
      await change(path, { permissions: { read: "authenticated" } });
      expect([address, (await request("GET", address, { token })).status]).toEqual([address, 403]);
    }
  } finally {
    onThreads.mockRestore();
    running.mockRestore();
  }
});

test("an id that no record can have is 404 without waiting for the writer, after token and role and before the body", async () => {
  await change("/api/admin/collections/notes", { permissions: { read: "public", create: "authenticated" } });
  const transact = spyOn(service.database, "transact");
  try {
    for (const id of ["nothing", "rec_", "rec_XYZ", "x".repeat(5_000)]) {
      const put = { body: "no JSON", token };
      expect((await request("PUT", `/api/notes/${id}`, put)).status).toBe(404);
      expect((await request("DELETE", `/api/notes/${id}`, { token })).status).toBe(404);
      expect((await request("PUT", `/api/notes/${id}`, { body: {} })).status).toBe(401);
      expect((await request("DELETE", `/api/nothing/${id}`, { token })).status).toBe(404);
    }
    expect(transact).not.toHaveBeenCalled();
  } finally {
    transact.mockRestore();
  }
});
