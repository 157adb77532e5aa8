/** Kit of the end-to-end tests: projects, and services of a process, of several processes, or of a cluster. */
import { afterAll } from "bun:test";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { clusterOf, startCluster } from "./cluster-service.ts";
import {
  executable,
  type Finished,
  type Running,
  root,
  runCommand,
  type ServeOptions,
  startProcess,
  temporaryFolder,
} from "./service-process.ts";

export { isLong, longTest } from "../packages/server/test/long.ts";
export {
  executable,
  type Finished,
  freePort,
  type Running,
  root,
  type ServeOptions,
  temporaryFolder,
} from "./service-process.ts";

/** Puts an example into a folder: the blog is copied without the files that a service has left there, and `socle init` writes the others. */
export function copyExample(name: "blog" | "chat" | "tracker" | "shop", to: string): void {
  if (name === "blog") {
    const from = join(root, "examples", name);
    const left = ["data", "node_modules", ".socle"].map((folder) => join(from, folder));
    cpSync(from, to, { recursive: true, filter: (path) => !left.includes(path) });
    return;
  }
  const { exitCode, stderr } = Bun.spawnSync([executable, "init", to, "--template", name]);
  if (exitCode !== 0) throw new Error(stderr.toString());
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
export async function printedProject(...pages: string[]): Promise<{ cwd: string; paths: string[] }> {
  const texts = await Promise.all(pages.map((page) => Bun.file(join(root, "docs", page)).text()));
  const printed = texts.join("\n");
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

/** The processes of each service of the tests, if `SOCLE_TEST_PROCESSES` says so. A test that names a number has that number. */
const testedProcesses: Record<string, string> =
  process.env["SOCLE_TEST_PROCESSES"] === undefined ? {} : { SERVICE_PROCESSES: process.env["SOCLE_TEST_PROCESSES"] };

/** The instances of each service of the tests, if `SOCLE_TEST_CLUSTER` says so: the service is a cluster then. */
const testedInstances = Number(process.env["SOCLE_TEST_CLUSTER"] ?? 1);

/**
 * The services that a cluster cannot be, with the reasons. A test, or a file, that has such a service says so by `singleService`; the test
 * runs as a single service.
 */
const singleServices = {
  files:
    "The test looks into the folder of the stored files; a cluster has the files in a bucket, with a folder for uploads of each instance.",
  lengths: "The test asks for the Content-Length of large downloads; downloads from a bucket come in pieces.",
  database:
    "The test changes the file of a stopped service; in a cluster, the journal has every change, and other instances have files of their own.",
  commands:
    "The test has a command change the data of a stopped service; in a cluster, commands ask the leader, which has to run.",
  restore:
    "The test makes or restores backups of a folder; a cluster begins anew from a restored database by `socle cluster init`.",
  start: "The test ends the service before the service listens, and `serve` begins with listening.",
  process:
    "The test is about a process of the system: the manager, the open files or the control socket of the process, or the lines of its log.",
  numbers: "The test asks the service for the sockets; each instance of a cluster counts its own.",
  development: "The test goes on with `socle dev` on the same folder, which is a single service.",
  certificate:
    "The test has a certificate that no authority has signed, and instances reach each other by the certificate of each.",
  processes: "The test is about reader processes, which no instance has.",
  faults:
    "The test kills a process, cuts its power, or makes its clock or its disk fail, and starts the process again; `npm run test:cluster` and e2e/cluster-faults.test.ts have the faults of instances.",
  cluster: "The test makes a cluster out of a single service.",
} as const;

type SingleReason = keyof typeof singleServices;

let isSingle = false;

/** Makes each service that starts in this test, or in this file when called outside of tests, a single service. */
export function singleService(_reason: SingleReason): void {
  isSingle = true;
  afterAll(() => {
    isSingle = false;
  });
}

/** Runs a command of the executable to its end. The command knows the cluster whose instances run in the folder. */
export async function socle(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; stdin?: string; executable?: string } = {},
): Promise<Finished> {
  const cwd = options.cwd ?? temporaryFolder();
  return runCommand(args, { ...options, cwd, env: { ...clusterOf(cwd), ...options.env } });
}

/**
 * Starts the service in a folder and waits until the service listens. The service is stopped after the file's tests, or the test. With
 * `SOCLE_TEST_CLUSTER`, the service is a cluster, unless the test configures a cluster or `singleService` names the reason.
 */
export async function serve(
  cwd: string,
  { single, ...options }: ServeOptions & { readonly single?: SingleReason } = {},
): Promise<Running> {
  const isInstance = options.env?.["SERVICE_CLUSTER_JOURNAL"] !== undefined;
  // `socle dev` is a single service, also with the configuration of a cluster.
  if (testedInstances > 1 && !isSingle && single === undefined && !isInstance && options.args?.[0] !== "dev")
    return startCluster(cwd, { ...options, size: testedInstances });
  return startProcess(cwd, isInstance ? options : { ...options, env: { ...testedProcesses, ...options.env } });
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

/** Milliseconds after which a test gives up waiting. A busy machine is slow: only a condition that never comes takes so long. */
export const patience = 120_000;

/** Waits for a condition; a test that waits too long fails. */
export async function until(condition: () => boolean | Promise<boolean>, milliseconds = patience): Promise<void> {
  const start = performance.now();
  for (;;) {
    const askedAt = performance.now();
    if (await condition()) return;
    const now = performance.now();
    if (now - start > milliseconds) throw new Error("Waited too long");
    // A condition asks the service, or runs a command. A long wait, and a costly condition, leave the processor to the other tests.
    await Bun.sleep(Math.max(Math.min(20, 2 + (now - start) / 50), Math.min(300, 3 * (now - askedAt))));
  }
}

function residentMiB({ pid }: Running): number {
  const status = `/proc/${pid}/status`;
  // Only Linux has the file. A process of `ps` takes some 8 ms, so that a look every 20 ms takes half of a core.
  const kibibytes = existsSync(status)
    ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8"))?.[1]
    : Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]).stdout.toString();
  return Number(kibibytes ?? 0) / 1_024;
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
