/** The image of deploy/Dockerfile without Docker: folders, variables, commands and user, in a bare root. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runInside, serveBare } from "./bare-root.ts";
import { post, project, root, temporaryFolder } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
/** The part that makes the image. */
const image = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));

/** The text after an instruction, for each line of the image with this instruction. */
function instruction(name: string): string[] {
  return [...image.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest = ""]) => rest);
}

function wordsOf(name: string): string[] {
  const text = instruction(name)[0] ?? "";
  const words: string[] = JSON.parse(text.slice(text.indexOf("[")));
  return words;
}

const variables = Object.fromEntries(
  instruction("ENV").map((line): [string, string] => {
    const [name = "", value = ""] = line.split("=");
    return [name, value];
  }),
);

const posts = { name: "posts", fields: [{ name: "title", type: "string" }] };

test("the service of the image: a user without a name, a root that cannot be written, process 1, an end within 10 s", async () => {
  expect([instruction("FROM"), instruction("WORKDIR"), instruction("VOLUME")]).toEqual([
    ["scratch"],
    ["/app"],
    ["/data"],
  ]);
  expect([instruction("USER"), wordsOf("ENTRYPOINT")]).toEqual([["65534:65534"], ["/socle"]]);
  const app = await project({ collections: [posts] });
  await write(app, {
    "jobs/long.ts": `export const schedule = "0 0 1 1 *";
      export const options = { timeout: "1h" };
      export default async ({ logger }: JobContext) => { logger.info("begun"); await new Promise(() => undefined); };`,
  });
  const before = readdirSync(app);
  const data = temporaryFolder();
  chmodSync(data, 0o700);
  const password = "a long password";
  const env = { ...variables, SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password };
  const server = await serveBare({ data, app, words: wordsOf("CMD") }, env);
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  expect(/^NSpid:.*\s1$/m.test(status)).toBe(true);
  // The user has no name: the image has no `/etc/passwd`.
  expect(existsSync(`/proc/${server.pid}/root/etc/passwd`)).toBe(false);
  const mounts = readFileSync(`/proc/${server.pid}/mounts`, "utf8");
  const modes = Object.fromEntries(
    mounts.split("\n").map((line) => [line.split(" ")[1], line.split(" ")[3]?.split(",")[0]]),
  );
  expect(modes).toMatchObject({ "/": "ro", "/app": "ro", "/data": "rw" });

  expect((await post(`${server.url}/api/posts`, { title: "kept" })).status).toBe(201);
  expect(statSync(join(data, "socle.db")).mode & 0o777).toBe(0o600);
  expect(readdirSync(app)).toEqual(before);

  // The port of the configuration is 0 here.
  const asked = { ...variables, SERVICE_PORT: new URL(server.url).port };
  expect(runInside(server, wordsOf("HEALTHCHECK"), asked)).toBe(0);
  expect(runInside(server, wordsOf("HEALTHCHECK"), { ...variables, SERVICE_PORT: "1" })).toBe(1);

  const login = await post(`${server.url}/api/auth/login`, { email: "admin@example.com", password });
  const { token } = (await login.json()) as { token: string };
  const admin = { Authorization: `Bearer ${token}` };
  expect((await post(`${server.url}/api/admin/jobs/long/run`, {}, admin)).status).toBe(202);
  while (!server.output().includes("begun")) await Bun.sleep(5);
  const ended = await Promise.race([server.stop(), Bun.sleep(10_000).then(() => "still there")]);
  expect(ended).toBe(0);
  for (const line of server.output().trim().split("\n")) JSON.parse(line);

  // Another container with the same volume.
  const again = await serveBare({ data, app, words: wordsOf("CMD") }, variables);
  expect(await (await fetch(`${again.url}/api/posts`)).json()).toMatchObject({ items: [{ title: "kept" }] });
  expect(await again.stop()).toBe(0);
});

test("a missing volume, and a volume of another user, are reported in a line", async () => {
  const app = await project({ collections: [posts] });
  const failure = await serveBare({ data: "/proc/sys", app, words: wordsOf("CMD") }, variables).catch(String);
  expect(failure).toMatch(/"level":"ERROR"[^\n]*\/data/);
  expect(failure).not.toMatch(/\n\s+at .*socle/);
});
