/** Undo of changes by the executable: functions and hooks are not called, and an undo that `kill -9` cuts off goes on, without a change twice. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { TokenResponse, UndoState } from "@socle/protocol";
import { post, type Running, serve, until } from "./kit.ts";
import { scriptProject } from "./scripts-kit.ts";

const kills = 3;
const imported = 6_000;
const collections = [
  { name: "items", fields: [{ name: "n", type: "integer" }] },
  { name: "calls", fields: [{ name: "of", type: "string" }] },
];
const files = {
  "functions/items/calls.ts": `
    const told = (of) => ({ db }) => db.collection("calls").create({ of });
    export const onCreate = told("onCreate");
    export const onUpdate = told("onUpdate");
    export const onDelete = told("onDelete");
    export const beforeUpdate = ({ record }) => { if (record.n < 0) throw new Error("refused by the hook"); };
    export const beforeDelete = () => { throw new Error("refused by the hook"); };`,
};
const cwd = await scriptProject({ collections, files, scripts: { timeout: "60s", hookTimeout: "30s" } });
let server = await serve(cwd);
const { accessToken } = (await (
  await post(`${server.url}/api/auth/register`, { email: "listener@example.com", password: "correct horse battery" })
).json()) as TokenResponse;
const admin = { Authorization: `Bearer ${accessToken}` };

async function ask<T>(path: string, init: RequestInit = {}): Promise<{ body: T; headers: Headers; status: number }> {
  const headers = { "Content-Type": "application/json", ...admin, ...init.headers };
  const answer = await fetch(`${server.url}${path}`, { ...init, headers });
  return { body: (await answer.json()) as T, headers: answer.headers, status: answer.status };
}

async function begin(selection: object): Promise<string> {
  const { body, status } = await ask<{ id: string }>("/api/admin/undo", {
    method: "POST",
    body: JSON.stringify(selection),
  });
  expect(status).toBe(202);
  return body.id;
}

const stateOf = async (id: string): Promise<UndoState> => (await ask<UndoState>(`/api/admin/undo/${id}`)).body;

async function callsOf(): Promise<string[]> {
  const { body } = await ask<{ items: { of: string }[] }>("/api/calls?limit=200");
  return body.items.map(({ of }) => of).toSorted();
}

test("an undo calls no function and no hook", async () => {
  const made = await ask<{ id: string }>("/api/items", { method: "POST", body: '{"n":-1}' });
  expect(made.status).toBe(201);
  const changed = await ask(`/api/items/${made.body.id}`, { method: "PUT", body: '{"n":1}' });
  expect(changed.status).toBe(200);
  await until(async () => (await callsOf()).length === 2);
  for (const { headers } of [changed, made]) {
    const id = await begin({ request: headers.get("x-request-id") });
    await until(async () => (await stateOf(id)).status === "completed");
    expect(await stateOf(id)).toMatchObject({ done: 1, leftCount: 0 });
  }
  expect((await ask(`/api/items/${made.body.id}`)).status).toBe(404);
  // The function of a later change has run: a call for an undo would have come before.
  await ask("/api/items", { method: "POST", body: '{"n":2}' });
  await until(async () => (await callsOf()).length === 3);
  expect(await callsOf()).toEqual(["onCreate", "onCreate", "onUpdate"]);
});

async function killed({ signal, exited }: Running): Promise<void> {
  signal("SIGKILL");
  await exited;
}

test("an undo that kill -9 cuts off goes on at the next start: each slice is whole, and no change is left", async () => {
  const rows = Array.from({ length: imported }, (_, n) => `{"n":${n + 1_000}}`).join("\n");
  const { body, status } = await ask<{ import: string }>("/api/items/import", {
    method: "POST",
    body: rows,
    headers: { "Content-Type": "application/x-ndjson" },
  });
  expect(status).toBe(200);
  const id = await begin({ import: body.import });
  const counts: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const before = (await stateOf(id)).done;
    await until(async () => (await stateOf(id)).done > before || (await stateOf(id)).status === "completed");
    await killed(server);
    using database = new Database(join(cwd, "socle.db"), { readonly: true });
    const [row] = database
      .query<{ done: number; items: number }, [string]>(
        "SELECT done, (SELECT count(*) FROM items WHERE n >= 1000) AS items FROM _undos WHERE id = ?",
      )
      .all(id);
    // The progress and the changes are of the same transaction.
    expect((row?.done ?? 0) + (row?.items ?? 0)).toBe(imported);
    counts.push(row?.done ?? 0);
    server = await serve(cwd);
  }
  await until(async () => (await stateOf(id)).status === "completed");
  expect(await stateOf(id)).toMatchObject({ done: imported, total: imported, leftCount: 0, error: null });
  const { body: list } = await ask<{ items: { n: number }[] }>("/api/items?filter=n%3E%3D1000");
  expect(list.items).toEqual([]);
  expect(counts.toSorted((a, b) => a - b)).toEqual(counts);
});
