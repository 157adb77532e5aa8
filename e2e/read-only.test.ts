/** `socle read-only`: beside a service, without a service and over a restart, with one process and with three. */
import { expect, test } from "bun:test";
import { post, project, serve, singleService, socle } from "./kit.ts";

singleService("process");

const posts = {
  name: "posts",
  fields: [{ name: "title", type: "string" }],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
};
const refusal = {
  code: "unavailable",
  message: "The service is read-only at the moment, and takes no changes.",
};

for (const processes of [1, 3])
  test(`changes are refused until the end of the mode, with processes: ${processes}`, async () => {
    const cwd = await project({ collections: [posts], config: { processes } });
    const account = { email: "ann@example.com", password: "correct horse" };
    const create = (url: string) => post(`${url}/api/posts`, { title: "a" });
    const count = async (url: string) =>
      ((await (await fetch(`${url}/api/posts`)).json()) as { items: object[] }).items.length;
    let server = await serve(cwd);
    expect((await create(server.url)).status).toBe(201);
    expect((await post(`${server.url}/api/auth/register`, account)).status).toBe(201);
    const on = await socle(["read-only", "on"], { cwd });
    expect(on).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^The service is read-only since \S+: an admin has switched changes off\n$/),
      stderr: "",
    });
    // Each connection may go to another process.
    for (let n = 0; n < 12; n++) {
      const refused = await create(server.url);
      expect([refused.status, await refused.json()]).toEqual([503, { error: refusal }]);
    }
    expect((await post(`${server.url}/api/auth/login`, account)).status).toBe(200);
    const status = await socle(["status"], { cwd });
    expect([status.code, status.stdout]).toEqual([1, expect.stringContaining("The service is read-only: an admin")]);
    expect(await server.stop()).toBe(0);
    const file = Bun.file(`${cwd}/collections/posts.json`);
    const former = await file.text();
    await Bun.write(file, JSON.stringify({ ...posts, fields: [...posts.fields, { name: "text", type: "text" }] }));
    const changed = await socle(["serve", "--port", "0"], { cwd });
    expect([changed.code, changed.stderr + changed.stdout]).toEqual([2, expect.stringContaining("read-only")]);
    await Bun.write(file, former);
    server = await serve(cwd);
    expect((await create(server.url)).status).toBe(503);
    expect(await count(server.url)).toBe(1);
    expect(await server.stop()).toBe(0);
    // Without a service.
    expect((await socle(["read-only"], { cwd })).stdout).toContain("read-only since");
    await Bun.write(`${cwd}/rows.ndjson`, '{"title":"i"}\n');
    const imported = await socle(["import", "posts", "rows.ndjson"], { cwd });
    expect([imported.code, imported.stderr]).toEqual([2, expect.stringContaining(refusal.message)]);
    expect(await socle(["read-only", "off"], { cwd })).toEqual({
      code: 0,
      stdout: "The service takes changes\n",
      stderr: "",
    });
    server = await serve(cwd);
    expect((await create(server.url)).status).toBe(201);
    expect(await count(server.url)).toBe(2);
  });
