/**
 * The continuous backup under kills: a service that writes records and files is killed at random moments, and started again on the same folder; after each
 * kill, and at random moments between, the backup is restored in another folder, and compared with a model of the acknowledged writes.
 *
 * CONTINUOUS_KILLS is the number of kills (default 300).
 */
// Promises: R6.
import { Database as Driver } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../../packages/server/test/random.ts";
import { startS3 } from "../../packages/server/test/s3-server.ts";
import { itemProject, leftUntil, prefixIn, signIn, untilLeft, withPlace, withStore } from "../continuous-kit.ts";
import { post, serve, singleService, socle, temporaryFolder } from "../kit.ts";

singleService("faults");
const kills = Number(process.env["CONTINUOUS_KILLS"] ?? 300);
// The restores bring each file from the place, and take longer from kill to kill.
setDefaultTimeout(30_000 * kills);
const seed = randomSeed("continuous kills");
const random = randomNumbers(seed);
/** A whole number from 0 to `n - 1`. */
const below = (n: number): number => Math.floor(random() * n);
const s3 = await startS3();

/** The knowledge of the model of a number: the moments of its request and of its answer, and the same of its deletion. */
interface Write {
  readonly sent: number;
  readonly file: string | null;
  id: string | null;
  acknowledged: number | null;
  removalSent: number | null;
  removed: number | null;
}

class World {
  readonly writes = new Map<number, Write>();
  readonly contents = new Map<string, string>();
  #next = 0;

  /** Writes until the service is gone. */
  async load(url: string, token: string): Promise<void> {
    const worker = async (): Promise<void> => {
      for (;;) await this.#step(url, token);
    };
    await Promise.allSettled([worker(), worker(), worker()]);
  }

  async #step(url: string, token: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}` };
    const removable = [...this.writes.values()].filter(({ id, removalSent }) => id !== null && removalSent === null);
    if (removable.length > 5 && below(4) === 0) {
      const write = removable[below(removable.length)];
      if (write === undefined || write.removalSent !== null) return;
      write.removalSent = Date.now();
      const answer = await fetch(`${url}/api/items/${write.id}`, { method: "DELETE", headers });
      if (answer.status !== 204) throw new Error(`DELETE ${answer.status}`);
      write.removed = Date.now();
      return;
    }
    const file = below(20) === 0 ? await this.#upload(url, headers) : null;
    const n = this.#next++;
    const write: Write = { sent: Date.now(), file, id: null, acknowledged: null, removalSent: null, removed: null };
    this.writes.set(n, write);
    const answer = await post(`${url}/api/items`, { n, file }, headers);
    if (answer.status !== 201) throw new Error(`POST ${answer.status}`);
    write.id = Reflect.get((await answer.json()) as object, "id");
    write.acknowledged = Date.now();
    await Bun.sleep(below(8));
  }

  async #upload(url: string, headers: Record<string, string>): Promise<string> {
    const content = `${below(1_000_000)} `.repeat(1 + below(2_000));
    const form = new FormData();
    form.set("file", new Blob([content]), "file.txt");
    const answer = await fetch(`${url}/api/storage/upload`, { method: "POST", headers, body: form });
    if (answer.status !== 201) throw new Error(`upload ${answer.status}`);
    const id = String(Reflect.get((await answer.json()) as object, "id"));
    this.contents.set(id, content);
    return id;
  }

  /** The moment at which the last write was sent that was acknowledged before a moment; 0 without such a write. */
  lastSent(before: number): number {
    const writes = [...this.writes.values()].filter(
      ({ acknowledged }) => acknowledged !== null && acknowledged < before,
    );
    return Math.max(0, ...writes.map(({ sent }) => sent));
  }

  /**
   * Compares a restored folder with the writes. Answers a line for each difference.
   * @param certain every write that was acknowledged before this moment must be there.
   * @param possible no write that was sent after this moment may be there.
   */
  compare(folder: string, { certain, possible }: { certain: number; possible: number }): string[] {
    const database = new Driver(join(folder, "socle.db"), { readonly: true });
    try {
      const rows = database.query<{ n: number; file: string | null }, []>("SELECT n, file FROM items").all();
      const found = new Map(rows.map(({ n, file }) => [n, file]));
      const wrong: string[] = [];
      for (const [n, { sent, acknowledged, removalSent, removed }] of this.writes) {
        const isThere = found.has(n);
        const must =
          acknowledged !== null && acknowledged < certain && (removalSent === null || removalSent > possible);
        const mustNot = sent > possible || (removed !== null && removed < certain);
        if (must && !isThere) wrong.push(`${n} was acknowledged, and is missing`);
        if (mustNot && isThere) wrong.push(`${n} was removed or not sent yet, and is there`);
      }
      for (const n of found.keys()) if (!this.writes.has(n)) wrong.push(`${n} was never sent`);
      for (const [n, file] of found) {
        if (file === null) continue;
        const path = join(folder, "storage", file.slice(-2), file);
        const content = existsSync(path) ? readFileSync(path, "utf8") : null;
        const expected = this.contents.get(file);
        // The answer of an upload may be lost with the service.
        if (content === null || (expected !== undefined && content !== expected))
          wrong.push(`${n}: the file ${file} differs`);
      }
      expect(database.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
      return wrong;
    } finally {
      database.close();
    }
  }
}

