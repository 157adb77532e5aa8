/** Drills of a single service: the disk is full, and the machine is lost. */
// Promises: W3.
import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { executable, post, project, type Running, serve, singleService, temporaryFolder } from "../kit.ts";
import { smallDisk } from "../reliability/disks-small.ts";
import { Drill, readyAt } from "./drill.ts";

singleService("faults");

const open = { read: "public", create: "public" };
const posts = { name: "posts", fields: [{ name: "text", type: "text" }], permissions: open };

/** Creates a record; answers the status. */
async function create({ url }: Running, text: string): Promise<number> {
  return (await post(`${url}/api/posts`, { text })).status;
}

async function countOf({ url }: Running): Promise<number> {
  const { total } = (await (await fetch(`${url}/api/posts?limit=1&count=exact`)).json()) as { total: number };
  return total;
}

test("the disk is full", async () => {
  const disk = await smallDisk(96);
  cpSync(await project({ collections: [posts] }), disk.outside, { recursive: true });
  const config = ["--config", join(disk.inside, "config.json")];
  const [nsenter = "", ...args] = disk.command([executable, ...config]);
  const service = await serve("/", { executable: nsenter, args });
  const drill = new Drill("disk full");
  drill.rename(` ${config.join(" ")}`, "");
  drill.rename(disk.inside, "/srv/shop");
  const at = { folder: "/", env: {} };
  const [, ...inside] = disk.command([executable]);
  const run = (...command: string[]) => drill.run(at, [...command, ...config], { program: nsenter, before: inside });
  expect(await create(service, "before")).toBe(201);
  disk.fill();
  drill.say("The disk fills up.");
  let acknowledged = 1;
  await drill.wait("Writes are refused", async () => {
    const code = await create(service, "x".repeat(10_000));
    if (code === 201) acknowledged += 1;
    return code === 503;
  });
  await drill.wait("The service is not ready", async () => (await readyAt(service)).status === 503);
  expect((await run("status")).code).toBe(1);
  expect((await fetch(`${service.url}/api/posts?limit=1`)).status).toBe(200);
  drill.say("Reads go on. The operator makes room.");
  disk.makeRoom();
  await drill.wait("Writes are taken again", async () => {
    const code = await create(service, "after");
    if (code === 201) acknowledged += 1;
    return code === 201;
  });
  await drill.wait("The service is ready", async () => (await readyAt(service)).status === 200);
  expect(await countOf(service)).toBe(acknowledged);
  drill.say("Compared: every acknowledged record is there, once.");
  expect(await service.stop()).toBe(0);
  drill.end();
  await disk.close();
}, 300_000);

test("the machine is lost: a restore on an empty machine", async () => {
  const folder = await project({ collections: [posts] });
  const service = await serve(folder);
  const drill = new Drill("empty machine", [{ url: service.url, folder }]);
  for (let n = 0; n < 200; n++) expect(await create(service, `record ${n}`)).toBe(201);
  const backup = join(temporaryFolder(), "monday.tar.zst");
  drill.rename(backup, "/mnt/backups/monday.tar.zst");
  expect((await drill.run({ folder, env: {} }, ["backup", backup])).code).toBe(0);
  service.signal("SIGKILL");
  await service.exited;
  drill.say("The machine is lost, with its disk. On an empty machine, with the project folder:");
  const empty = await project({ collections: [posts] });
  drill.rename(empty, "/srv/shop");
  expect((await drill.run({ folder: empty, env: {} }, ["restore", backup])).code).toBe(0);
  expect((await drill.run({ folder: empty, env: {} }, ["verify"])).code).toBe(0);
  const again = await serve(empty);
  expect(await countOf(again)).toBe(200);
  expect(await create(again, "after")).toBe(201);
  drill.say("Compared: all records of the backup are there, and the service takes writes.");
  expect(await again.stop()).toBe(0);
  drill.end();
}, 300_000);
