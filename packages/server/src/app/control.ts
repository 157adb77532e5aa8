/** The control socket: how commands reach the service that has the database they are for. */
import { lstatSync, mkdirSync, rmSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { isObject, reasonsOf } from "../kernel/index.ts";
import type { ControlOutcome, ControlRequest, LogLine, ProgressLine, RequestListener } from "./run-request.ts";

/** The longest path that a socket can have on every system, in bytes. */
const longestPath = 100;

/** How often a run that logs nothing is said to be alive. */
const aliveMs = 3_000;

/** Bytes of lines that may wait for a reader; log lines beyond them are left out. */
const longestWait = 8 * 1024 ** 2;

/** The service's answer to a request. */
export type ControlAnswer = (request: ControlRequest, listener: Required<RequestListener>) => Promise<ControlOutcome>;

/** A line of the answer: something that was logged, how far it is, how it ended, or that it goes on. */
type ControlLine =
  | { readonly log: LogLine }
  | { readonly progress: ProgressLine }
  | ControlOutcome
  | { readonly alive: true };

/** The folder of the socket, beside the database. It is closed to other users, so that none can put a socket there. */
function controlFolder(database: string): string {
  return `${database}-control`;
}

const socketName = "socle-control.socket";

/** The entry at a path itself, not behind a link; null for none. */
function look(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

/** Why a folder is not safe to use; null when it is. */
function folderProblem(folder: string, stats: Stats, trusted: readonly number[]): string | null {
  const { uid, mode } = stats;
  if (!stats.isDirectory()) return `${folder} is no folder`;
  if (!trusted.includes(uid)) return `${folder} belongs to another user (uid ${uid})`;
  return (mode & 0o077) === 0 ? null : `${folder} is open to other users (mode ${(mode & 0o777).toString(8)}, not 700)`;
}

/**
 * Calls `work` with a path to the socket that is short enough for one. A long one is reached from its folder: the
 * working directory is there until `work` is done.
 */
function atSocket<T>(folder: string, work: (path: string) => T): T {
  const path = join(folder, socketName);
  if (Buffer.byteLength(path) <= longestPath) return work(path);
  const before = process.cwd();
  const back = (): void => process.chdir(before);
  process.chdir(folder);
  let result: T;
  try {
    result = work(socketName);
  } catch (thrown) {
    back();
    throw thrown;
  }
  if (result instanceof Promise) result.then(back, back);
  else back();
  return result;
}

/**
 * The service's end: a socket in a folder of mode 0700. It answers with lines of JSON as they come.
 */
export class ControlServer {
  readonly #server: Bun.Server<undefined>;
  readonly #folder: string;

  /**
   * @throws Error where the folder belongs to somebody else or the socket cannot be made.
   */
  constructor(database: string, answer: ControlAnswer) {
    this.#folder = controlFolder(database);
    // The lock is held, so leftovers here are of a service that has ended.
    rmSync(this.#folder, { force: true, recursive: true });
    mkdirSync(this.#folder, { mode: 0o700 });
    const problem = folderProblem(this.#folder, lstatSync(this.#folder), [process.getuid?.() ?? 0]);
    if (problem !== null) throw new Error(problem);
    this.#server = atSocket(this.#folder, (unix) =>
      Bun.serve({
        unix,
        fetch: async (request, server) => {
          // A job may be silent for as long as it may run.
          server.timeout(request, 0);
          const asked = parseRequest(await request.json());
          return new Response(
            asLines((say) =>
              answer(asked, {
                onLog: (log) => say({ log }),
                onProgress: (progress) => say({ progress }),
              }).then(say),
            ),
          );
        },
      }),
    );
  }

  stop(): void {
    try {
      // Bun removes the socket by the path that it was given, which may count from the folder.
      atSocket(this.#folder, () => this.#server.stop(true));
    } catch {
      // The folder is gone, and the socket with it.
      void this.#server.stop(true);
    }
    rmSync(this.#folder, { force: true, recursive: true });
  }
}

/** @throws Error for a malformed request: the two sides may be of different versions. */
function parseRequest(value: unknown): ControlRequest {
  const fields = isObject(value) ? value : {};
  const { kind, passphrase = null, name, collection, file, record, handler = null, email, password } = fields;
  if (kind === "definitions") return { kind };
  if (kind === "admin" && typeof email === "string" && typeof password === "string") return { kind, email, password };
  if (kind === "job" && typeof name === "string") return { kind, name };
  const isPassphrase = passphrase === null || typeof passphrase === "string";
  if (kind === "backup" && typeof file === "string" && isPassphrase) return { kind, file, passphrase };
  if (kind === "seed" && typeof file === "string") return { kind, file };
  const { maxRow } = fields;
  const isTransfer = kind === "import" || kind === "export";
  if (isTransfer && typeof collection === "string" && typeof file === "string" && typeof maxRow === "number")
    return { kind, collection, file, maxRow };
  const isHandler = handler === null || typeof handler === "string";
  const isComplete = typeof collection === "string" && typeof file === "string" && typeof record === "string";
  if (kind === "function" && isComplete && isHandler) return { kind, collection, file, record, handler };
  throw new Error("The service does not know such a request");
}

/**
 * The lines that `work` says, as lines of JSON, sent at once. Log lines for which there is no room, because
 * the reader has stopped, are left out and counted; how it ended is always said.
 */
function asLines(work: (say: (line: ControlLine) => void) => Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOpen = true;
  let leftOut = 0;
  const source = {
    async start(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      const enqueue = (line: ControlLine): void => controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      const say = (line: ControlLine): void => {
        if (!isOpen) return;
        const isLast = "error" in line;
        if (!isLast && (controller.desiredSize ?? 0) <= 0) {
          if ("log" in line) leftOut += 1;
          return;
        }
        if (leftOut > 0) enqueue({ log: leftOutLine(leftOut) });
        leftOut = 0;
        enqueue(line);
      };
      // A connection on which nothing is said is closed after a while; and whoever asks knows at once that he is heard.
      say({ alive: true });
      const alive = setInterval(() => say({ alive: true }), aliveMs);
      await work(say).catch((thrown) => say({ error: reasonsOf(thrown) }));
      clearInterval(alive);
      if (!isOpen) return;
      // Lines that are logged later go to the log of the service alone.
      isOpen = false;
      controller.close();
    },
    // The caller has gone; the run goes on.
    cancel(): void {
      isOpen = false;
    },
  };
  return new ReadableStream<Uint8Array>(source, new ByteLengthQueuingStrategy({ highWaterMark: longestWait }));
}

function leftOutLine(lines: number): LogLine {
  return { level: "WARN", message: "Log lines were left out: they came faster than they were read", fields: { lines } };
}

/**
 * Asks the service that has this database; null when none runs. In `error`, null says that the service has confirmed
 * that it is done; everything else is a request that failed, or of which nothing is known.
 */
export async function askService(
  database: string,
  request: ControlRequest,
  listener: RequestListener,
): Promise<ControlOutcome | null> {
  const folder = controlFolder(database);
  const problem = socketProblem(folder, database);
  if (problem === "missing") return null;
  if (problem !== null) return { error: `Nothing was done: ${problem}` };
  let response: Response;
  try {
    const body = JSON.stringify(request);
    response = await atSocket(folder, (unix) => fetch("http://socle/", { unix, method: "POST", body }));
  } catch (thrown) {
    // Left by a service that was killed; whatever else went wrong, the run may have begun.
    if (isObject(thrown) && ["ECONNREFUSED", "ENOENT", "FailedToOpenSocket"].includes(String(thrown["code"])))
      return null;
    return { error: lost };
  }
  if (!response.ok) return { error: `The service does not take the request (HTTP ${response.status})` };
  return readLines(response, listener).catch(() => ({ error: lost }));
}

/** Why the socket is not believed to be the service's; "missing" where there is none. */
function socketProblem(folder: string, database: string): string | "missing" | null {
  const path = join(folder, socketName);
  const [inside, stats] = [look(folder), look(path)];
  if (inside === null || stats === null) return "missing";
  // Root may ask the service of another user, who then has the database.
  const owner = statSync(database, { throwIfNoEntry: false })?.uid;
  const trusted = [0, process.getuid?.() ?? 0, ...(owner === undefined ? [] : [owner])];
  const problem = folderProblem(folder, inside, trusted);
  if (problem !== null) return problem;
  if (!stats.isSocket()) return `${path} is no socket`;
  return trusted.includes(stats.uid) ? null : `${path} belongs to another user (uid ${stats.uid})`;
}

const lost = "The service has ended meanwhile, and nothing confirms that it is done";

async function readLines(response: Response, listener: RequestListener): Promise<ControlOutcome> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const line: unknown = JSON.parse(text);
      if (!isObject(line)) continue;
      if (line["error"] === null) return { error: null, value: line["value"] };
      if ("error" in line) return { error: String(line["error"]) };
      // The same program wrote the line.
      if ("log" in line) listener.onLog?.(line["log"] as LogLine);
      if ("progress" in line) listener.onProgress?.(line["progress"] as ProgressLine);
    }
  }
  return { error: lost };
}