/** Restores and compares, and removes the folder. */
async function check(
  world: World,
  place: string,
  options: { env: Record<string, string>; at?: number; certain: number },
): Promise<void> {
  const { env, at, certain } = options;
  const cwd = await itemProject();
  const args = ["restore", place, ...(at === undefined ? [] : ["--at", new Date(at).toISOString()])];
  const { code, stdout, stderr } = await socle(args, { cwd, env });
  if (code !== 0) throw new Error(stderr);
  const wrong = world.compare(cwd, { certain, possible: at ?? Number.POSITIVE_INFINITY });
  if (wrong.length > 0) {
    const list = await socle(["backup", "list", place], { cwd, env });
    const what = [`${wrong.length} wrong`, ...wrong.slice(0, 10), `certain ${new Date(certain).toISOString()}`];
    throw new Error([...what, args.join(" "), stdout, list.stdout].join("\n"));
  }
  rmSync(cwd, { recursive: true, force: true });
}

for (const kind of ["a folder", "a bucket"])
  test(`${kills / 2} kills of a service with a backup in ${kind}: each restored state has what had left`, async () => {
    const place = kind === "a folder" ? join(temporaryFolder(), "live") : prefixIn(`kills-${seed}`);
    const env = { ...withPlace(place), ...withStore(s3.endpoint) };
    const cwd = await itemProject();
    const world = new World();
    const moments: number[] = [];
    let restores = 0;
    /** The writes that were acknowledged before this moment have left. */
    let certain = 0;
    for (let kill = 0; kill < kills / 2; kill++) {
      const server = await serve(cwd, { env, log: join(temporaryFolder(), "output") });
      const startedAt = Date.now();
      const loading = world.load(server.url, await signIn(server.url));
      await Bun.sleep(below(1_500));
      // At some kills, the gap of the kill before is closed, and moments can be restored from then on.
      const isClosed = below(3) === 0;
      if (isClosed) await untilLeft(server);
      const closedAt = Date.now();
      await Bun.sleep(150 + below(400));
      const left = await leftUntil(server.url);
      // Before, a gap of the kill before may be open.
      if (left > startedAt) certain = left;
      // Before the commit of a write that has left: a commit of the same millisecond may be in a gap.
      const moment = world.lastSent(certain) - 1;
      if (isClosed && moment > closedAt) moments.push(moment);
      await Bun.sleep(below(150));
      if (below(5) === 0) {
        // A stop in order: all has left.
        const stopped = server.stop();
        await loading;
        expect(await stopped).toBe(0);
        if (!server.output().includes("Commits have not left")) {
          certain = Date.now();
          await check(world, place, { env, certain });
          restores += 1;
        }
      } else {
        server.signal("SIGKILL");
        await Promise.all([server.exited, loading]);
        await check(world, place, { env, certain }).catch((thrown: unknown) => {
          // Before the first snapshot, nothing can be restored, and no write has left.
          if (world.lastSent(certain) > 0 || !String(thrown).includes("no snapshot leads to")) throw thrown;
        });
        restores += 1;
      }
      const at = moments[below(moments.length)];
      if (at !== undefined && below(3) === 0) {
        await check(world, place, { env, at, certain: at });
        restores += 1;
      }
    }
    expect(moments.length > 0 || kills < 20).toBe(true);
    const verified = await socle(["verify", place], { env });
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining("All is well")]);
    console.log(
      `${kind}: ${kills / 2} ends, ${restores} restores of ${moments.length} moments and the newest states, ${world.writes.size} writes, ${world.contents.size} files`,
    );
  });
