/** The steps that store or delete a file, and the state after an end at each step. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openApi, quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { openDriver, Storage, type StorageDriver } from "./index.ts";

const noS3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined };

/** A storage on a folder, in which `change` replaces methods of the driver. */
async function open(change: (driver: StorageDriver, ids: () => Promise<string[]>) => Partial<StorageDriver>) {
  const { config, service } = await openApi({});
  const logger = quietLogger();
  const real = await openDriver({ address: temporaryFolder(), workFolder: "", s3: noS3, logger });
  const marked = async (): Promise<string[]> => {
    const rows = await service.database.reader.all<{ id: string }>("SELECT id FROM _file_remains");
    return rows.map(({ id }) => id);
  };
  const bound: StorageDriver = {
    workFolder: real.workFolder,
    open: () => real.open(),
    put: (id, path) => real.put(id, path),
    read: (id, range) => real.read(id, range),
    size: (id) => real.size(id),
    list: () => real.list(),
    remove: (id) => real.remove(id),
  };
  const make = (driver: StorageDriver): Storage =>
    new Storage({
      ...service,
      driver,
      logger,
      config,
      linkKey: () => "key",
      isShownByRecord: async () => false,
    });
  const storage = make({ ...bound, ...change(bound, marked) });
  await storage.start();
  const store = () =>
    storage.store(system, async (upload) => {
      await upload.write(Buffer.from("content"));
      return { filename: "a.txt", visibility: "public" };
    });
  return { service, storage, store, marked, real, restart: () => make(bound).start() };
}

test("an id is marked on disk before its bytes are put, and until the id is a file", async () => {
  const seen: string[][] = [];
  const { store, marked, real } = await open((driver, ids) => ({
    async put(id, path) {
      seen.push(await ids());
      await driver.put(id, path);
    },
  }));
  const { id } = await store();
  expect(seen).toEqual([[id]]);
  expect(await marked()).toEqual([]);
  expect(await real.read(id, null)).not.toBeNull();
});

test("a driver that fails after the bytes are put leaves nothing", async () => {
  const ids: string[] = [];
  const { service, store, marked, real } = await open((driver) => ({
    async put(id, path) {
      ids.push(id);
      await driver.put(id, path);
      throw Object.assign(new Error("the line is cut"), { code: "ECONNRESET" });
    },
  }));
  await expect(store()).rejects.toMatchObject({ code: "unavailable" });
  expect(await real.read(ids[0] ?? "", null)).toBeNull();
  expect(await marked()).toEqual([]);
  expect(await service.database.reader.all("SELECT id FROM _files")).toEqual([]);
});

test("a crash after the bytes are put: the next start removes the bytes", async () => {
  const { promise: put, resolve } = Promise.withResolvers<string>();
  const { store, marked, real, restart } = await open((driver) => ({
    async put(id, path) {
      await driver.put(id, path);
      resolve(id);
      // The call never returns.
      await new Promise(() => undefined);
    },
  }));
  void store();
  const id = await put;
  expect(await real.read(id, null)).not.toBeNull();
  expect(await marked()).toEqual([id]);
  await restart();
  expect(await real.read(id, null)).toBeNull();
  expect(await marked()).toEqual([]);
});

test("a crash between a deletion and the removal of the bytes: the next start removes the bytes", async () => {
  const { storage, store, marked, real, restart } = await open(() => ({
    async remove() {
      throw new Error("not now");
    },
  }));
  const { id } = await store();
  await storage.delete(id, system);
  expect(await storage.find(id)).toBeNull();
  expect(await marked()).toEqual([id]);
  expect(await real.read(id, null)).not.toBeNull();
  await restart();
  expect(await real.read(id, null)).toBeNull();
  expect(await marked()).toEqual([]);
});

test("a start empties the folder of uploads", async () => {
  const { real, restart } = await open(() => ({}));
  const half = join(real.workFolder, "uploads", "fil_half");
  await Bun.write(half, "half of it");
  await restart();
  expect(await Bun.file(half).exists()).toBe(false);
});

test("a defect is not reported as a full disk", async () => {
  const { store } = await open(() => ({
    put: () => Promise.reject(new TypeError("a defect")),
  }));
  await expect(store()).rejects.toThrow(TypeError);
});

test("a start removes no bytes of a file, whatever damage the list of removals has", async () => {
  const { service, store, real, restart } = await open(() => ({}));
  const { id } = await store();
  await service.database.transactLong("test", async (tx) => {
    for (const marked of [id, "1795341080620"]) await tx.run("INSERT INTO _file_remains (id) VALUES (?)", marked);
  });
  await restart();
  expect(await real.read(id, null)).not.toBeNull();
});
