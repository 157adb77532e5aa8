/** Vectors with the built executable: lists by nearest in several processes beside writes, in code, in a view, after a restart and a restore. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TokenResponse } from "@socle/protocol";
import { post, project, serve, singleService, socle, temporaryFolder } from "./kit.ts";
import { scriptProject } from "./scripts-kit.ts";

// Commands read the database of the stopped service, and a backup is restored into a folder.
singleService("restore");

const dimensions = 32;
const collections = [
  {
    name: "notes",
    fields: [
      { name: "n", type: "integer" },
      { name: "embedding", type: "vector", dimensions },
    ],
    permissions: { read: "n >= 0", create: "public", update: "public", delete: "public" },
  },
  { name: "shown", query: "SELECT id, n, embedding FROM notes WHERE n < 100", permissions: { read: "public" } },
];

/** A vector that points nearly along an axis, a little less for a greater number. */
function vectorOf(n: number): number[] {
  return Array.from({ length: dimensions }, (_, i) => (i === n % dimensions ? 1 : 0.00001 * (n + 1)));
}

const sort = `nearest(embedding, ${JSON.stringify(vectorOf(0))})`;
const files = {
  "endpoints/near.ts": `
    export const access = "public";
    export const GET = async (_, { db }) => {
      const sort = ${JSON.stringify(sort)};
      const notes = db.collection("notes");
      const { items } = await notes.list({ sort, limit: 2 });
      const asNobody = await db.as(null).collection("notes").list({ sort, limit: 2 });
      const inside = await db.transaction(async (tx) => {
        await tx.collection("notes").create({ n: 7000, embedding: ${JSON.stringify(vectorOf(0))} });
        const few = await tx.collection("notes").list({ sort, filter: "n >= 6000", limit: 2 });
        throw Object.assign(new Error("undone"), { few });
      }).catch((error) => error.few?.items ?? String(error));
      const number = ({ n }) => n;
      return Response.json([items.map(number), asNobody.items.map(number), Array.isArray(inside) ? inside.map(number) : inside]);
    };`,
};

describe.each([1, 3])("in %i processes", async (processes) => {
  const cwd = await scriptProject({ collections, files, scripts: { timeout: "60s" } });
  const env = { SERVICE_PROCESSES: String(processes), SERVICE_ADMIN_EMAIL: "ann@example.com" };
  let server = await serve(cwd, { env });
  const account = { email: "ann@example.com", password: "correct horse battery" };
  const { accessToken } = (await (await post(`${server.url}/api/auth/register`, account)).json()) as TokenResponse;
  const Authorization = `Bearer ${accessToken}`;
  const nearest = async (more: object = {}, collection = "notes"): Promise<number[]> => {
    const body = { sort, limit: 4, fields: "n", ...more };
    const answer = await post(`${server.url}/api/${collection}/query`, body, { Connection: "close" });
    const { items } = (await answer.json()) as { items: { n: number }[] };
    expect(answer.status).toBe(200);
    return items.map(({ n }) => n);
  };

  test("every process answers the nearest at once after each write, also in code and in a view", async () => {
    const lines = Array.from({ length: 2_000 }, (_, n) => JSON.stringify({ n, embedding: vectorOf(n) }));
    // As near as the nearest, which nobody may read, and a note without a vector.
    lines.push(JSON.stringify({ n: -1, embedding: vectorOf(0) }), JSON.stringify({ n: 5, embedding: null }));
    const headers = { "Content-Type": "application/x-ndjson", Authorization };
    const imported = await fetch(`${server.url}/api/notes/import`, { method: "POST", headers, body: lines.join("\n") });
    expect(await imported.json()).toMatchObject({ imported: 2_002 });
    for (let i = 0; i < 6; i++) expect(await nearest()).toEqual([0, 32, 64, 96]);
    expect(await nearest({ filter: "n > 1900" })).toEqual([1_920, 1_952, 1_984, expect.any(Number)]);
    for (let i = 0; i < 8; i++) {
      const made = await post(`${server.url}/api/notes`, { n: 3_000 + i, embedding: vectorOf(0) });
      const { id } = (await made.json()) as { id: string };
      for (let ask = 0; ask < 3; ask++) expect(await nearest()).toEqual([0, 3_000 + i, 32, 64]);
      const change = { method: "PUT", headers: { "Content-Type": "application/json" } };
      const body = JSON.stringify({ embedding: vectorOf(1) });
      expect((await fetch(`${server.url}/api/notes/${id}`, { ...change, body })).status).toBe(200);
      expect(await nearest()).toEqual([0, 32, 64, 96]);
      expect((await fetch(`${server.url}/api/notes/${id}`, { method: "DELETE" })).status).toBe(204);
      expect(await nearest({ filter: "n >= 3000" })).toEqual([]);
    }
    expect(await (await fetch(`${server.url}/api/function/near`)).json()).toEqual([[0, -1], [0, 32], [7_000]]);
    expect(await nearest({}, "shown")).toEqual([0, -1, 32, 64]);
  });

  test("after a restart, and after a restore of a backup, the lists are the same", async () => {
    const backup = join(temporaryFolder(), "all.socle");
    expect((await socle(["backup", backup], { cwd })).code).toBe(0);
    await server.stop();
    server = await serve(cwd, { env });
    expect(await nearest()).toEqual([0, 32, 64, 96]);
    await server.stop();
    const target = await project({ collections });
    expect((await socle(["restore", backup], { cwd: target })).code).toBe(0);
    server = await serve(target, { env });
    expect(await nearest()).toEqual([0, 32, 64, 96]);
    expect(server.output()).not.toMatch(/FATAL|ERROR/);
    await server.stop();
  });
});
