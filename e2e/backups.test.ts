/** Backups with the executable: under load, killed in the middle, on a full disk, and the commands' own words. */
// Promises: R2, R3.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import {
  executable,
  isLong,
  post,
  project,
  type Running,
  serve,
  singleService,
  socle,
  temporaryFolder,
  until,
} from "./kit.ts";

singleService("restore");

const items = {
  name: "items",
  fields: [
    { name: "n", type: "integer", required: true, unique: true },
    { name: "text", type: "text" },
  ],
};
const password = "correct horse";

/** The text of a number: a record without a half of the text differs from this text. */
function textOf(n: number): string {
  return `${n} `.repeat((n % 50) + 1);
}

async function admin(cwd: string, url: string): Promise<string> {
  const made = await socle(["admin", "create", "admin@example.com", "--password", password], { cwd });
  expect(made.code).toBe(0);
  const answer = await post(`${url}/api/auth/login`, { email: "admin@example.com", password });
  return Reflect.get((await answer.json()) as object, "accessToken");
}

async function upload(url: string, token: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const form = new FormData();
  form.set("file", new Blob([content]), "file.bin");
  form.set("visibility", "public");
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/storage/upload`, { method: "POST", headers, body: form });
  expect(answer.status).toBe(201);
  return Reflect.get((await answer.json()) as object, "id");
}

function random(bytes: number): Uint8Array<ArrayBuffer> {
  const content = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) crypto.getRandomValues(content.subarray(at, at + 65_536));
  return content;
}

function hash(content: Uint8Array): string {
  return Bun.SHA256.hash(content, "hex");
}

interface Item {
  id: string;
  n: number;
  text: string;
}

async function list(url: string): Promise<Item[]> {
  return Reflect.get((await (await fetch(`${url}/api/items`)).json()) as object, "items");
}

/** Names in a project's folder that neither the service nor a command should leave. */
function leftovers(cwd: string): string[] {
  const own =
    /^(collections|config\.json|socle\.db(-wal|-shm|-lock|-lock-journal|-control|-reserve)?|storage|backups|before-restore-.*)$/;
  const work = join(cwd, "storage/.work");
  const inWork = existsSync(work) ? readdirSync(work).filter((name) => name === "restore") : [];
  return [...readdirSync(cwd).filter((name) => !own.test(name)), ...inWork];
}

test("a backup under load: every write acknowledged before is complete, and each listed file exists", async () => {
  const cwd = await project({ collections: [items], config: { "limits.wal": "8MiB" } });
  const server = await serve(cwd);
  const token = await admin(cwd, server.url);
  const acknowledged = new Set<string>();
  const contents = new Map<string, string>();
  let n = 0;
  let isUp = true;
  const writer = async (): Promise<void> => {
    while (isUp) {
      n += 1;
      const answer = await post(`${server.url}/api/items`, { n, text: textOf(n) });
      expect(answer.status).toBe(201);
      acknowledged.add(Reflect.get((await answer.json()) as object, "id"));
      await Bun.sleep(5);
    }
  };
  const uploader = async (): Promise<void> => {
    while (isUp) {
      const content = random(1 + Math.floor(Math.random() * 200_000));
      const id = await upload(server.url, token, content);
      contents.set(id, hash(content));
      if (contents.size % 2 === 0) continue;
      const headers = { Authorization: `Bearer ${token}` };
      const removed = await fetch(`${server.url}/api/storage/${id}`, { method: "DELETE", headers });
      expect(removed.status).toBe(204);
    }
  };
  const load = [...Array.from({ length: 12 }, writer), uploader(), uploader()];
  await until(() => acknowledged.size > 300 && contents.size > 10);

  const kept = temporaryFolder();
  for (let round = 0; round < (isLong ? 6 : 1); round++) {
    const before = [...acknowledged];
    const file = join(kept, `${round}.tar.zst`);
    const made = await socle(["backup", file], { cwd });
    expect(made).toEqual({ code: 0, stderr: "", stdout: expect.stringMatching(/^Wrote [^\n]+\n$/) });
    const started = acknowledged.size;
    await until(() => acknowledged.size > started + 50);

    const target = await project();
    rmSync(join(target, "collections"), { recursive: true });
    const restored = await socle(["restore", file], { cwd: target });
    expect(restored.stderr).toBe("");
    expect(restored.code).toBe(0);
    const verified = await socle(["verify"], { cwd: target });
    expect(verified.stdout).toEndWith("All is well\n");
    expect(verified.code).toBe(0);
    const copy = await serve(target);
    const stored = await list(copy.url);
    const ids = new Set(stored.map(({ id }) => id));
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
    expect(stored.filter((item) => item.text !== textOf(item.n))).toEqual([]);
    const database = new Database(join(target, "socle.db"), { readonly: true });
    const files = database.query<{ id: string }, []>("SELECT id FROM _files").all();
    const events = database
      .query<{ n: number }, []>("SELECT count(*) AS n FROM _events WHERE type = 'items.created'")
      .get();
    database.close();
    expect(events?.n).toBe(stored.length);
    for (const { id } of files) {
      const answer = await fetch(`${copy.url}/api/storage/${id}`);
      expect(answer.status).toBe(200);
      const found = hash(await answer.bytes());
      // Its upload may not have been answered yet.
      expect(contents.get(id) ?? found).toBe(found);
    }
    await copy.stop();
  }
  isUp = false;
  await Promise.all(load);
  expect(server.output()).not.toContain("ERROR");
  expect(leftovers(cwd).filter((name) => name !== "socle.db-backup")).toEqual([]);
  expect(await server.stop()).toBe(0);
});

test("killed while making a backup: the old file stays, and the next start removes the incomplete file", async () => {
  const cwd = await project({ collections: [items] });
  let server = await serve(cwd);
  const token = await admin(cwd, server.url);
  for (let i = 0; i < 12; i++) await upload(server.url, token, random(5_000_000));
  await post(`${server.url}/api/items`, { n: 1, text: textOf(1) });
  const file = join(temporaryFolder(), "backup.tar.zst");
  writeFileSync(file, "the old one");
  const making = socle(["backup", file], { cwd });
  await until(() => existsSync(`${file}.partial`));
  server.signal("SIGKILL");
  const { code, stdout, stderr } = await making;
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^socle: The service has ended meanwhile[^\n]*\n$/);
  expect(readFileSync(file, "utf8")).toBe("the old one");
  server = await serve(cwd);
  expect(existsSync(`${file}.partial`)).toBe(false);
  expect(leftovers(cwd)).toEqual([]);
  expect(await list(server.url)).toHaveLength(1);
  expect((await socle(["verify"], { cwd })).code).toBe(0);
  expect((await socle(["backup", file], { cwd })).code).toBe(0);
  expect((await socle(["verify", file], { cwd })).stdout).toEndWith("All is well\n");
  await server.stop();
});

test("a restore that is killed leaves the old data or the new, and never half of either", async () => {
  const next = randomNumbers(randomSeed("killed restores"));
  const source = await project({ collections: [items] });
  let server = await serve(source);
  let token = await admin(source, server.url);
  for (let i = 0; i < 20; i++) await upload(server.url, token, random(200_000));
  await post(`${server.url}/api/items`, { n: 1, text: "new" });
  const file = join(temporaryFolder(), "backup.tar.zst");
  expect((await socle(["backup", file], { cwd: source })).code).toBe(0);
  await server.stop();

  const target = await project({ collections: [items] });
  server = await serve(target);
  token = await admin(target, server.url);
  const old = await upload(server.url, token, random(1_000));
  await post(`${server.url}/api/items`, { n: 2, text: "old" });
  await server.stop();
  const start = performance.now();
  expect((await socle(["restore", file], { cwd: await project() })).code).toBe(0);
  const wholeMs = performance.now() - start;

  const seen = new Set<string>();
  for (let round = 0; round < (isLong ? 30 : 6); round++) {
    const child = Bun.spawn([executable, "restore", file, "--force"], {
      cwd: target,
      stdout: "ignore",
      stderr: "ignore",
    });
    await Bun.sleep(next() * wholeMs * 1.2);
    child.kill("SIGKILL");
    await child.exited;
    server = await serve(target);
    const [item] = await list(server.url);
    const isOld = item?.text === "old";
    expect(item?.text).toBe(isOld ? "old" : "new");
    expect((await fetch(`${server.url}/api/storage/${old}`)).status).toBe(isOld ? 200 : 404);
    await server.stop();
    expect(leftovers(target)).toEqual([]);
    const verified = await socle(["verify"], { cwd: target });
    expect(verified.stdout).toEndWith("All is well\n");
    const aside = readdirSync(target).filter((name) => name.startsWith("before-restore-"));
    if (!isOld) expect(aside).not.toEqual([]);
    seen.add(isOld ? "old" : "new");
    if (isOld) continue;
    // Back to the old data, out of the folder that kept the data.
    const folder = join(target, aside.sort()[0] ?? "");
    for (const name of ["socle.db", "storage"]) {
      rmSync(join(target, name), { recursive: true, force: true });
      expect(existsSync(join(folder, name))).toBe(true);
      Bun.spawnSync(["mv", join(folder, name), join(target, name)]);
    }
    for (const name of ["socle.db-wal", "socle.db-shm"]) rmSync(join(target, name), { force: true });
    if (existsSync(join(folder, "socle.db-wal"))) Bun.spawnSync(["mv", join(folder, "socle.db-wal"), target]);
    for (const name of aside) rmSync(join(target, name), { recursive: true });
  }
  console.log(`killed restores left: ${[...seen].join(", ")}`);
});

test("a restore that was interrupted between its moves is brought to its end by the next start", async () => {
  let cwd = await project({ collections: [items] });
  let server = await serve(cwd);
  const file = await upload(server.url, await admin(cwd, server.url), random(1_000));
  await post(`${server.url}/api/items`, { n: 1, text: "new" });
  await server.stop();
  // The state after the second-last move: the files are moved, the database is not. The data folder has another path, too.
  const moved = join(temporaryFolder(), "moved");
  Bun.spawnSync(["mv", cwd, moved]);
  cwd = moved;
  const inData = (path: string) => ({ root: "database", path });
  const folder = join(cwd, "socle.db-restore");
  mkdirSync(folder);
  Bun.spawnSync(["mv", join(cwd, "socle.db"), join(folder, "socle.db")]);
  writeFileSync(
    join(folder, "moves.json"),
    JSON.stringify([[inData("socle.db-restore/socle.db"), inData("socle.db")]]),
  );
  server = await serve(cwd);
  expect(server.output()).toContain("A restore that was interrupted has been brought to its end");
  expect((await list(server.url)).map(({ text }) => text)).toEqual(["new"]);
  expect((await fetch(`${server.url}/api/storage/${file}`)).status).toBe(200);
  expect(leftovers(cwd)).toEqual([]);
  expect(await server.stop()).toBe(0);
});

test("a full disk ends the backup with a single line, and leaves nothing", async () => {
  const cwd = await project({ collections: [items] });
  const server = await serve(cwd);
  const token = await admin(cwd, server.url);
  await upload(server.url, token, random(5_000_000));
  await server.stop();
  const disk = temporaryFolder();
  const script = [
    `mount -t tmpfs -o size=2m none "${disk}"`,
    `echo "the old one" > "${disk}/kept"`,
    `cd "${cwd}"`,
    `"${executable}" backup "${disk}/kept"`,
    'echo "code $?"',
    `ls -A "${disk}"`,
    `cat "${disk}/kept"`,
  ].join("\n");
  const child = Bun.spawnSync(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]);
  const stderr = child.stderr.toString();
  // Without a small disk the test shows nothing.
  expect(stderr).not.toContain("mount:");
  expect(stderr).toMatch(/^socle: The backup [^\n]*kept was not made: the disk is full[^\n]*\n$/);
  expect(child.stdout.toString()).toBe("code 1\nkept\nthe old one\n");
  expect(leftovers(cwd).filter((name) => name !== "socle.db-backup")).toEqual([]);
});

test("a restore onto a full disk leaves nothing and changes nothing", async () => {
  const cwd = await project({ collections: [items] });
  const server = await serve(cwd);
  const token = await admin(cwd, server.url);
  await upload(server.url, token, random(5_000_000));
  await server.stop();
  const file = join(temporaryFolder(), "backup.tar.zst");
  expect((await socle(["backup", file], { cwd })).code).toBe(0);
  const disk = temporaryFolder();
  const script = [
    `mount -t tmpfs -o size=2m none "${disk}" && cd "${disk}" && echo '{}' > config.json`,
    `"${executable}" restore "${file}"`,
    'echo "code $?"',
    "find . -type f ! -name '*-lock*' ! -name config.json",
  ].join("\n");
  const child = Bun.spawnSync(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]);
  expect(child.stderr.toString()).toMatch(/^socle: [^\n]*needs 5000000 bytes, and the disk of [^\n]* free\n$/);
  expect(child.stdout.toString()).toBe("code 1\n");
});

test("the commands report each mistake in a single line", async () => {
  const cwd = await project({ collections: [items] });
  const folder = temporaryFolder();
  const file = join(folder, "backup.tar.zst");
  const failing = async (args: string[], options: { stdin?: string } = {}): Promise<[number, string]> => {
    const { code, stdout, stderr } = await socle(args, { cwd, ...options });
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^socle: [^\n]+\n(Try: socle help\n)?$/);
    return [code, stderr];
  };
  expect((await failing(["backup", file]))[0]).toBe(2);
  expect(existsSync(join(cwd, "socle.db"))).toBe(false);
  const server = await serve(cwd);
  await admin(cwd, server.url);
  expect((await failing(["backup", join(folder, "none/backup")]))[1]).toContain("its folder does not exist");
  expect((await failing(["backup", folder]))[1]).toContain("is a folder");
  expect((await failing(["backup", join(cwd, "socle.db")]))[1]).toContain("belongs to the database");
  expect((await failing(["backup", file, "--passphrase"], { stdin: "" }))[1]).toContain("no passphrase");
  expect((await failing(["vacuum"]))[1]).toContain("is in use");
  expect((await failing(["verify", "--repair"]))[1]).toContain("is in use");
  expect((await socle(["backup", file, "--passphrase"], { cwd, stdin: "tell nobody\n" })).code).toBe(0);
  expect(readFileSync(file).toString("latin1")).toStartWith("age-encryption.org/v1\n");
  expect((await failing(["restore", file, "--force"]))[1]).toContain("is in use");
  await server.stop();
  expect((await failing(["restore", file]))[1]).toContain("--force");
  const [code, wrong] = await failing(["restore", file, "--force"], { stdin: "something else\n" });
  expect([code, wrong]).toEqual([1, expect.stringContaining("the passphrase does not open it")]);
  expect((await failing(["restore", join(folder, "none")]))[0]).toBe(2);
  writeFileSync(join(folder, "text"), "hello");
  expect((await failing(["restore", join(folder, "text"), "--force"]))[1]).toContain("is not a backup of Socle");
  expect((await failing(["verify", join(folder, "text")]))[1]).toContain("is not a backup of Socle");
  expect(leftovers(cwd)).toEqual([]);
  expect(readdirSync(cwd).filter((name) => name.startsWith("before-restore"))).toEqual([]);
  expect((await socle(["restore", file, "--force"], { cwd, stdin: "tell nobody\n" })).code).toBe(0);
});

test("verify finds lost and stray files and damage; repair moves strays aside; vacuum makes the file smaller", async () => {
  const cwd = await project({ collections: [items] });
  // The log keeps no values of deleted records, so that pages become free.
  let server: Running = await serve(cwd, { env: { SERVICE_EVENTS_BEFORE: "false" } });
  const token = await admin(cwd, server.url);
  const [lost, short, whole] = [
    await upload(server.url, token, random(1_000)),
    await upload(server.url, token, random(1_000)),
    await upload(server.url, token, random(1_000)),
  ];
  for (let n = 0; n < 300; n++) await post(`${server.url}/api/items`, { n, text: "x".repeat(10_000) });
  const path = (id: string): string => join(cwd, "storage", id.slice(-2), id);
  expect((await socle(["verify"], { cwd })).code).toBe(0);
  rmSync(path(lost));
  writeFileSync(path(short), "short");
  mkdirSync(join(cwd, "storage/zz"));
  writeFileSync(join(cwd, "storage/zz/fil_strayzz"), "stray");
  const found = await socle(["verify"], { cwd });
  expect(found.code).toBe(1);
  expect(found.stdout).toContain(`${lost} (file.bin): its bytes are missing`);
  expect(found.stdout).toContain(`${short} (file.bin): 5 bytes in place of 1000`);
  expect(found.stdout).toContain("fil_strayzz: bytes that belong to no file");
  expect(found.stdout).not.toContain(whole);
  expect(found.stdout).toEndWith("3 errors\n");
  const made = await socle(["backup", join(temporaryFolder(), "backup.tar.zst")], { cwd });
  expect(made.code).toBe(0);
  expect(made.stderr).toContain("lacks 2 files");
  expect(made.stderr).toContain(lost);
  for (const { id } of await list(server.url)) await fetch(`${server.url}/api/items/${id}`, { method: "DELETE" });
  await server.stop();

  const repaired = await socle(["verify", "--repair"], { cwd });
  expect(repaired.code).toBe(1);
  expect(repaired.stdout).toContain("1 stray file moved to ");
  const aside = readdirSync(cwd).find((name) => name.startsWith("socle.db-strays-")) ?? "";
  expect(readFileSync(join(cwd, aside, "fil_strayzz"), "utf8")).toBe("stray");
  expect(existsSync(join(cwd, "storage/zz/fil_strayzz"))).toBe(false);
  expect((await socle(["verify"], { cwd })).stdout).toEndWith("2 errors\n");
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  expect(database.query("SELECT count(*) AS n FROM _files").get()).toEqual({ n: 3 });
  database.close();

  const before = Bun.file(join(cwd, "socle.db")).size;
  const { code, stdout } = await socle(["vacuum"], { cwd });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^[^\n]* before, [^\n]* now, [^\n]* gained\n$/)]);
  expect(Bun.file(join(cwd, "socle.db")).size).toBeLessThan(before * 0.75);
  server = await serve(cwd);
  expect(await list(server.url)).toEqual([]);
  expect(await server.stop()).toBe(0);

  const bytes = readFileSync(join(cwd, "socle.db"));
  bytes.fill(0xff, 4_096 * 3, 4_096 * 5);
  writeFileSync(join(cwd, "socle.db"), bytes);
  const damaged = await socle(["verify"], { cwd });
  expect(damaged.code).not.toBe(0);
  expect(`${damaged.stdout}${damaged.stderr}`).toMatch(/error {2}|damaged/);
});
