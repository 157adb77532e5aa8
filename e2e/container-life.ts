/** The life of a container, in a bare root: the service starts as an image says, is asked for its health, ends, and starts again on its data. */
import { expect } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ContainerConfig } from "../scripts/release/image.ts";
import { runInside, serveBare } from "./bare-root.ts";
import { post, project, temporaryFolder } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const posts = { name: "posts", fields: [{ name: "title", type: "string" }] };

export type RunConfig = Omit<ContainerConfig, "Labels">;

export function variablesOf({ Env }: RunConfig): Record<string, string> {
  return Object.fromEntries(Env.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** A project with the address of the templates of `socle init`, the collection `posts`, and a job that does not end. */
export async function containerProject(): Promise<string> {
  const app = await project({ collections: [posts], config: { host: "127.0.0.1" } });
  await write(app, {
    "jobs/long.ts": `export const schedule = "0 0 1 1 *";
      export const options = { timeout: "1h" };
      export default async ({ logger }: JobContext) => { logger.info("begun"); await new Promise(() => undefined); };`,
  });
  return app;
}

/** The files of a folder with their sizes and the times of their last change. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, ...statSync(join(folder, name)) }))
    .map(({ name, size, mtimeMs }) => `${name} ${size} ${mtimeMs}`)
    .sort();
}

/**
 * Expects that the service of an image runs as process 1 of a user without a name, on a root that cannot be written, changes nothing
 * but `/data`, ends within 10 s in spite of a running job, and has all data at the next start.
 * @param image the files of the image, unpacked; without a folder, the files of the kit's bare root.
 */
export async function expectLife(config: RunConfig, image?: string): Promise<void> {
  // The bare root has this user, this program, and these folders.
  expect([config.User, config.Entrypoint, config.WorkingDir, Object.keys(config.Volumes)]).toEqual([
    "65534:65534",
    ["/socle"],
    "/app",
    ["/data"],
  ]);
  const variables = variablesOf(config);
  const app = await containerProject();
  const before = readdirSync(app);
  const data = temporaryFolder();
  chmodSync(data, 0o700);
  const password = "a long password";
  const env = { ...variables, SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password };
  const layout = { data, app, words: config.Cmd, ...(image !== undefined && { image }) };
  const server = await serveBare(layout, env);
  const filesAtStart = image === undefined ? [] : filesOf(image);
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  expect(/^NSpid:.*\s1$/m.test(status)).toBe(true);
  // The user has no name: the image has no `/etc/passwd`.
  expect(existsSync(`/proc/${server.pid}/root/etc/passwd`)).toBe(false);
  const mounts = readFileSync(`/proc/${server.pid}/mounts`, "utf8");
  const modes = Object.fromEntries(
    mounts.split("\n").map((line) => [line.split(" ")[1], line.split(" ")[3]?.split(",")[0]]),
  );
  expect(modes).toMatchObject({ "/": "ro", "/app": "ro", "/data": "rw" });

  // A client outside of the container asks another address than 127.0.0.1, as here.
  const outside = `http://127.0.0.2:${new URL(server.url).port}`;
  expect((await post(`${outside}/api/posts`, { title: "kept" })).status).toBe(201);
  expect(statSync(join(data, "socle.db")).mode & 0o777).toBe(0o600);
  expect(readdirSync(app)).toEqual(before);

  const [kind, ...check] = config.Healthcheck.Test;
  expect(kind).toBe("CMD");
  // The port of the configuration is 0 here.
  const asked = { ...variables, SERVICE_PORT: new URL(server.url).port };
  expect(runInside(server, check, asked)).toBe(0);
  expect(runInside(server, check, { ...variables, SERVICE_PORT: "1" })).toBe(1);

  const login = await post(`${server.url}/api/auth/login`, { email: "admin@example.com", password });
  const { token } = (await login.json()) as { token: string };
  const admin = { Authorization: `Bearer ${token}` };
  expect((await post(`${server.url}/api/admin/jobs/long/run`, {}, admin)).status).toBe(202);
  while (!server.output().includes("begun")) await Bun.sleep(5);
  const ended = await Promise.race([server.stop(), Bun.sleep(10_000).then(() => "still there")]);
  expect(ended).toBe(0);
  if (image !== undefined) expect(filesOf(image)).toEqual(filesAtStart);
  for (const line of server.output().trim().split("\n")) JSON.parse(line);

  // Another container with the same volume.
  const again = await serveBare(layout, variables);
  expect(await (await fetch(`${again.url}/api/posts`)).json()).toMatchObject({ items: [{ title: "kept" }] });
  expect(await again.stop()).toBe(0);
  expect(readdirSync(app)).toEqual(before);
}
