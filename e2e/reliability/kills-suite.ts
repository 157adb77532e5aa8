/**
 * The kills: a service under mixed load, or the processes, is killed again and again at random moments; after each kill the
 * suite checks that all acknowledged data are stored. The long form is `npm run test:kills`, the short form is a test.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { executable, project, type Running, serve, socle } from "../kit.ts";
import { waiting, write } from "../scripts-kit.ts";
import { Caller } from "./kills-caller.ts";
import { check } from "./kills-check.ts";
import { channels, Listener } from "./kills-listeners.ts";
import { collections, files, Load } from "./kills-load.ts";
import { FollowedLog, type LoggedEvent } from "./kills-log.ts";
import { Knowledge } from "./kills-model.ts";
import { childrenOf, kill, remaining, type Word } from "./kills-processes.ts";
import { type Cut, checkRuns } from "./kills-runs.ts";

export const kinds = ["service", "service while it starts", "functions", "queries", "readers", "all at once"] as const;
type Kind = (typeof kinds)[number];

export interface Outcome {
  /** Processes that were killed, by kind. */
  readonly kills: Readonly<Record<Kind, number>>;
  readonly known: Knowledge;
  readonly events: number;
  readonly heard: number;
  readonly runs: number;
  readonly repeated: number;
  readonly problems: readonly string[];
}

/** The part of the starts after a kill that is killed, too, and the longest wait before that kill. */
const startKills = 0.3;
const longestStartMs = 400;
/** So many problems say enough. */
const maxProblems = 20;
/** The time for waiting functions at the end. */
const drainMs = 60_000;

const config = {
  admin: { email: "admin@example.com" },
  auth: { accessTokenTtl: "12h" },
  limits: { wal: "8MiB", rate: { register: "off", login: "off" } },
};

/** Whether the service has reader processes. */
const hasReaders = Number(process.env["SOCLE_TEST_PROCESSES"] ?? 1) > 1;
const allWords = ["script-host", "script-query", "reader"] as const;

/** Most kills are of the service, or of the reader processes if the service has any. */
function kindOf(chance: number): Kind {
  if (chance < 0.25 && hasReaders) return "readers";
  if (chance < 0.55) return "service";
  if (chance < 0.75) return "functions";
  return chance < 0.85 ? "queries" : "all at once";
}

/** The processes that a kill of a kind ends, beside the service. */
function wordsOf(kind: Kind): readonly Word[] {
  if (kind === "readers") return ["reader"];
  return [kind === "queries" ? "script-query" : "script-host"];
}

