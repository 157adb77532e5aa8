/** Snapshots of a cluster: the database alone goes to the bucket of the files, and comes back as the database of an instance or of a single service. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { backUp, emptyPaths, restoreTo, rowsIn } from "../../../test/backups.ts";
import { openFiles } from "../../../test/files.ts";
import { quietLogger } from "../../../test/kit.ts";
import { bucket, s3Key, startS3 } from "../../../test/s3-server.ts";
import { dataPathsOf, knownSchemas } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { type DataPaths, driverOf, putRight } from "./data-paths.ts";
import { replaceDatabase, unpack } from "./restore.ts";
import { type Snapshot, Snapshots } from "./snapshots.ts";
import { sourceOf } from "./target.ts";
import { verifyData } from "./verify.ts";

const s3 = await startS3();
const address = `s3://${bucket}/files`;
const files = await openFiles({
  SERVICE_STORAGE: address,
  SERVICE_S3_ENDPOINT: s3.endpoint,
  SERVICE_S3_REGION: "us-east-1",
  SERVICE_S3_ACCESS_KEY_ID: s3Key,
  SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
});
const { service, request, token } = files;
const { database } = service;
const client = new Bun.S3Client({ endpoint: s3.endpoint, accessKeyId: s3Key, secretAccessKey: s3Key, bucket });
const first = await files.store("one");
await files.store(new Uint8Array(100_000).fill(7));
await database.transact((tx) => tx.run("UPDATE _position SET journal = 'the journal', position = 9"));

function snapshotsOf(paths: DataPaths): Snapshots {
  const known = { version: "test", schemas: knownSchemas, maxLog: 1024 ** 3, logger: quietLogger() };
  return new Snapshots({ ...known, paths, address: `${address}/.snapshots`, work: "", encryption: null });
}

const snapshots = snapshotsOf(dataPathsOf(files.config));
const work = `${database.path}-snapshot`;

function put(signal = new AbortController().signal): Promise<Snapshot> {
  return snapshots.put(database, "the journal", { signal });
}

function removeAll(): Promise<void> {
  return snapshots.removeBefore(Number.MAX_SAFE_INTEGER, "the journal");
}

async function addPost(title: string): Promise<void> {
  expect((await request("POST", "/api/posts", { token, body: { title } })).status).toBe(201);
}

/** Empty paths of another instance, which has the files in the same bucket. */
function instance(): DataPaths {
  const paths = emptyPaths(files);
  return { ...paths, files: { ...paths.files, address } };
}

function titles(paths: DataPaths): string[] {
  return rowsIn<{ title: string }>(paths, "SELECT title FROM posts ORDER BY _seq").map(({ title }) => title);
}

function journalIn(paths: DataPaths): string | null | undefined {
  return rowsIn<{ journal: string | null }>(paths, "SELECT journal FROM _position")[0]?.journal;
}

async function objects(): Promise<string[]> {
  const { contents = [] } = await client.list({ prefix: "files/.snapshots/" });
  return contents.map(({ key }) => key.slice("files/.snapshots/".length)).sort();
}

function blobOf(name: string): Blob {
  return client.file(`files/.snapshots/${name}`);
}

function namesBeside({ database: path }: DataPaths): string[] {
  return readdirSync(dirname(path)).filter((name) => !name.startsWith("socle.db-lock"));
}

test("a snapshot is prepared when the state is packed, and before the upload; after a failure, no snapshot is in the place", async () => {
  const seen: unknown[] = [];
  const { signal } = new AbortController();
  const look = async (): Promise<void> => {
    seen.push(readdirSync(work).length, await objects());
  };
  const { name } = await snapshots.put(database, "the journal", { signal, prepare: look });
  expect(seen).toEqual([1, []]);
  expect(await objects()).toEqual([name]);
  await removeAll();
  const prepare = (): Promise<void> => Promise.reject(new Error("a file has no copy"));
  await expect(snapshots.put(database, "the journal", { signal, prepare })).rejects.toThrow("a file has no copy");
  expect([readdirSync(work), await objects()]).toEqual([[], []]);
});

