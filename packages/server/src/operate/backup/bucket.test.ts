/** Backups in a bucket: uploaded in parts, tried again, and gone on with after the line was broken. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { BackupEntry, Page } from "@socle/protocol";
import { emptyPaths, restoreTo } from "../../../test/backups.ts";
import { openFiles } from "../../../test/files.ts";
import { bucket, s3Key, startS3 } from "../../../test/s3-server.ts";
import { dataPathsOf } from "../../app/index.ts";
import { Secret, SetupError } from "../../base/kernel/index.ts";
import { PartUploads } from "./part-uploads.ts";
import { sourceOf } from "./target.ts";

const s3 = await startS3();
const target = new URL(s3.endpoint);

/** Each part that has arrived, and how the store behaves. */
const arrived: number[] = [];
let answerPart: (part: number) => "pass" | "fail" = () => "pass";

/** A line to the store on which parts can be lost. */
const line = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 60,
  async fetch(request) {
    const url = new URL(request.url);
    const part = Number(url.searchParams.get("partNumber") ?? "0");
    const bytes = await request.bytes();
    if (part > 0 && answerPart(part) === "fail")
      return new Response("<Error><Code>SlowDown</Code></Error>", { status: 503 });
    if (part > 0) arrived.push(part);
    return fetch(`${target.origin}${url.pathname}${url.search}`, {
      method: request.method,
      headers: request.headers,
      ...(bytes.length > 0 ? { body: bytes } : {}),
    });
  },
});
const keys = {
  endpoint: `http://127.0.0.1:${line.port}`,
  region: "us-east-1",
  accessKeyId: s3Key,
  secretAccessKey: new Secret(s3Key),
};

const files = await openFiles({
  SERVICE_BACKUP_TARGET: `s3://${bucket}/kept`,
  SERVICE_BACKUP_KEEP: "1",
  SERVICE_S3_ENDPOINT: keys.endpoint,
  SERVICE_S3_REGION: keys.region,
  SERVICE_S3_ACCESS_KEY_ID: s3Key,
  SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
});
const { request, adminToken: token, service } = files;
const work = `${service.database.path}-backup`;

async function list(): Promise<BackupEntry[]> {
  return (await request<Page<BackupEntry>>("GET", "/api/admin/backups", { token })).body.items;
}

async function make(): Promise<BackupEntry> {
  const { status, body } = await request<BackupEntry>("POST", "/api/admin/backups", { token });
  expect(status).toBe(202);
  for (;;) {
    const entry = (await list()).find(({ name }) => name === body.name);
    if (entry !== undefined && entry.state !== "running") return entry;
    await Bun.sleep(10);
  }
}

// Files of three parts.
for (let i = 0; i < 3; i++) {
  const content = new Uint8Array(5_700_000);
  for (let at = 0; at < content.length; at += 60_000) crypto.getRandomValues(content.subarray(at, at + 60_000));
  await files.store(content);
}

test("uploaded, listed, downloaded, restored and removed", async () => {
  const entry = await make();
  expect(entry).toMatchObject({ state: "completed", error: null });
  expect(arrived).toEqual([1, 2, 3]);
  expect(readdirSync(work)).toEqual([]);
  const address = `s3://${bucket}/kept/${entry.name}`;
  const { source, size } = await sourceOf(address, dataPathsOf(files.config));
  expect(size).toBe(entry.size ?? -1);
  const { head } = await restoreTo(emptyPaths(files), source);
  expect(head.counts.files).toBe(3);
  const path = `/api/admin/backups/${entry.name}`;
  const { status, bytes } = await request("GET", path, { token });
  expect([status, bytes.length]).toEqual([200, entry.size ?? -1]);
  expect((await request("DELETE", path, { token })).status).toBe(204);
  expect((await request("GET", path, { token })).status).toBe(404);
  await expect(sourceOf(address, dataPathsOf(files.config))).rejects.toBeInstanceOf(SetupError);
  // Other objects there are no backups.
  const client = new Bun.S3Client({ ...keys, endpoint: s3.endpoint, secretAccessKey: s3Key, bucket });
  await client.write("kept/notes.txt", "mine");
  for (const method of ["GET", "DELETE"])
    expect((await request(method, "/api/admin/backups/notes.txt", { token })).status).toBe(404);
  expect(await client.file("kept/notes.txt").text()).toBe("mine");
});

test("a part that is lost is sent again", async () => {
  arrived.length = 0;
  let isLost = false;
  answerPart = (part) => {
    if (part !== 2 || isLost) return "pass";
    isLost = true;
    return "fail";
  };
  expect((await make()).state).toBe("completed");
  expect(arrived).toEqual([1, 2, 3]);
  expect(isLost).toBe(true);
});

test("a broken upload goes on with the next backup, without the finished parts", async () => {
  arrived.length = 0;
  const [before] = await list();
  answerPart = (part) => (part >= 3 ? "fail" : "pass");
  const failed = await make();
  expect(failed.state).toBe("failed");
  expect(failed.error).toMatch(/^The upload of [^\n]* broke off: SlowDown\. The next backup goes on with it$/);
  expect(arrived).toEqual([1, 2]);
  expect(existsSync(join(work, failed.name))).toBe(true);
  expect((await list()).map(({ name }) => name)).toEqual([failed.name, String(before?.name)]);
  answerPart = () => "pass";
  const made = await make();
  expect(made).toMatchObject({ name: failed.name, state: "completed", size: failed.size });
  expect(arrived).toEqual([1, 2, 3]);
  expect(readdirSync(work)).toEqual([]);
  const { source } = await sourceOf(`s3://${bucket}/kept/${made.name}`, dataPathsOf(files.config));
  const { head } = await restoreTo(emptyPaths(files), source);
  expect(head.counts.files).toBe(3);
  // The backup before went, as `backup.keep` says.
  while ((await list()).length > 1) await Bun.sleep(10);
  expect((await list()).map(({ name }) => name)).toEqual([made.name]);
});

test("a stop gives up an upload of which the store takes the bytes and never answers", async () => {
  const arrivals = Promise.withResolvers<void>();
  using silent = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (new URL(request.url).searchParams.has("uploads"))
        return new Response("<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>");
      if (request.method !== "PUT") return new Response(null, { status: 204 });
      await request.bytes();
      arrivals.resolve();
      return Promise.withResolvers<Response>().promise;
    },
  });
  const uploads = new PartUploads(`s3://${bucket}/silent/`, { ...keys, endpoint: silent.url.origin });
  const stopping = new AbortController();
  const uploading = uploads.upload("a", new Blob(["content"]), {
    signal: stopping.signal,
    onProgress: () => undefined,
  });
  await arrivals.promise;
  stopping.abort(new Error("the service stops"));
  await expect(uploading).rejects.toThrow("the service stops");
});