class Suite {
  readonly #cwd: string;
  readonly #random: () => number;
  readonly #known = new Knowledge();
  readonly #log = new FollowedLog();
  readonly #cuts: Cut[] = [];
  readonly #kills: Record<Kind, number> = {
    service: 0,
    "service while it starts": 0,
    functions: 0,
    queries: 0,
    readers: 0,
    "all at once": 0,
  };
  readonly problems: string[] = [];
  #server: Running;
  #admin: Caller;
  #listeners: Listener[] = [];
  #n = 0;

  constructor(cwd: string, server: Running, random: () => number) {
    this.#cwd = cwd;
    this.#server = server;
    this.#random = random;
    this.#admin = new Caller(() => this.#server.url);
  }

  async start(): Promise<void> {
    this.#admin = await this.#admin.as(config.admin.email);
    const { body } = await this.#admin.ask<{ items: LoggedEvent[] }>("GET", "/api/admin/events?limit=1");
    const since = body.items[0]?.id ?? "";
    this.#listeners = channels.map((channel) => new Listener(channel, since));
    await this.#connect();
  }

  async round(): Promise<void> {
    const { url } = this.#server;
    const load = new Load({
      admin: this.#admin,
      known: this.#known,
      random: this.#random,
      nextNumber: () => ++this.#n,
    });
    await Bun.sleep(20 + this.#random() * 230);
    const kind = kindOf(this.#random());
    if (kind === "service" || kind === "all at once") {
      load.expectBreaks();
      await this.#killService(kind);
      await load.stop();
      this.#look();
      while (this.#random() < startKills) await this.#killStart();
      this.#server = await serve(this.#cwd);
      await this.#connect();
    } else {
      // The connections of a reader process break.
      if (kind === "readers") load.expectBreaks();
      await this.#killChildren(kind);
      await Bun.sleep(this.#random() * 150);
      await load.stop();
      if (kind === "readers") await this.#connect();
      if (this.#server.url !== url) this.problems.push("The service is another one");
    }
    this.problems.push(...load.problems);
    const found = await check({ cwd: this.#cwd, known: this.#known, log: this.#log, admin: this.#admin });
    this.problems.push(...found.map((problem) => `after a kill (${kind}): ${problem}`));
    this.problems.push(...this.#listeners.flatMap((listener) => listener.problems.splice(0)));
  }

  async finish(): Promise<Outcome> {
    const end = performance.now() + drainMs;
    while (waiting(this.#cwd) > 0 && performance.now() < end) await Bun.sleep(20);
    this.problems.push(...(await check({ cwd: this.#cwd, known: this.#known, log: this.#log, admin: this.#admin })));
    await this.#checkListeners();
    const { runs, repeated, problems } = checkRuns(this.#cwd, this.#log.all, this.#cuts);
    this.problems.push(...problems);
    this.#checkWhole();
    for (const listener of this.#listeners) listener.close();
    if ((await this.#server.stop()) !== 0) this.problems.push("The service did not stop well");
    this.#look();
    const verified = await socle(["verify"], { cwd: this.#cwd });
    if (verified.code !== 0 || !verified.stdout.endsWith("All is well\n")) this.problems.push(verified.stdout);
    return {
      kills: this.#kills,
      known: this.#known,
      events: this.#log.all.length,
      heard: this.#listeners.reduce((sum, { heard }) => sum + heard.length, 0),
      runs,
      repeated,
      problems: this.problems.slice(0, maxProblems),
    };
  }

  async #connect(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.connect(this.#server.url, this.#admin.token)));
  }

  async #killService(kind: Kind): Promise<void> {
    const children = childrenOf(this.#server.pid, allWords);
    const from = Date.now();
    const all = kind === "service" ? [this.#server.pid] : [...children, this.#server.pid];
    // In any order: the service may or may not see that the others have ended.
    for (const pid of all.sort(() => this.#random() - 0.5)) if (kill(pid)) this.#kills[kind] += 1;
    await this.#server.exited;
    for (const pid of await remaining(children)) this.problems.push(`process ${pid} has outlived its service`);
    this.#cuts.push({ from, until: Date.now() });
  }

  /** Recovery, the sweep of uploads, the loading of functions and the first runs. */
  async #killStart(): Promise<void> {
    const from = Date.now();
    const child = Bun.spawn([executable], { cwd: this.#cwd, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    await Bun.sleep(this.#random() * longestStartMs);
    const children = childrenOf(child.pid, allWords);
    if (kill(child.pid)) this.#kills["service while it starts"] += 1;
    await child.exited;
    if (child.signalCode !== "SIGKILL") this.problems.push(`A start ended by itself (${child.exitCode})`);
    for (const pid of await remaining(children)) this.problems.push(`process ${pid} has outlived its service`);
    this.#cuts.push({ from, until: Date.now() });
  }

  async #killChildren(kind: Kind): Promise<void> {
    const pids = childrenOf(this.#server.pid, wordsOf(kind));
    const from = Date.now();
    for (const pid of pids) if (kill(pid)) this.#kills[kind] += 1;
    await remaining(pids);
    if (kind === "functions") this.#cuts.push({ from, until: Date.now() });
  }

  /** A kill is no error of the service, and must cause no error in the log. */
  #look(): void {
    const errors = this.#server
      .output()
      .split("\n")
      .filter((line) => line.includes(" ERROR "));
    this.problems.push(...errors);
  }

  async #checkListeners(): Promise<void> {
    const ids = new Map(channels.map((channel) => [channel as string, [] as string[]]));
    const deleted = new Map<string, number>();
    this.#log.all.forEach(({ id, type, payload }, at) => {
      ids.get(type)?.push(id);
      ids.get(type.replace(/[^.]*$/, "*"))?.push(id);
      if (type === "items.deleted" || type === "storage.deleted") deleted.set(String(payload["id"]), at);
    });
    // A replay leaves out events of deleted records and files.
    const gone = this.#log.all.filter(
      ({ type, payload }, at) => !type.endsWith(".deleted") && (deleted.get(String(payload["id"])) ?? -1) > at,
    );
    const mayMiss = new Set(gone.map(({ id }) => id));
    for (const listener of this.#listeners) {
      const logged = ids.get(listener.channel) ?? [];
      const end = performance.now() + 10_000;
      while (listener.missed(logged, mayMiss).length > 0 && performance.now() < end) await Bun.sleep(50);
      this.problems.push(...listener.missed(logged, mayMiss), ...listener.problems);
    }
  }

  #checkWhole(): void {
    using database = new Database(join(this.#cwd, "socle.db"), { readonly: true });
    const check = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get()?.integrity_check;
    if (check !== "ok") this.problems.push(`integrity_check: ${check}`);
  }
}

/** @param random decides moments and kinds; @param onRound is told of each round's end. */
export async function suffer(
  rounds: number,
  random: () => number,
  onRound = (_round: number): void => undefined,
): Promise<Outcome> {
  const cwd = await project({ collections, config });
  await write(cwd, files);
  const suite = new Suite(cwd, await serve(cwd), random);
  await suite.start();
  for (let round = 0; round < rounds && suite.problems.length === 0; round++) {
    await suite.round();
    onRound(round + 1);
  }
  return suite.finish();
}
