/**
 * A service with a disk that fails under load: started, hurt, perhaps started again, and compared with the acknowledged
 * writes.
 */
import { Database } from "bun:sqlite";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseEventId } from "../../packages/server/src/store/events/event-table.ts";
import { project, type Running, temporaryFolder } from "../kit.ts";
import { write } from "../scripts-kit.ts";
import { adminOf, Load, loadCollections, loadFiles } from "./disks-load.ts";
import { verified } from "./disks-look.ts";
import { halves } from "./disks-state.ts";
import type { Tally } from "./disks-tally.ts";

const config = {
  admin: { email: "admin@example.com" },
  auth: { accessTokenTtl: "12h", jwtSecret: "a secret of thirty-two characters, or more" },
  limits: { diskFree: "64KiB", wal: "8MiB" },
};

/** A folder with all that the load needs. */
export async function loadProject(): Promise<string> {
  const folder = await project({ collections: loadCollections, config });
  await write(folder, loadFiles);
  return folder;
}

/** Lines that a crash or an uncaught error leaves. */
const crash = /FATAL|panic|Segmentation|uncaught|unhandled|TypeError|ReferenceError/i;

export class Live<T extends Running = Running> {
  readonly load: Load;
  readonly #start: () => Promise<T>;
  readonly #name: string;
  readonly #tally: Tally;
  #server: T;

  private constructor(options: { server: T; load: Load; start: () => Promise<T>; name: string; tally: Tally }) {
    this.#server = options.server;
    this.load = options.load;
    this.#start = options.start;
    this.#name = options.name;
    this.#tally = options.tally;
  }

  static async of<T extends Running>(
    start: () => Promise<T>,
    { name, tally, random }: { name: string; tally: Tally; random: () => number },
  ): Promise<Live<T>> {
    const server = await start();
    let live: Live<T> | null = null;
    const admin = await adminOf(() => (live === null ? server : live.server).url);
    live = new Live({ server, load: new Load(admin, random), start, name, tally });
    await live.load.start();
    return live;
  }

  get server(): T {
    return this.#server;
  }

  problem(text: string): void {
    this.#tally.problem(`${this.#name}: ${text}\n${this.#server.output().slice(-2_000)}`);
  }

  /** Waits until a condition holds; a case that waits too long has failed. */
  async until(what: string, holds: () => boolean | Promise<boolean>, milliseconds = 20_000): Promise<boolean> {
    const end = performance.now() + milliseconds;
    while (!(await holds())) {
      if (performance.now() > end) {
        this.problem(`waited too long until ${what}`);
        return false;
      }
      await Bun.sleep(5);
    }
    return true;
  }

  async ready(): Promise<number> {
    return (await fetch(`${this.#server.url}/health/ready`).catch(() => null))?.status ?? 0;
  }

  /** More of the load's requests are acknowledged. */
  async acknowledges(count = 20): Promise<void> {
    const wanted = this.load.acknowledged + count;
    await this.until("requests are acknowledged", () => this.load.acknowledged >= wanted);
  }

  async refuses(count = 5): Promise<void> {
    const wanted = this.load.refused + count;
    await this.until("requests are refused", () => this.load.refused >= wanted);
  }

  /** The exit code, after the end of the service; undefined while the service runs. */
  async exitCode(): Promise<number | null | undefined> {
    return Promise.race([this.#server.exited, Bun.sleep(0).then(() => undefined)]);
  }

  /** Asserts that the service ended without a kill, with a reason in the log and without a crash. */
  async ended(reason: RegExp): Promise<void> {
    let code: number | null | undefined;
    const hasEnded = await this.until("the service ends", async () => {
      code = await this.exitCode();
      return code !== undefined;
    });
    if (!hasEnded) return;
    if (code !== 1) this.problem(`it ended with ${code}`);
    if (!reason.test(this.#server.output())) this.problem("its log does not tell why it has ended");
    this.#noCrash();
  }

  async restart(): Promise<void> {
    await this.load.stop();
    this.#server = await this.#start();
    await this.load.start();
  }

  #noCrash(): void {
    const [word] = crash.exec(this.#server.output()) ?? [];
    if (word !== undefined) this.problem(`the log has "${word}"`);
  }

  /** Compares, with the service that runs. */
  async check(): Promise<void> {
    for (const problem of await this.load.check()) this.problem(problem);
  }

  /**
   * Stops everything, and compares once more after another start. @param folder the data for the last look.
   */
  async finish(folder: string): Promise<void> {
    await this.load.stop();
    await this.check();
    const code = await this.#server.stop();
    if (code !== 0) this.problem(`it was stopped, and ended with ${code}`);
    this.#noCrash();
    this.#server = await this.#start();
    await this.check();
    await this.#server.stop();
    // A copy: SQLite may be unable to follow the path on this disk.
    const copy = join(temporaryFolder(), "data");
    mkdirSync(copy);
    cpSync(folder, copy, { recursive: true, filter: (path) => !/socle\.db-control|ballast/.test(path) });
    for (const line of [...(await verified(copy)), ...halves(copy, ["items"]), ...this.#unheard(copy)])
      this.problem(line);
  }

  /** Events that a client was told of must be in the log, and come in the log's order. */
  #unheard(folder: string): string[] {
    const database = new Database(join(folder, "socle.db"), { readonly: true });
    const rows = database.query<{ seq: number }, []>("SELECT seq FROM _events").all();
    database.close();
    const places = new Set(rows.map(({ seq }) => seq));
    return this.load.heard().flatMap((ids) => {
      const sorted = ids.toSorted();
      if (new Set(ids).size !== ids.length) return ["a client has heard an event twice"];
      if (ids.some((id, i) => id !== sorted[i]))
        return ["a client has heard events in another order than that of the log"];
      const unknown = ids.filter((id) => !places.has(parseEventId(id)?.seq ?? 0));
      return unknown.map((id) => `a client has heard of ${id}, which is not in the log`);
    });
  }
}
