/**
 * Drill: a fault and the way out, played as an operator plays them: the commands, their output, and the time. A drill writes the transcript to the terminal, and
 * with `DRILLS_WRITE=1` into docs/drills.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestInstance } from "../cluster-kit.ts";
import { patience, root } from "../kit.ts";
import { type Finished, runCommand } from "../service-process.ts";

/** A version with the commit of the source in a column of a table. */
const inTable = /(\d+\.\d+\.\d+)(\+[\w.]+)(?= {2})/g;

/** The place in which a command runs. */
export type Place = Pick<TestInstance, "folder" | "env">;

/** Parts of the output that differ from run to run. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/(\d+\.\d+\.\d+)\+[\w.]+/g, "$1"],
  [/snapshot-0*(\d+)-[\w-]+\.tar\.zst/g, "snapshot-$1.tar.zst"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "2026-11-30T09:00:00.000Z"],
  [/before-rejoin-[\dTZ.-]+/g, "before-rejoin-20261130T090000"],
  [/s3:\/\/[\w-]+\/[\w-]+/g, "s3://bucket/shop"],
  [/test-\d+/g, "shop"],
];

export class Drill {
  readonly #name: string;
  readonly #lines: string[] = [];
  readonly #names: (readonly [text: string, name: string])[] = [];
  readonly #start = performance.now();

  /** @param name of the place in docs/drills.md. The addresses in the transcript are as long as the addresses of tests, so that tables stay tables. */
  constructor(name: string, instances: readonly Pick<TestInstance, "url" | "folder">[] = []) {
    this.#name = name;
    for (const [i, { url, folder }] of instances.entries()) {
      this.#names.push([url, `http://10.0.10.1${i + 1}:8080`], [folder, "/srv/shop"]);
    }
  }

  /** From now on, a text of the output has a name in the transcript. */
  rename(text: string, name: string): void {
    this.#names.push([text, name]);
  }

  #write(text: string): void {
    let shown = text;
    for (const [given, name] of this.#names) shown = shown.replaceAll(given, name);
    shown = shown.replace(inTable, (_, version: string, commit: string) => version + " ".repeat(commit.length));
    for (const [pattern, name] of varying) shown = shown.replaceAll(pattern, name);
    this.#lines.push(shown);
    console.log(shown);
  }

  /** Tells what happens, or what the operator does. */
  say(text: string): void {
    this.#write(`# ${text}`);
  }

  /** Runs a command, and shows the command with its output. @param how the program, and arguments before the command. */
  async run(
    { folder, env }: Place,
    args: readonly string[],
    { program, before = [] }: { program?: string; before?: readonly string[] } = {},
  ): Promise<Finished> {
    const done = await runCommand([...before, ...args], {
      cwd: folder,
      env: { ...env },
      ...(program !== undefined && { executable: program }),
    });
    this.#write(`$ socle ${args.join(" ")}\n${done.stdout}${done.stderr}`.trimEnd());
    if (done.code !== 0) this.#write(`(exit code ${done.code})`);
    return done;
  }

  /** Shows a line of a log. @throws Error if no line matches. */
  log(output: string, pattern: RegExp): void {
    const line = output.split("\n").find((each) => pattern.test(each));
    if (line === undefined) throw new Error(`No line of the log matches ${pattern}:\n${output.slice(-3_000)}`);
    this.#write(line.replace(/^\S+ /, ""));
  }

  /** Waits for a condition, and tells the time. */
  async wait(text: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const start = performance.now();
    while (!(await condition())) {
      if (performance.now() - start > patience) throw new Error(`Waited too long: ${text}`);
      await Bun.sleep(20);
    }
    this.#write(`# ${text}: after ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  }

  /** Ends the drill. */
  end(): void {
    this.#write(`# The drill took ${((performance.now() - this.#start) / 60_000).toFixed(1)} minutes.`);
    if (process.env["DRILLS_WRITE"] !== "1") return;
    const page = join(root, "docs/drills.md");
    const [start, stop] = [`<!-- ${this.#name}: start -->`, `<!-- ${this.#name}: end -->`];
    const text = readFileSync(page, "utf8");
    const [before = "", rest] = text.split(start);
    const after = rest?.split(stop)[1];
    if (after === undefined) throw new Error(`${page} has no place for ${this.#name}`);
    writeFileSync(page, `${before}${start}\n\n\`\`\`text\n${this.#lines.join("\n")}\n\`\`\`\n\n${stop}${after}`);
  }
}

/** The status of the answer of `/health/ready`; 0 without an answer. */
export async function readyAt({ url }: Pick<TestInstance, "url">): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  return { status: answer?.status ?? 0, text: (await answer?.text()) ?? "" };
}
