/** Kit of the end-to-end tests: the built executable, started as by a user. */
import { afterAll } from "bun:test";
import { closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { built, isolatedExecutable } from "../scripts/isolated.ts";

export const root = join(import.meta.dir, "..");
if (!existsSync(built)) throw new Error(`${built} is missing: run npm run build first (npm test does)`);
const isolated = isolatedExecutable();
// This module is loaded once for all files of a run.
process.on("exit", isolated.remove);
/**
 * The executable that every test runs, without source and `node_modules` beside the file. `SOCLE_EXECUTABLE` names
 * another executable, for example a release.
 */
export const executable = process.env["SOCLE_EXECUTABLE"] ?? isolated.path;

/** Whether the test has the long form, with more rounds than show the promise: `npm run test:long`. */
export const isLong = process.env["SOCLE_LONG"] !== undefined;

/** A folder that is removed after the file's tests. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "socle-e2e-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Copies an example, without the files that a service or a command has left there: the socket of a running service cannot
 * be copied.
 */
export function copyExample(name: "blog" | "chat" | "tracker" | "shop", to: string): void {
  const from = join(root, "examples", name);
  const left = ["data", "node_modules", ".socle"].map((folder) => join(from, folder));
  cpSync(from, to, { recursive: true, filter: (path) => !left.includes(path) });
}

/** A project: definitions as files, and a configuration with a free port. */
export async function project(options: { collections?: readonly object[]; config?: object } = {}): Promise<string> {
  const folder = temporaryFolder();
  await mkdir(join(folder, "collections"));
  for (const definition of options.collections ?? [])
    await Bun.write(join(folder, "collections", `${Reflect.get(definition, "name")}.json`), JSON.stringify(definition));
  await Bun.write(join(folder, "config.json"), JSON.stringify({ port: 0, ...options.config }));
  return folder;
}

/** A project of the files that a page prints: blocks of code, also in lists, with the first line `// path`. */
export async function printedProject(page: string): Promise<{ cwd: string; paths: string[] }> {
  const printed = await Bun.file(join(root, "docs", page)).text();
  const cwd = await project();
  const paths: string[] = [];
  for (const [, indent = "", path = "", code = ""] of printed.matchAll(
    /^( *)```(?:json|ts)\n *\/\/ (\S+\.\w+)\n([\s\S]*?)^ *```/gm,
  )) {
    // With the line that names the file, as the page prints the file.
    const text = `// ${path}\n${code.replaceAll(new RegExp(`^${indent}`, "gm"), "")}`;
    const content = path === "config.json" ? text.replace("{", '{ "port": 0,') : text;
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await Bun.write(join(cwd, path), content);
    paths.push(path);
  }
  return { cwd, paths };
}

/** Only the variables of a user's machine: no variable of the test run decides anything. */
function environment(more: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...more };
}

/** The processes of each service of the tests, if `SOCLE_TEST_PROCESSES` says so. A test that names a number has that number. */
const testedProcesses: Record<string, string> =
  process.env["SOCLE_TEST_PROCESSES"] === undefined ? {} : { SERVICE_PROCESSES: process.env["SOCLE_TEST_PROCESSES"] };

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command of the executable to its end. */
export async function socle(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; stdin?: string; executable?: string } = {},
): Promise<Finished> {
  const child = Bun.spawn([options.executable ?? executable, ...args], {
    cwd: options.cwd ?? temporaryFolder(),
    env: environment(options.env),
    stdin: new Blob([options.stdin ?? ""]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

export interface Running {
  readonly url: string;
  readonly pid: number;
  /** The output so far. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** The exit code of the service; null after a signal. */
  readonly exited: Promise<number | null>;
  stop(): Promise<number | null>;
}

export interface ServeOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly executable?: string;
  /** A file for the output. The service outlives the test that starts the service then, and the caller ends the service. */
  readonly log?: string;
}

/** Starts the service in a folder and waits until the service listens. The service is stopped after the file's tests, or the test. */
export async function serve(cwd: string, options: ServeOptions = {}): Promise<Running> {
  const log = options.log ?? join(temporaryFolder(), "output");
  // Both streams append: with separate positions, each stream would overwrite the other's bytes.
  const sink = openSync(log, "a");
  const child = Bun.spawn([options.executable ?? executable, ...(options.args ?? [])], {
    cwd,
    env: environment({ ...testedProcesses, ...options.env }),
    stdin: "ignore",
    stdout: sink,
    stderr: sink,
  });
  closeSync(sink);
  const output = (): string => (existsSync(log) ? readFileSync(log, "utf8") : "");
  const exited = child.exited.then(() => child.exitCode);
  if (options.log === undefined) afterAll(() => child.kill("SIGKILL"));
  let url: string | undefined;
  while (url === undefined) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`did not start (exit code ${child.exitCode}, signal ${child.signalCode}):\n${output()}`);
    await Bun.sleep(5);
    url = /Listening on ([^\s"]+)[\n"]/.exec(output())?.[1];
  }
  return {
    url,
    pid: child.pid,
    output,
    signal: (name) => child.kill(name),
    exited,
    stop() {
      child.kill("SIGTERM");
      return exited;
    },
  };
}

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Runs `work` for every item, at most `width` at a time. */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  await server.stop(true);
  return port;
}

/** Milliseconds after which a test gives up waiting. A busy machine is slow: only a condition that never comes takes so long. */
export const patience = 120_000;

/** Waits for a condition; a test that waits too long fails. */
export async function until(condition: () => boolean, milliseconds = patience): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!condition()) {
    if (performance.now() > end) throw new Error("Waited too long");
    await Bun.sleep(2);
  }
}

function residentMiB({ pid }: Running): number {
  return Number(Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]).stdout.toString()) / 1_024;
}

/** The most that was resident while `work` ran. */
export async function peakMiB(server: Running, work: () => Promise<void> = async () => undefined): Promise<number> {
  let peak = residentMiB(server);
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMiB(server));
  }, 20);
  await work();
  clearInterval(timer);
  return peak;
}
