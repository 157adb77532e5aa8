/** A cluster of three instances: writes at any instance, reads and sockets everywhere, another leader after a failure. */
import { expect, test } from "bun:test";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { post } from "./kit.ts";

const posts = JSON.stringify({
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "n", type: "integer" },
  ],
  permissions: { read: "public", create: "authenticated", update: "authenticated", delete: "authenticated" },
});
const settings = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "a long password" };

const cluster = await startCluster(3, { files: { "collections/posts.json": posts }, settings });
const replicas = await cluster.replicas();
const login = await post(`${replicas[0]?.url}/api/auth/login`, {
  email: "admin@example.com",
  password: "a long password",
});
const { accessToken } = (await login.json()) as { accessToken: string };
const headers = { Authorization: `Bearer ${accessToken}` };

async function create(instance: TestInstance, n: number): Promise<{ id: string; position: number }> {
  const response = await post(`${instance.url}/api/posts`, { title: `post ${n}`, n }, headers);
  expect(response.status).toBe(201);
  const { id } = (await response.json()) as { id: string };
  return { id, position: Number(response.headers.get("socle-position")) };
}

test("a write at any instance is read at the same instance at once, and at each other with the position", async () => {
  for (let n = 0; n < 30; n++) {
    const writing = cluster.instances[n % 3];
    const reading = cluster.instances[(n + 1) % 3];
    if (writing === undefined || reading === undefined) throw new Error("no instance");
    const { id, position } = await create(writing, n);
    expect((await fetch(`${writing.url}/api/posts/${id}`)).status).toBe(200);
    const read = await fetch(`${reading.url}/api/posts/${id}`, { headers: { "Socle-Position": String(position) } });
    expect(read.status).toBe(200);
    expect(Number(read.headers.get("socle-position"))).toBeGreaterThanOrEqual(position);
  }
});
