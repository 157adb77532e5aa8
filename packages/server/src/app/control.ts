/**
 * The control socket: how commands reach the running service of a database, with requests. The socket is closed to
 * other users of the machine, so passwords may pass.
 */
import { lstatSync, mkdirSync, rmSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../base/config/index.ts";
import { AppError, isObject, messageOf, reasonsOf, SetupError } from "../base/kernel/index.ts";
import type { Logger, LogLevel } from "../base/logging/index.ts";
import { DatabaseInUse, reasonOfEnd } from "../store/database/index.ts";
import type { Service, ServiceOptions } from "./service.ts";

/** The kinds of requests with the types of the fields; `?` marks a field that may be null. */
const requests = {
  /**
   * A backup into a file of the service's machine, by an absolute path. The passphrase encrypts the backup; null for
   * `backup.recipient`, if the configuration has a recipient.
   */
  backup: { file: "string", passphrase: "string?" },
  /** `socle admin create` beside a service. */
  admin: { email: "string", password: "string" },
  /** The definitions of the collections in the database, for `socle types` and similar commands. */
  definitions: {},
  /** An import from a file of the service's machine, by an absolute path, with options as in the query of a request. */
  import: { collection: "string", file: "string", options: "string" },
  export: { collection: "string", file: "string" },
  /** The users and records of a file, by an absolute path, for `socle seed`. */
  seed: { file: "string" },
  /** The dropped values that can be restored, and their restore. */
  dropped: {},
  restore: { id: "string" },
  /** The texts of changed files that the database agrees with are the applied texts from now on, for `socle schema pull`. */
  pulled: {},
  /** The conditions of the service that are not well, for `socle status`. */
  status: {},
  /** The groups of failures, or a change of a group (`failures.ts`). */
  failures: { action: "string", id: "string?" },
  /** Entries of the log, and with `follow` the entries to come (`logs.ts`). */
  logs: { level: "string?", request: "string?", limit: "number", follow: "boolean" },
  /** The level of the log, or a change of the level. */
  logLevel: { level: "string?" },
  /** The read-only mode, or its begin or end (`read-only.ts`). */
  readOnly: { action: "string" },
  /** The trace of a part by the id of the part. */
  trace: { id: "string" },
  /** `socle run job`. */
  job: { name: "string" },
  /**
   * `socle run function`: a file with or without the ending, for a record or user by id. The handler is an export; null
   * for the first export.
   */
  function: { collection: "string", file: "string", record: "string", handler: "string?" },
} as const;

type Requests = typeof requests;
interface ArgumentTypes {
  readonly string: string;
  readonly "string?": string | null;
  readonly number: number;
  readonly boolean: boolean;
}
type RequestOf<K extends keyof Requests> = { readonly kind: K } & {
  readonly [F in keyof Requests[K]]: Requests[K][F] extends keyof ArgumentTypes ? ArgumentTypes[Requests[K][F]] : never;
};

/** Everything that the command line asks of a running service. */
type ControlRequest = { [K in keyof Requests]: RequestOf<K> }[keyof Requests];
/** A run of `socle run`. */
export type RunRequest = RequestOf<"job"> | RequestOf<"function">;
export type ImportRequest = RequestOf<"import">;
export type ExportRequest = RequestOf<"export">;

/** @throws Error for a malformed request: the two sides may be of different versions. */
function parseRequest(value: unknown): ControlRequest {
  const given = isObject(value) ? value : {};
  const [kind, types] = Object.entries(requests).find(([name]) => name === given["kind"]) ?? [];
  const fields = Object.entries<string>(types ?? {}).map(([name, type]) => ({
    name,
    type,
    field: given[name] ?? null,
  }));
  const isValid = fields.every(
    ({ field, type }) => typeof field === type.replace("?", "") || (field === null && type.endsWith("?")),
  );
  if (kind === undefined || !isValid) throw new Error("The service does not know this request");
  // Every field was found to have its type.
  return Object.fromEntries([["kind", kind], ...fields.map(({ name, field }) => [name, field])]) as ControlRequest;
}

/** The end of a request: the cause of a failure, or null and the answer. */
interface ControlOutcome {
  readonly error: string | null;
  readonly value?: unknown;
}

/** A line that a run writes, or an entry of the log: an entry has time and source. */
export interface LogLine {
  readonly timestamp?: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly source?: string;
  readonly requestId?: string;
  readonly fields?: { readonly [name: string]: unknown };
}

/** How far something is, in bytes or records. */
export interface ProgressLine {
  readonly done: number;
  readonly total: number;
}

/** Hears of a request while the request is done. */
interface RequestListener {
  onLog?: (line: LogLine) => void;
  onProgress?: (line: ProgressLine) => void;
}

/** The longest path that a socket can have on every system, in bytes. */
const longestPath = 100;

/** How often a run that logs nothing is said to be alive. */
const aliveMs = 3_000;

/** Bytes of lines that may wait for a reader; further log lines are left out. */
const longestWait = 8 * 1024 ** 2;

/** The listener of an answer, on the side of the service; the signal is aborted when the command has gone. */
type AnswerListener = Required<RequestListener> & { readonly signal: AbortSignal };

export type ControlAnswer = (request: ControlRequest, listener: AnswerListener) => Promise<ControlOutcome>;

/** A line of the answer: a log entry, the progress, the outcome, or a sign that the work goes on. */
type ControlLine =
  | { readonly log: LogLine }
  | { readonly progress: ProgressLine }
  | ControlOutcome
  | { readonly alive: true };

/** The folder of the socket, beside the database. No other user may put a socket into the folder. */
function controlFolder(database: string): string {
  return `${database}-control`;
}

const socketName = "socle-control.socket";

/** Why a folder is not safe to use; null for a safe folder. */
function folderProblem(folder: string, stats: Stats, trusted: readonly number[]): string | null {
  const { uid, mode } = stats;
  if (!stats.isDirectory()) return `${folder} is no folder`;
  if (!trusted.includes(uid)) return `${folder} belongs to another user (uid ${uid})`;
  return (mode & 0o077) === 0 ? null : `${folder} is open to other users (mode ${(mode & 0o777).toString(8)}, not 700)`;
}

/**
 * A path to the socket that is short enough for a socket. A long path is reached from the folder, which is the working
 * directory until the path is disposed of.
 */
function atSocket(folder: string): Disposable & { readonly unix: string } {
  const unix = join(folder, socketName);
  if (Buffer.byteLength(unix) <= longestPath) return { unix, [Symbol.dispose]: () => undefined };
  const before = process.cwd();
  process.chdir(folder);
  return { unix: socketName, [Symbol.dispose]: () => process.chdir(before) };
}

/** The service's end: a socket in a folder of mode 0700. The service answers with lines of JSON as the lines come. */
export class ControlServer {
  readonly #server: Bun.Server<undefined>;
  readonly #folder: string;

  /** @throws Error when the folder belongs to another user or the socket cannot be made. */
  constructor(database: string, answer: ControlAnswer) {
    this.#folder = controlFolder(database);
    // The lock is held, so leftovers here are of a service that has ended.
    rmSync(this.#folder, { force: true, recursive: true });
    mkdirSync(this.#folder, { mode: 0o700 });
    const problem = folderProblem(this.#folder, lstatSync(this.#folder), [process.getuid?.() ?? 0]);
    if (problem !== null) throw new Error(problem);
    using socket = atSocket(this.#folder);
    this.#server = Bun.serve({
      unix: socket.unix,
      fetch: async (request, server) => {
        // A job may be silent for as long as the job may run.
        server.timeout(request, 0);
        const asked = parseRequest(await request.json());
        return new Response(
          asLines((say, signal) =>
            answer(asked, {
              onLog: (log) => say({ log }),
              onProgress: (progress) => say({ progress }),
              signal,
            }).then(say),
          ),
        );
      },
    });
  }

  stop(): void {
    try {
      // Bun removes the socket by the given path, which may be relative to the folder.
      using _ = atSocket(this.#folder);
      void this.#server.stop(true);
    } catch {
      // The folder and the socket are gone.
      void this.#server.stop(true);
    }
    rmSync(this.#folder, { force: true, recursive: true });
  }
}

/** Null when commands cannot reach the service. */
export function openControl(database: string, answer: ControlAnswer, logger: Logger): ControlServer | null {
  // Windows has no Unix sockets.
  if (process.platform === "win32") return null;
  try {
    return new ControlServer(database, answer);
  } catch (thrown) {
    logger.warn(`Commands such as socle run and socle backup cannot reach this service: ${messageOf(thrown)}`);
    return null;
  }
}

/**
 * The lines that `work` says, as lines of JSON, sent at once. When the reader has stopped and the room is used up, log
 * lines are left out and counted; the outcome is always said.
 */
function asLines(
  work: (say: (line: ControlLine) => void, signal: AbortSignal) => Promise<void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const caller = new AbortController();
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
        if (leftOut > 0) {
          const message = "Log lines were left out: the command reads slower than the service logs";
          enqueue({ log: { level: "WARN", message, fields: { lines: leftOut } } });
        }
        leftOut = 0;
        enqueue(line);
      };
      // A connection on which nothing is said is closed after a while; and whoever asks knows at once that he is heard.
      say({ alive: true });
      const alive = setInterval(() => say({ alive: true }), aliveMs);
      await work(say, caller.signal).catch((thrown) => say({ error: reasonsOf(thrown) }));
      clearInterval(alive);
      if (!isOpen) return;
      // Lines that are logged later go to the log of the service alone.
      isOpen = false;
      controller.close();
    },
    // The caller has gone; a run goes on.
    cancel(): void {
      isOpen = false;
      caller.abort();
    },
  };
  return new ReadableStream<Uint8Array>(source, new ByteLengthQueuingStrategy({ highWaterMark: longestWait }));
}

/**
 * Asks the service of this database; null when no service runs. `error: null` says that the service has confirmed the
 * work. Any other `error` is a request that failed, or has an unknown outcome.
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
    using socket = atSocket(folder);
    response = await fetch("http://socle/", { unix: socket.unix, method: "POST", body });
  } catch (thrown) {
    // A killed service has left the socket. After any other failure, the run may have begun.
    if (isObject(thrown) && ["ECONNREFUSED", "ENOENT", "FailedToOpenSocket"].includes(String(thrown["code"])))
      return null;
    return { error: lost };
  }
  if (!response.ok) return { error: `The service does not take the request (HTTP ${response.status})` };
  return readLines(response, listener).catch(() => ({ error: lost }));
}

/** Why the socket may not be the service's; "missing" without a socket. */
function socketProblem(folder: string, database: string): string | "missing" | null {
  const path = join(folder, socketName);
  // The entries at these paths, not behind a link.
  const [inside, stats] = [folder, path].map((each) => lstatSync(each, { throwIfNoEntry: false }));
  if (inside === undefined || stats === undefined) return "missing";
  // Root may ask the service of another user, the owner of the database then.
  const owner = statSync(database, { throwIfNoEntry: false })?.uid;
  const trusted = [0, process.getuid?.() ?? 0, ...(owner === undefined ? [] : [owner])];
  const problem = folderProblem(folder, inside, trusted);
  if (problem !== null) return problem;
  if (!stats.isSocket()) return `${path} is no socket`;
  return trusted.includes(stats.uid) ? null : `${path} belongs to another user (uid ${stats.uid})`;
}

const lost = "The service has ended meanwhile, without a confirmation of the work";

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

/** How long a command waits for the answer of a service that starts, and how often the command asks. */
const startingMs = 15_000;
const lookMs = 200;

/** The work of a command, done by the running service, or by the command on the data of a stopped service. */
interface ServiceWork<T> {
  readonly config: Config;
  readonly logger: Logger;
  /** The request to a running service, which answers with the result of `alone`. */
  readonly request: ControlRequest;
  readonly listener?: RequestListener;
  /** Opens the data of a stopped service. */
  readonly open: (options: ServiceOptions) => Promise<Service>;
  readonly alone: (service: Service) => Promise<T>;
}

/** @throws SetupError with the reasons of the service or of `alone`, Error when the disk refuses a write. */
export async function doServiceWork<T>({ config, logger, request, listener, open, alone }: ServiceWork<T>): Promise<T> {
  let refusal: unknown;
  const onFatal = (error: unknown): void => {
    refusal = error;
  };
  const until = performance.now() + startingMs;
  let opened: Service | null = null;
  while (opened === null) {
    const asked = await askService(config.database, request, listener ?? {});
    if (asked !== null) {
      if (asked.error !== null) throw new SetupError(asked.error);
      // The service is this program.
      return asked.value as T;
    }
    try {
      opened = await open({ config, logger, onFatal });
    } catch (thrown) {
      // A service that starts has the lock before the service answers.
      if (!(thrown instanceof DatabaseInUse)) throw thrown;
      if (performance.now() > until)
        throw new SetupError(
          `${thrown.message}, which does not answer commands; a service that starts answers at its end`,
        );
      await Bun.sleep(lookMs);
    }
  }
  await using service = opened;
  try {
    return await alone(service);
  } catch (thrown) {
    if (refusal !== undefined) throw new Error(reasonOfEnd(refusal, `: ${messageOf(refusal)}`));
    throw thrown instanceof AppError ? new SetupError(reasonsOf(thrown)) : thrown;
  }
}
