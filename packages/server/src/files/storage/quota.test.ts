/** Storage quotas: what is refused, when, and what a deletion frees. */
import { expect, test } from "bun:test";
import { openFiles } from "../../../test/files.ts";
import { fileForm, formBytes, formType } from "../../../test/forms.ts";
import { type Answer, openApi } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import type { Storage } from "./storage.ts";
import { Quota } from "./upload.ts";

const { adminToken, onDisk, other, request, service, store, token, upload } = await openFiles({
  SERVICE_LIMITS_STORAGE_PER_USER: "10000",
  SERVICE_LIMITS_STORAGE: "25000",
});

async function remove(id: string, by = adminToken): Promise<void> {
  expect((await request("DELETE", `/api/storage/${id}`, { token: by })).status).toBe(204);
}

function failure({ status, body }: Answer): [number, string, string] {
  return [status, String(body["error"]?.["code"]), String(body["error"]?.["message"])];
}

function counted(limit: string): number {
  return service.limits.totals().find(([name]) => name === limit)?.[1] ?? 0;
}

function put(size: number): Promise<{ id: string }> {
  return service.storage.store(system, async (file) => {
    await file.write(new Uint8Array(size));
    return { filename: "a", visibility: "public" };
  });
}

async function allFiles(storage: Storage): ReturnType<Storage["search"]> {
  const waiter = { caller: "test", signal: new AbortController().signal };
  return storage.search({ search: null, visibility: null, userId: null }, { limit: 100, offset: 0, waiter });
}

test("a user's files fit up to the last byte; beyond the quota the response has the used and the free bytes", async () => {
  const first = await store("x".repeat(9_000));
  const before = onDisk();
  const refusals = counted("storagePerUser");
  expect(failure(await upload(fileForm("x".repeat(1_001))))).toEqual([
    413,
    "payload_too_large",
    "The storage is full. Your files may take 10000 bytes (limits.storagePerUser); 9000 are used, and at most 1000 more fit.",
  ]);
  expect(counted("storagePerUser")).toBe(refusals + 1);
  expect(onDisk()).toEqual(before);
  const last = await store("x".repeat(1_000));
  expect((await upload(fileForm("x"))).status).toBe(413);
  const empty = await store("");
  // Another user has a separate bound.
  const theirs = await upload(fileForm("x".repeat(10_000)), { token: other.accessToken });
  expect(theirs.status).toBe(201);
  await remove(last, token);
  const again = await store("x".repeat(1_000));
  for (const id of [first, again, empty, String(theirs.body["id"])]) await remove(id);
});

test("files without an owner count in the total", async () => {
  const { id } = await put(24_000);
  const refusals = counted("storage");
  const answer = await upload(fileForm("x".repeat(1_001)));
  expect(failure(answer)).toEqual([
    413,
    "payload_too_large",
    "The storage is full. All files may take 25000 bytes (limits.storage); 24000 are used, and at most 1000 more fit.",
  ]);
  expect(counted("storage")).toBe(refusals + 1);
  await expect(put(1_001)).rejects.toMatchObject({ code: "payload_too_large", limit: "storage" });
  await remove(id);
  expect((await put(24_000)).id).not.toBe(id);
  for (const { id: each } of (await allFiles(service.storage)).items) await remove(each);
});

test("parallel uploads together stay within the bounds, of each user and in all", async () => {
  const tokens = [token, other.accessToken, adminToken];
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => upload(fileForm("x".repeat(1_500)), { token: tokens[n % 3] ?? token })),
  );
  const { items } = await allFiles(service.storage);
  const sizeOf = (userId: string | null): number =>
    items.filter((file) => userId === null || file.userId === userId).reduce((sum, { size }) => sum + size, 0);
  // Six of each user fit, and sixteen in all.
  expect(sizeOf(null)).toBe(24_000);
  for (const userId of new Set(items.map((file) => file.userId))) expect(sizeOf(userId)).toBeLessThanOrEqual(9_000);
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(16);
  expect(answers.filter(({ status }) => status === 413)).toHaveLength(14);
  expect(await service.database.reader.all("SELECT id FROM _file_remains")).toEqual([]);
  for (const { id } of items) await remove(id);
});

