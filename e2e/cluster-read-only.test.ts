/** The read-only mode of a cluster: begun at any instance, in force at all, and kept by the next leader. */
import { expect, test } from "bun:test";
import { startCluster } from "./cluster-kit.ts";
import { post, socle, until } from "./kit.ts";

const posts = { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: { create: "public" } };
const account = { email: "admin@example.com", password: "a long password" };
const settings = { SERVICE_ADMIN_EMAIL: account.email, SERVICE_ADMIN_PASSWORD: account.password };

test("each instance refuses changes from the begin to the end of the mode, also under another leader", async () => {
  const cluster = await startCluster(3, { files: { "collections/posts.json": JSON.stringify(posts) }, settings });
  const { instances } = cluster;
  const [replica] = await cluster.replicas();
  const login = async (): Promise<Response> => post(`${replica?.url}/api/auth/login`, account);
  const { accessToken } = (await (await login()).json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
  const set = (on: boolean): Promise<Response> =>
    fetch(`${replica?.url}/api/admin/read-only`, { method: "PUT", headers, body: JSON.stringify({ on }) });
  const statuses = (): Promise<number[]> =>
    Promise.all(
      instances.map(async ({ url }) => {
        const response = await post(`${url}/api/posts`, { n: 1 });
        const text = await response.text();
        return text.includes("read-only") ? -response.status : response.status;
      }),
    );
  expect(await statuses()).toEqual([201, 201, 201]);
  expect((await set(true)).status).toBe(200);
  expect(await statuses()).toEqual([-503, -503, -503]);
  expect((await login()).status).toBe(200);
  const former = await cluster.leader();
  // A stopped instance takes no command: the leader decides.
  await former.running.stop();
  const beside = await socle(["read-only", "off"], { cwd: former.folder, env: former.env });
  expect([beside.code, beside.stderr]).toEqual([2, expect.stringContaining("beside the leader")]);
  await until(async () => (await cluster.leader()) !== former);
  await former.start();
  await until(async () => (await statuses()).every((status) => status === -503));
  expect((await set(false)).status).toBe(200);
  await until(async () => (await statuses()).every((status) => status === 201));
});
