/** Conformance suite of storage drivers; each driver's test runs the suite. */
import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileBody, StorageDriver } from "../src/files/storage/index.ts";

async function bytesOf(body: FileBody | null): Promise<Uint8Array> {
  if (body === null) throw new Error("There are no bytes");
  return new Response(body).bytes();
}

export function driverSuite(name: string, open: () => Promise<StorageDriver>): void {
  let files = 0;

  async function openWith(content: Uint8Array): Promise<{ driver: StorageDriver; id: string }> {
    const driver = await open();
    await driver.open();
    files += 1;
    const id = `fil_suite-${crypto.randomUUID()}`;
    const path = join(driver.workFolder, `upload-${files}`);
    await mkdir(driver.workFolder, { recursive: true });
    await Bun.write(path, content);
    await driver.put(id, path);
    expect(await Bun.file(path).exists()).toBe(false);
    return { driver, id };
  }

  const random = crypto.getRandomValues(new Uint8Array(60_000));

  test(`${name}: put bytes are read back, whole and in parts`, async () => {
    const { driver, id } = await openWith(random);
    expect(await bytesOf(await driver.read(id, null))).toEqual(random);
    for (const [start, end] of [
      [0, 1],
      [59_999, 60_000],
      [10, 50_000],
      [0, 60_000],
    ] as const)
      expect(await bytesOf(await driver.read(id, { start, end }))).toEqual(random.subarray(start, end));
  });

  test(`${name}: ten MiB, and nothing at all`, async () => {
    const large = Buffer.alloc(10 * 1024 * 1024, "0123456789");
    const { driver, id } = await openWith(large);
    expect(Bun.SHA256.hash(await bytesOf(await driver.read(id, null)), "hex")).toBe(Bun.SHA256.hash(large, "hex"));
    const empty = await openWith(new Uint8Array());
    expect(await bytesOf(await empty.driver.read(empty.id, null))).toHaveLength(0);
  });

  test(`${name}: a removal removes its object, and no other`, async () => {
    const first = await openWith(random);
    const second = await openWith(random.subarray(5));
    await first.driver.remove(first.id);
    expect(await first.driver.read(first.id, null)).toBeNull();
    await first.driver.remove(first.id);
    expect(await bytesOf(await second.driver.read(second.id, null))).toEqual(random.subarray(5));
  });

  test(`${name}: twenty at a time`, async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => openWith(Buffer.alloc(100_000, `${n}`))));
    for (const [n, { driver, id }] of all.entries())
      expect(await bytesOf(await driver.read(id, null))).toEqual(new Uint8Array(Buffer.alloc(100_000, `${n}`)));
  });

  test(`${name}: an id without bytes, and an unknown upload`, async () => {
    const { driver } = await openWith(random);
    expect(await driver.read("fil_nothing", null)).toBeNull();
    await expect(driver.put("fil_lost", join(driver.workFolder, "lost"))).rejects.toThrow();
    expect(await driver.read("fil_lost", null)).toBeNull();
  });

  test(`${name}: sizes, and all ids`, async () => {
    const { driver, id } = await openWith(random);
    const empty = await openWith(new Uint8Array());
    const gone = await openWith(random);
    await gone.driver.remove(gone.id);
    expect(await driver.size(id)).toBe(60_000);
    expect(await driver.size(empty.id)).toBe(0);
    expect(await driver.size(gone.id)).toBeNull();
    const ids: string[] = [];
    for await (const each of driver.list()) ids.push(each);
    expect(ids).toContain(id);
    expect(ids).toContain(empty.id);
    expect(ids).not.toContain(gone.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const each of ids) expect(each).toStartWith("fil_suite-");
  });
}