test("an instance restores a snapshot in place of its database, and nothing of the old database is left", async () => {
  await addPost("in the snapshot");
  const snapshot = await put();
  expect(snapshot.position).toBe(9);
  expect((await client.stat(`files/.snapshots/${snapshot.name}`)).size).toBe(snapshot.bytes);
  expect(readdirSync(work)).toEqual([]);
  await addPost("later");
  const paths = instance();
  const old = new Driver(paths.database);
  old.run("PRAGMA journal_mode = WAL");
  old.run("CREATE TABLE old (x)");
  writeFileSync(`${paths.database}-copy`, readFileSync(`${paths.database}-wal`));
  old.close();
  // A log that a killed process has left must not be read with the new database.
  writeFileSync(`${paths.database}-wal`, readFileSync(`${paths.database}-copy`));
  rmSync(`${paths.database}-copy`);
  await snapshotsOf(paths).restore(snapshot.name);
  expect(titles(paths)).toEqual(["in the snapshot"]);
  expect(rowsIn(paths, "SELECT 1 FROM sqlite_schema WHERE name = 'old'")).toEqual([]);
  expect(journalIn(paths)).toBe("the journal");
  expect(namesBeside(paths).filter((name) => !name.startsWith("socle.db-shm") && name !== "socle.db-wal")).toEqual([
    "socle.db",
  ]);
  const [row] = rowsIn<{ position: number }>(paths, "SELECT position FROM _position");
  expect(row?.position).toBeGreaterThanOrEqual(snapshot.position);
  expect(await objects()).toEqual([snapshot.name]);
  await removeAll();
  expect(await objects()).toEqual([]);
});

test("the archive has the database alone, is not encrypted, and names the storage of the files", async () => {
  const { name } = await put();
  const tar = Bun.zstdDecompressSync(await blobOf(name).bytes());
  const text = Buffer.from(tar).toString("latin1");
  const manifest = JSON.parse(/\{"format".*\]\}/s.exec(text)?.[0] ?? "");
  expect(manifest).toMatchObject({ format: 2, files: "in the storage", missing: [], counts: { files: 2 } });
  expect(manifest.entries.map((entry: { name: string }) => entry.name)).toEqual(["socle.db"]);
  await removeAll();
});

test("names sort by position, and no part of the storage takes a snapshot for a file", async () => {
  const made: string[] = [];
  for (const position of [9, 10, 123_456_789]) {
    await database.transact((tx) => tx.run("UPDATE _position SET position = ?", position));
    const snapshot = await put();
    expect(snapshot.position).toBe(position);
    made.push(snapshot.name);
  }
  const again = await put();
  expect(made).not.toContain(again.name);
  expect([...made, again.name].sort()).toEqual([...made, again.name]);
  const paths = dataPathsOf(files.config);
  const stored = await Array.fromAsync(driverOf(paths).list());
  expect(stored).toHaveLength(2);
  const findings = await verifyData(paths, { isRepair: false });
  expect(findings.filter(({ state }) => state === "error")).toEqual([]);
  await snapshots.removeBefore(10, "another journal");
  expect(await objects()).toEqual([...made, again.name]);
  await snapshots.removeBefore(10, "the journal");
  expect(await objects()).toEqual([...made.slice(1), again.name]);
  await removeAll();
  expect(await driverOf(paths).size(first)).toBe(3);
});

test("a single archive at a time, also beside a backup", async () => {
  const [backup, snapshot] = await Promise.all([
    backUp(files),
    put(),
    put().then(
      () => expect.unreachable(),
      (error: unknown) => expect(error).toMatchObject({ code: "conflict" }),
    ),
  ]);
  const { head } = await restoreTo(emptyPaths(files), backup);
  expect(head).toMatchObject({ files: "in the archive", format: 1, missing: [] });
  const paths = instance();
  await snapshotsOf(paths).restore(snapshot.name);
  expect(titles(paths)).toContain("later");
  await removeAll();
});

