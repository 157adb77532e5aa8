/** Backups over the admin API: made singly, listed, downloaded, removed; announced to admins only. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BackupCheck, type BackupEntry, type EventEntry, type Page, parseChannel } from "@socle/protocol";
import { emptyPaths, restoreTo } from "../../../../../test/backups.ts";
import { openFiles } from "../../../../../test/files.ts";

const files = await openFiles({ SERVICE_BACKUP_KEEP: "2" });
const { request, adminToken: token, config, service } = files;
const folder = config["backup.target"];

async function list(): Promise<BackupEntry[]> {
  const { status, body } = await request<Page<BackupEntry>>("GET", "/api/admin/backups", { token });
  expect(status).toBe(200);
  expect(body.total).toBe(body.items.length);
  return body.items;
}

async function make(): Promise<BackupEntry> {
  const { status, body } = await request<BackupEntry>("POST", "/api/admin/backups", { token });
  expect(status).toBe(202);
  expect(body).toMatchObject({ state: "running", size: null, endedAt: null, error: null });
  for (;;) {
    const entry = (await list()).find(({ name }) => name === body.name);
    if (entry !== undefined && entry.state !== "running") return entry;
    await Bun.sleep(5);
  }
}

async function eventsOf(name: string): Promise<string[]> {
  const { body } = await request<Page<EventEntry>>("GET", "/api/admin/events?type=backup.*", { token });
  return body.items.filter(({ payload }) => payload["name"] === name).map(({ type }) => type);
}

test("a backup is made, listed, downloaded in parts, restored, and removed", async () => {
  expect(await list()).toEqual([]);
  const entry = await make();
  expect(entry).toMatchObject({ state: "completed", progress: 1, error: null });
  const path = `/api/admin/backups/${entry.name}`;
  const { status, bytes, headers } = await request("GET", path, { token });
  expect(status).toBe(200);
  expect(headers.get("content-disposition")).toBe(`attachment; filename="${entry.name}"`);
  expect(headers.get("cache-control")).toContain("private");
  expect(bytes.length).toBe(entry.size ?? -1);
  expect(bytes).toEqual(await Bun.file(join(folder, entry.name)).bytes());
  const part = await request("GET", path, { token, headers: { Range: "bytes=10-19" } });
  expect([part.status, part.bytes]).toEqual([206, bytes.slice(10, 20)]);
  const { head } = await restoreTo(emptyPaths(files), new Blob([new Uint8Array(bytes)]));
  expect(head.counts.users).toBe(3);
  // A slow machine tells the progress, too.
  const types = (await eventsOf(entry.name)).filter((type) => type !== "backup.progress");
  expect(types).toEqual(["backup.completed", "backup.started"]);
  const metrics = new TextDecoder().decode((await request("GET", "/metrics", { token })).bytes);
  expect(metrics).toContain(`socle_backup_last_size_bytes ${entry.size}\n`);
  expect(metrics).toContain("socle_backup_failures_total 0\n");
  expect((await request("DELETE", path, { token })).status).toBe(204);
  expect((await request("DELETE", path, { token })).status).toBe(404);
  expect((await request("GET", path, { token })).status).toBe(404);
  expect(await list()).toEqual([]);
});

test("another backup at the same time is a conflict, and is not made", async () => {
  const first = request<BackupEntry>("POST", "/api/admin/backups", { token });
  const second = request("POST", "/api/admin/backups", { token });
  const statuses = [(await first).status, (await second).status];
  expect(statuses.sort()).toEqual([202, 409]);
  while ((await list()).some(({ state }) => state === "running")) await Bun.sleep(5);
  expect(await list()).toHaveLength(1);
});

test("beyond backup.keep the oldest backups are removed, and no other file of the folder", async () => {
  writeFileSync(join(folder, "notes.txt"), "mine");
  const names = [(await make()).name, (await make()).name, (await make()).name];
  while ((await list()).length > 2) await Bun.sleep(5);
  expect((await list()).map(({ name }) => name)).toEqual([names[2], names[1]].map(String));
  expect(readdirSync(folder).sort()).toEqual([...names.slice(1), "notes.txt"].sort());
});

test("a name leads to a backup, and to no other file", async () => {
  for (const name of ["notes.txt", "..%2Fsocle.db", "socle.db", "socle-2026-01-01T00-00-00-000Z.tar.zst"]) {
    expect((await request("GET", `/api/admin/backups/${name}`, { token })).status).toBe(404);
    expect((await request("DELETE", `/api/admin/backups/${name}`, { token })).status).toBe(404);
  }
  expect(existsSync(join(folder, "notes.txt"))).toBe(true);
});

test("a body has no members", async () => {
  expect((await request("POST", "/api/admin/backups", { token, body: { name: "mine" } })).status).toBe(400);
  const before = (await list()).length;
  expect((await request("POST", "/api/admin/backups", { token, body: {} })).status).toBe(202);
  while ((await list()).some(({ state }) => state === "running")) await Bun.sleep(5);
  expect((await list()).length).toBeGreaterThanOrEqual(before);
});

test("a failed backup is reported, with its reason, and counted", async () => {
  await service.database.transact((tx) => tx.run("CREATE TABLE kept AS SELECT * FROM _schema"));
  await service.database.transact((tx) => tx.run("DROP TABLE _schema"));
  const entry = await make();
  await service.database.transact((tx) => tx.run("ALTER TABLE kept RENAME TO _schema"));
  expect(entry).toMatchObject({ state: "failed", size: null });
  expect(entry.error).toContain("_schema");
  expect(readdirSync(folder)).not.toContain(entry.name);
  expect(readdirSync(folder).filter((name) => name.endsWith(".partial"))).toEqual([]);
  const { body } = await request<Page<EventEntry>>("GET", "/api/admin/events?type=backup.failed", { token });
  expect(body.items[0]?.payload).toEqual({ name: entry.name, error: String(entry.error) });
  const metrics = new TextDecoder().decode((await request("GET", "/metrics", { token })).bytes);
  expect(metrics).toContain("socle_backup_failures_total 1\n");
  expect((await make()).state).toBe("completed");
});

async function checked(name: string): Promise<BackupCheck> {
  const { status, body } = await request<BackupEntry>("POST", `/api/admin/backups/${name}/verify`, { token });
  expect(status).toBe(202);
  expect(body.check).toMatchObject({ state: "running", endedAt: null, findings: [] });
  for (;;) {
    const check = (await list()).find((entry) => entry.name === name)?.check;
    if (check && check.state !== "running") return check;
    await Bun.sleep(5);
  }
}

test("a verification tells a whole backup from a damaged backup, and leaves nothing behind", async () => {
  const whole = await make();
  expect(whole.check).toBeNull();
  const verify = `/api/admin/backups/${whole.name}/verify`;
  const passed = await checked(whole.name);
  expect(passed).toMatchObject({ state: "passed", progress: 1 });
  expect(passed.findings.map(({ state, subject }) => `${state} ${subject}`)).toEqual([
    "info backup",
    "ok checksums",
    "ok database",
    "ok files",
  ]);
  // One bit in the middle of the archive.
  const path = join(folder, whole.name);
  const bytes = await Bun.file(path).bytes();
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const both = await Promise.all([request("POST", verify, { token }), request("POST", verify, { token })]);
  expect(both.map(({ status }) => status).sort()).toEqual([202, 409]);
  let failed = (await list()).find(({ name }) => name === whole.name)?.check;
  while (failed?.state === "running") {
    await Bun.sleep(5);
    failed = (await list()).find(({ name }) => name === whole.name)?.check;
  }
  expect(failed).toMatchObject({ state: "failed", findings: [{ state: "error" }] });
  expect(failed?.findings[0]?.text).toContain("is damaged or cut off");
  expect(readdirSync(`${config.database}-backup`).filter((name) => name.startsWith("socle-verify"))).toEqual([]);
  expect((await request("POST", verify, { token, body: { deep: true } })).status).toBe(400);
  expect((await request("POST", "/api/admin/backups/none/verify", { token })).status).toBe(404);
  // The outcome goes with the backup.
  expect((await request("DELETE", `/api/admin/backups/${whole.name}`, { token })).status).toBe(204);
  expect((await list()).some(({ name }) => name === whole.name)).toBe(false);
});

test("an encrypted backup is not verified by the service, which has no key", async () => {
  const name = "socle-2026-01-01T00-00-00-000Z.tar.zst.age";
  writeFileSync(join(folder, name), "age-encryption.org/v1\n");
  const { status, body } = await request("POST", `/api/admin/backups/${name}/verify`, { token });
  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain("socle verify FILE --identity KEY");
  expect((await list()).find((entry) => entry.name === name)?.check).toBeNull();
});

test("without a continuous backup, its extent does not exist", async () => {
  const { status, body } = await request("GET", "/api/admin/backups/continuous", { token });
  expect(status).toBe(404);
  expect(JSON.stringify(body)).toContain("backup.continuous is not set");
});

test("no channel of realtime has the events of backups", () => {
  for (const step of ["started", "progress", "completed", "failed"]) expect(parseChannel(`backup.${step}`)).toBeNull();
  // A collection may be called so.
  expect(parseChannel("backup.*")?.types).toEqual(["backup.created", "backup.updated", "backup.deleted"]);
});