test("a length beyond the quota is refused before the body is read, an endless body at the quota", async () => {
  let pieces = 0;
  const body = () => {
    let isFirst = true;
    return new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pieces += 1;
          const head = fileForm("").subarray(0, -22);
          controller.enqueue(isFirst ? head : new Uint8Array(4_096));
          isFirst = false;
        },
      },
      { highWaterMark: 0 },
    );
  };
  const headers = { "Content-Type": formType };
  const told = await request("POST", "/api/storage/upload", {
    body: body(),
    token,
    headers: { ...headers, "Content-Length": "300000" },
  });
  expect([told.status, pieces]).toEqual([413, 0]);
  const endless = await request("POST", "/api/storage/upload", { body: body(), token, headers });
  expect(endless.status).toBe(413);
  // Some are on the way; all of 10 MiB would be 2,560.
  expect(pieces).toBeLessThan(256);
  // Form fields beside the file do not count.
  const form = formBytes([
    { name: "comment", content: "x".repeat(20_000) },
    { name: "file", filename: "a", content: "x" },
  ]);
  const fine = await upload(form);
  expect(fine.status).toBe(201);
  await remove(String(fine.body["id"]));
});

test("a start counts the stored files; without bounds nothing is refused", async () => {
  const first = await openApi({});
  await first.service.storage.store(system, async (file) => {
    await file.write(new Uint8Array(5_000));
    return { filename: "a", visibility: "public" };
  });
  await first.close();
  const second = await openApi({ folder: first.config.folder, settings: { SERVICE_LIMITS_STORAGE: "6000" } });
  const storeMore = (size: number) =>
    second.service.storage.store(system, async (file) => {
      await file.write(new Uint8Array(size));
      return { filename: "b", visibility: "public" };
    });
  await expect(storeMore(1_001)).rejects.toMatchObject({ limit: "storage" });
  expect((await storeMore(1_000)).size).toBe(1_000);
});

test("transactions that share a commit see each other's files", async () => {
  const { service: own } = await openApi({});
  const quota = new Quota({ total: 10_000, perUser: 0 });
  await quota.start(own.database);
  const adding = Array.from({ length: 15 }, () =>
    own.database.transact((tx) => quota.add(tx, { size: 1_000, userId: null })),
  );
  const results = await Promise.allSettled(adding);
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  await own.database.transact((tx) => quota.remove(tx, 1_000));
  await own.database.transact((tx) => quota.add(tx, { size: 1_000, userId: null }));
  await expect(own.database.transact((tx) => quota.add(tx, { size: 1, userId: null }))).rejects.toThrow("is full");
});

test.each([
  ["without bounds", {}],
  ["with a bound", { SERVICE_LIMITS_STORAGE: "1MiB" }],
])("the totals follow uploads and deletions, %s", async (_name, settings) => {
  const { service: own } = await openApi({ settings });
  const { storage } = own;
  const put = (size: number): Promise<{ id: string }> =>
    storage.store(system, async (file) => {
      await file.write(new Uint8Array(size));
      return { filename: "a", visibility: "public" };
    });
  const first = await put(100);
  // Asked for while another upload is stored: a file counts once.
  const [, totals] = await Promise.all([put(1_000), storage.totals()]);
  expect([1, 2]).toContain(totals.files);
  expect(await storage.totals()).toEqual({ files: 2, size: 1_100 });
  await Promise.all(Array.from({ length: 10 }, () => put(10)));
  expect(await storage.totals()).toEqual({ files: 12, size: 1_200 });
  await storage.delete(first.id, system);
  expect(await storage.totals()).toEqual({ files: 11, size: 1_100 });
  // A change that is taken back changes nothing.
  await expect(put(11 * 1024 ** 2)).rejects.toMatchObject({ code: "payload_too_large" });
  const { items } = await allFiles(storage);
  expect(await storage.totals()).toEqual({ files: items.length, size: items.reduce((sum, { size }) => sum + size, 0) });
});