test("a snapshot that is given up leaves nothing, and the next snapshot is made", async () => {
  const stop = new AbortController();
  const given = put(stop.signal).catch(String);
  stop.abort(new Error("the instance stops"));
  expect(await given).toContain("the instance stops");
  expect(readdirSync(work)).toEqual([]);
  expect(await objects()).toEqual([]);
  await put();
  await removeAll();
});

test("an upload that the store refuses is given up: the parts and the packed file are removed, and the next snapshot is made", async () => {
  const given: string[] = [];
  let refusal: (() => Response) | null = () =>
    new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 });
  using line = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { url, method, headers } = request;
      const { pathname, search, searchParams } = new URL(url);
      if (refusal !== null && searchParams.has("partNumber")) return refusal();
      if (method === "DELETE" && searchParams.has("uploadId")) given.push(pathname);
      return fetch(`${s3.endpoint}${pathname}${search}`, {
        method,
        headers,
        ...(method === "DELETE" ? {} : { body: await request.bytes() }),
      });
    },
  });
  const { files: stored, ...paths } = dataPathsOf(files.config);
  const keys = { ...stored.s3, endpoint: `http://127.0.0.1:${line.port}` };
  const beyond = snapshotsOf({ ...paths, files: { ...stored, s3: keys } });
  const { signal } = new AbortController();
  const failure = await beyond.put(database, "the journal", { signal }).catch(String);
  expect(failure).toMatch(/^Error: The upload of snapshot-[^\n]* to s3:[^\n]*\/\.snapshots broke off: AccessDenied$/);
  expect(given).toEqual([expect.stringContaining("/files/.snapshots/snapshot-")]);
  expect(readdirSync(work)).toEqual([]);
  expect(await objects()).toEqual([]);
  // An upload under way when the instance stops.
  const stop = new AbortController();
  refusal = () => {
    stop.abort(new Error("the instance stops"));
    return new Response("<Error><Code>SlowDown</Code></Error>", { status: 503 });
  };
  await expect(beyond.put(database, "the journal", stop)).rejects.toThrow();
  expect(new Set(given).size).toBe(2);
  expect(readdirSync(work)).toEqual([]);
  expect(await objects()).toEqual([]);
  refusal = null;
  const { name } = await beyond.put(database, "the journal", { signal });
  expect(await objects()).toEqual([name]);
  await removeAll();
});

test("a snapshot that is damaged or absent leaves the database unchanged; other objects are not reached", async () => {
  const { name } = await put();
  const bytes = await blobOf(name).bytes();
  const paths = instance();
  await snapshotsOf(paths).restore(name);
  const before = readFileSync(paths.database);
  await client.write(`files/.snapshots/${name}`, bytes.slice(0, bytes.length - 100));
  await expect(snapshotsOf(paths).restore(name)).rejects.toThrow("is damaged or cut off, and was not used");
  await removeAll();
  await expect(snapshotsOf(paths).restore(name)).rejects.toBeInstanceOf(SetupError);
  expect(readFileSync(paths.database).equals(before)).toBe(true);
  expect(namesBeside(paths).filter((each) => each.includes("restore") || each.includes("snapshot"))).toEqual([]);
  for (const other of [`../${first}`, first, "", `${name}/../../${first}`]) {
    await expect(snapshots.restore(other)).rejects.toThrow("is not the name of a snapshot");
  }
  expect(await client.file(`files/${first}`).text()).toBe("one");
});

test("a database that a service uses is not replaced", async () => {
  const { name } = await put();
  await expect(snapshots.restore(name)).rejects.toThrow("is in use by another socle process");
  expect((await request("GET", "/api/posts", { token })).status).toBe(200);
  await removeAll();
});

