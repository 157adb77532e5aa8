/** Service process of the end-to-end tests: the built executable as a process, started as by a user. */
import { afterAll } from "bun:test";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export { freePort } from "../packages/server/test/free-port.ts";

import { atEndOfRun } from "../packages/server/test/run-end.ts";
import { built, isolatedExecutable } from "../scripts/isolated.ts";

export const root = join(import.meta.dir, "..");
if (!existsSync(built)) throw new Error(`${built} is missing: run npm run build first (npm test does)`);
const isolated = isolatedExecutable();
// This module is loaded once for all files of a run.
atEndOfRun(`rm -rf '${dirname(isolated.path)}'`);
/**
 * The executable that every test runs, without source and `node_modules` beside the file. `SOCLE_EXECUTABLE` names
 * another executable, for example a release.
 */
export const executable = process.env["SOCLE_EXECUTABLE"] ?? isolated.path;

/** A folder that is removed after the file's tests. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "socle-e2e-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Only the variables of a user's machine: no variable of the test run decides anything. */
function environment(more: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...more };
}

export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program of the machine to its end; answers what the program has printed. @throws Error with the output, unless the exit code is 0. */
export async function runProgram(
  command: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): Promise<string> {
  const child = Bun.spawn([...command], { ...options, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [code, output, errors] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}:\n${output}\n${errors}`);
  return output;
}

/** Runs a command of the executable to its end. */
export async function runCommand(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; stdin?: string; executable?: string },
): Promise<Finished> {
  const child = Bun.spawn([options.executable ?? executable, ...args], {
    cwd: options.cwd,
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

/** A test that waits longer for a start fails, and shows the output. */
const longestStartMs = 120_000;

/**
 * Starts the service in a folder and waits until the service listens. The service is stopped after the file's tests, or the test.
 * @param shared the file for the output of several processes, and the port of this process, by which its start is found in the output.
 */
export async function startProcess(
  cwd: string,
  options: ServeOptions = {},
  shared?: { readonly output: string; readonly port: number },
): Promise<Running> {
  const log = shared?.output ?? options.log ?? join(temporaryFolder(), "output");
  const listening = new RegExp(`Listening on ([^\\s"]+${shared === undefined ? "" : `:${shared.port}`})[\n"]`);
  // Both streams append: with separate positions, each stream would overwrite the other's bytes.
  const sink = openSync(log, "a");
  const child = Bun.spawn([options.executable ?? executable, ...(options.args ?? [])], {
    cwd,
    env: environment(options.env),
    stdin: "ignore",
    stdout: sink,
    stderr: sink,
  });
  closeSync(sink);
  const output = (): string => (existsSync(log) ? readFileSync(log, "utf8") : "");
  const exited = child.exited.then(() => child.exitCode);
  if (options.log === undefined) afterAll(() => child.kill("SIGKILL"));
  let url: string | undefined;
  const end = performance.now() + longestStartMs;
  while (url === undefined) {
    if (performance.now() > end)
      throw new Error(`does not listen after ${longestStartMs} ms:\n${output().slice(-5_000)}`);
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`did not start (exit code ${child.exitCode}, signal ${child.signalCode}):\n${output()}`);
    await Bun.sleep(5);
    url = listening.exec(output())?.[1];
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
