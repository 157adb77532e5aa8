/** Disk faults under load that need no tracer: a full disk, a read-only disk, a folder that goes away. */
import { cpSync, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { executable, type Running, serve, socle, temporaryFolder } from "../kit.ts";
import { Live, loadProject } from "./disks-live.ts";
import { adminOf } from "./disks-load.ts";
import { smallDisk } from "./disks-small.ts";
import { Tally } from "./disks-tally.ts";
import { password } from "./kills-caller.ts";

type Random = () => number;

const megabytes = 96;

/** A project on a small disk, and the way to start a service on the disk. */
async function onSmallDisk() {
  const disk = await smallDisk(megabytes);
  cpSync(await loadProject(), disk.outside, { recursive: true });
  const [nsenter = "", ...args] = disk.command([executable, "--config", join(disk.inside, "config.json")]);
  return { disk, start: () => serve("/", { executable: nsenter, args }) };
}

/** The disk is full, again and again, and room comes back: the service goes on without a restart. */
export async function fullDisk(random: Random, rounds: number): Promise<Tally> {
  const tally = new Tally();
  const { disk, start } = await onSmallDisk();
  const live = await Live.of(start, { name: "full", tally, random });
  for (let round = 0; round < rounds; round++) {
    await live.acknowledges();
    // Sometimes a little is left: the room ends in the middle of something.
    disk.fill(round % 2 === 0 ? 0 : Math.floor(random() * 100_000));
    await live.refuses();
    await live.until("it tells that it is not ready", async () => (await live.ready()) === 503);
    disk.makeRoom();
    await live.acknowledges();
    await live.until("it is ready again", async () => (await live.ready()) === 200);
    tally.count();
  }
  await live.finish(disk.outside);
  await disk.close();
  return tally;
}

const largeFile = 9 * 1024 ** 2;

/** On a full disk an admin signs in and deletes: files make room, and so everybody's changes are taken again. */
export async function makingRoom(random: Random, rounds: number): Promise<Tally> {
  const tally = new Tally();
  const { disk, start } = await onSmallDisk();
  const live = await Live.of(start, { name: "making room", tally, random });
  const admin = await adminOf(() => live.server.url);
  for (let round = 0; round < rounds; round++) {
    await live.until("room is reserved", () => existsSync(join(disk.outside, "socle.db-reserve")));
    const files: string[] = [];
    for (let n = 0; n < 4; n++) files.push((await admin.upload(new Uint8Array(largeFile))).body.id);
    const { body: record } = await admin.ask<{ id: string }>("POST", "/api/items", { n: -1 - round });
    disk.fill();
    await live.refuses(50);
    const status = async (method: string, path: string, body?: object): Promise<number> =>
      (await admin.ask(method, path, body)).status;
    // The load may take the space that a deletion needs, until the reserve is used; from then on the load gets no space.
    const done = [
      await status("POST", "/api/auth/login", { email: "admin@example.com", password }),
      await status("DELETE", `/api/items/${record.id}`),
      ...(await Promise.all(files.map((id) => status("DELETE", `/api/storage/${id}`)))),
    ];
    if (done.join() !== "200,204,204,204,204,204") live.problem(`an admin's deletions were ${done.join()}`);
    await live.acknowledges();
    disk.makeRoom();
    tally.count();
  }
  await live.finish(disk.outside);
  await disk.close();
  return tally;
}

/** A start on a read-only disk is refused with one line. A disk that turns read-only at runtime, for newly opened files, loses nothing. */
export async function readOnlyDisk(random: Random, rounds: number): Promise<Tally> {
  const tally = new Tally();
  const { disk, start } = await onSmallDisk();
  const live = await Live.of(start, { name: "read-only", tally, random });
  const aside = temporaryFolder();
  for (let round = 0; round < rounds; round++) {
    await live.acknowledges();
    // Read-only elsewhere first: a file that the service opens in between would keep the mount busy.
    disk.run(
      `mount --bind "${disk.inside}" "${aside}" && mount -o remount,bind,ro "${aside}" && mount --move "${aside}" "${disk.inside}"`,
    );
    await Bun.sleep(random() * 200);
    disk.run(`umount -l "${disk.inside}"`);
    await live.acknowledges();
    tally.count();
  }
  await live.finish(disk.outside);
  disk.run(`mount -o remount,ro "${disk.inside}"`);
  const refused = await start().then(
    (server: Running) => server.stop().then(() => "it started on a read-only disk"),
    (error: unknown) => (/exit code 2[\s\S]*\nsocle: [^\n]*read-only\n?$/.test(String(error)) ? null : String(error)),
  );
  if (refused !== null) tally.problem(refused);
  tally.count();
  await disk.close();
  return tally;
}

function holdsFiles(cwd: string): boolean {
  const storage = join(cwd, "storage");
  return (
    existsSync(storage) && readdirSync(storage, { recursive: true }).some((name) => String(name).includes("/fil_"))
  );
}

async function starts(cwd: string): Promise<boolean> {
  const server = await serve(cwd).catch(() => null);
  await server?.stop();
  return server !== null;
}

const allWays = [
  "the folder moved away",
  "the folder deleted",
  "the database deleted",
  "the database replaced",
] as const;
type Way = (typeof allWays)[number];

/** The data go away under the service. The service notices, refuses and ends; after the notice, no write is acknowledged. */
export async function missingData(random: Random, rounds: number, ways: readonly Way[] = allWays): Promise<Tally> {
  const tally = new Tally();
  for (let round = 0; round < rounds; round++) {
    const way = ways[round % ways.length];
    const cwd = await loadProject();
    const live = await Live.of(() => serve(cwd), { name: way ?? "", tally, random });
    await live.acknowledges();
    const database = join(cwd, "socle.db");
    const aside = join(temporaryFolder(), "aside");
    if (way === "the folder moved away") renameSync(cwd, aside);
    if (way === "the folder deleted") rmSync(cwd, { recursive: true });
    if (way === "the database deleted") rmSync(database);
    if (way === "the database replaced") {
      cpSync(database, `${database}-copy`);
      renameSync(`${database}-copy`, database);
    }
    await live.ended(/was deleted or replaced while it was open/);
    await live.load.stop();
    for (const problem of live.load.problems) live.problem(problem);
    if (way === "the folder moved away") {
      // Writes that were acknowledged before the service noticed went into the folder, wherever that was.
      rmSync(cwd, { recursive: true, force: true });
      renameSync(aside, cwd);
      await live.restart();
      await live.finish(cwd);
    }
    if (way === "the database deleted" && holdsFiles(cwd)) {
      rmSync(`${database}-wal`, { force: true });
      const { code, stderr } = await socle(["verify"], { cwd });
      if (code === 0) live.problem(`socle verify finds nothing: ${stderr}`);
      if (await starts(cwd)) live.problem("a new database was made beside the files of the old one");
    }
    tally.count();
  }
  return tally;
}