test("moves that are interrupted are finished by the next start, and the old database goes", async () => {
  const { name } = await put();
  const paths = instance();
  writeFileSync(paths.database, "");
  const obstacle = `${paths.database}-snapshot`;
  // A file in the place of the folder stops the first move, as a crash does.
  const onProgress = (): void => writeFileSync(obstacle, "");
  const identity = (): Promise<never> => Promise.reject(new Error("not encrypted"));
  const source = { name, source: blobOf(name), schemas: knownSchemas, identity, onProgress };
  await expect(replaceDatabase(source, paths)).rejects.toThrow();
  expect(readFileSync(paths.database)).toHaveLength(0);
  rmSync(obstacle);
  expect(putRight(paths)).toBe(true);
  expect(titles(paths)).toContain("later");
  expect(existsSync(obstacle)).toBe(false);
  await removeAll();
});

test("restored like a backup: a single service, with the files that stand in the storage", async () => {
  const { name } = await put();
  const { source } = await sourceOf(`${address}/.snapshots/${name}`, dataPathsOf(files.config));
  const paths = instance();
  const { head, aside, filesLine } = await restoreTo(paths, source);
  expect(head.counts.files).toBe(2);
  expect(aside).toEqual([]);
  expect(filesLine).toBe(`The files were not in the backup, and must be in storage (${address})`);
  expect(journalIn(paths)).toBeNull();
  expect((await verifyData(paths, { isRepair: false })).filter(({ state }) => state === "error")).toEqual([]);

  const elsewhere: DataPaths = { ...paths, files: { ...paths.files, address: `s3://${bucket}/elsewhere` } };
  const again = await restoreTo(elsewhere, source, { force: true });
  expect(again.filesLine).toEndWith(
    `(s3://${bucket}/elsewhere), which lacks ${first}: set storage to the bucket of the files`,
  );
  expect(again.aside).toHaveLength(1);
  await removeAll();
});

test("files in a folder stay in the folder, with force, too; lost files are reported", async () => {
  const { name } = await put();
  const paths = emptyPaths(files);
  const path = join(paths.files.address, first.slice(-2), first);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "one");
  const restored = await restoreTo(paths, blobOf(name));
  expect(restored.filesLine).toContain("which is a folder, and lacks fil_");
  expect(restored.filesLine).not.toContain(first);
  const forced = await restoreTo(paths, blobOf(name), { force: true });
  expect(forced.aside).toHaveLength(1);
  expect(readdirSync(forced.aside[0] ?? "")).toContain("socle.db");
  expect(readFileSync(path, "utf8")).toBe("one");
  // A backup with files does not go over the files of a folder.
  const full = await backUp(files);
  rmSync(paths.database);
  await expect(restoreTo(paths, full)).rejects.toThrow("holds data already");
  expect(readFileSync(path, "utf8")).toBe("one");
  expect(existsSync(paths.database)).toBe(false);
  await removeAll();
});

test("files beyond the free space of the disk do not prevent the restore of the database alone", async () => {
  await put();
  const paths = instance();
  const size = async (bytes: number): Promise<void> => {
    await database.transact((tx) => tx.run("UPDATE _files SET size = ? WHERE id = ?", bytes, first));
  };
  await size(2 ** 50);
  const large = await put();
  await size(3);
  const { filesLine } = await restoreTo(paths, blobOf(large.name));
  expect(filesLine).toContain(`lacks ${first}`);
  await removeAll();
});

test("a store that does not respond is a warning, and the database is restored", async () => {
  const { name } = await put();
  const folder = `${work}-checked`;
  const blob = new Blob([await blobOf(name).bytes()]);
  const identity = (): Promise<never> => Promise.reject(new Error("not encrypted"));
  const head = await unpack(
    { name, source: blob, schemas: knownSchemas, identity },
    { folder, files: null, depth: "full" },
  );
  expect(head.files).toBe("in the storage");
  const paths = instance();
  const keys = { ...paths.files.s3, endpoint: "http://127.0.0.1:1" };
  const { filesLine } = await restoreTo({ ...paths, files: { ...paths.files, s3: keys } }, blob);
  expect(filesLine).toContain("which could not be read: ");
  expect(titles(paths)).toContain("later");
  await removeAll();
});
