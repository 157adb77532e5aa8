/**
 * Crash points: the modules of the service, without the network, killed at a random moment thousands of times: during the first
 * opening of a folder, during the recovery from the last kill, and during writes. Each kill costs a tenth of a second.
 */
import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { project } from "../kit.ts";
import { KnownRecords, type StoredItem } from "./kills-model.ts";

const collections = [
  {
    name: "items",
    fields: [
      { name: "n", type: "integer", required: true, unique: true },
      { name: "version", type: "integer", required: true },
      { name: "text", type: "text" },
    ],
  },
];
/** After so many kills another folder is begun, so that the first start is killed, too. */
const perFolder = 40;
/** From the start of the process, and from the first write on. */
const longestStartMs = 130;
const longestWorkMs = 70;
/** A process that tells nothing for so long is stuck. */
const stuckMs = 30_000;

export interface Points {
  kills: number;
  /** Kills before the process had printed the stored state. */
  early: number;
  acknowledged: number;
  folders: number;
  readonly problems: string[];
}

interface Found {
  readonly stored: StoredItem[];
  readonly problems: string[];
}

class Folder {
  readonly #cwd: string;
  readonly #random: () => number;
  readonly #points: Points;
  readonly #known = new KnownRecords();
  #n = 1;

  constructor(cwd: string, random: () => number, points: Points) {
    this.#cwd = cwd;
    this.#random = random;
    this.#points = points;
  }

  /** @param isLast the process prints the stored state before the kill, and the whole database is checked. */
  async kill(isLast: boolean): Promise<void> {
    const seed = Math.floor(this.#random() * 2 ** 31);
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, "kills-point.ts"), this.#cwd, String(seed), String(this.#n)],
      { stdin: "ignore", stdout: "pipe", stderr: "pipe", env: { PATH: process.env["PATH"] ?? "" } },
    );
    const stuck = setTimeout(() => child.kill("SIGKILL"), stuckMs);
    const isEarly = !isLast && this.#random() < 0.3;
    if (isEarly) setTimeout(() => child.kill("SIGKILL"), this.#random() * longestStartMs);
    const delay = this.#random() * longestWorkMs;
    let hasTold = false;
    const said = new Response(child.stderr).text();
    for await (const line of linesOf(child.stdout)) {
      if (line.startsWith("{")) {
        hasTold = true;
        this.#compare(JSON.parse(line) as Found);
        if (!isEarly) setTimeout(() => child.kill("SIGKILL"), delay);
      } else {
        this.#follow(line);
      }
    }
    await child.exited;
    clearTimeout(stuck);
    if (child.signalCode !== "SIGKILL") this.#points.problems.push(`A process ended by itself: ${await said}`);
    else if ((await said) !== "") this.#points.problems.push(await said);
    if (!hasTold && !isEarly) this.#points.problems.push("A process did not start");
    this.#points.kills += 1;
    if (!hasTold) this.#points.early += 1;
    if (isLast) this.#checkWhole();
  }

  #compare({ stored, problems }: Found): void {
    this.#points.problems.push(...problems, ...this.#known.compare(stored));
  }

  #follow(line: string): void {
    const [word = "", n = "", version = ""] = line.split(" ");
    this.#n = Math.max(this.#n, Number(n) + 1);
    const known = word === "c" ? this.#known.create(Number(n)) : this.#known.all.get(Number(n));
    if (known === undefined) {
      this.#points.problems.push(`A record that nobody knows: ${line}`);
      return;
    }
    if (word === "u") known.tried = Number(version);
    else if (word === "d") known.deletion = "tried";
    else if (word !== "c") this.#points.acknowledged += 1;
    if (word === "C") known.acknowledged = 1;
    else if (word === "U") known.acknowledged = Number(version);
    else if (word === "D") known.deletion = "acknowledged";
  }

  #checkWhole(): void {
    using database = new Database(join(this.#cwd, "socle.db"));
    const found = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get()?.integrity_check;
    if (found !== "ok") this.#points.problems.push(`integrity_check: ${found}`);
  }
}

/** The lines that were told whole. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** @param onKill is called with the number of kills so far. */
export async function killAtPoints(
  kills: number,
  random: () => number,
  onKill = (_kills: number): void => undefined,
): Promise<Points> {
  const points: Points = { kills: 0, early: 0, acknowledged: 0, folders: 0, problems: [] };
  const worker = async (): Promise<void> => {
    while (points.kills < kills && points.problems.length === 0) {
      const cwd = await project({ collections });
      const folder = new Folder(cwd, random, points);
      points.folders += 1;
      for (let n = 1; n <= perFolder && points.problems.length === 0; n++) {
        const isLast = n === perFolder || points.kills + 1 >= kills;
        await folder.kill(isLast);
        onKill(points.kills);
        if (isLast) break;
      }
      if (points.problems.length === 0) rmSync(cwd, { recursive: true });
    }
  };
  await Promise.all([worker(), worker()]);
  return points;
}
