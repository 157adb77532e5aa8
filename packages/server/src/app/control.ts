import { existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isObject, messageOf } from "../kernel/index.ts";
import type { LogLine, RunRequest } from "./run-request.ts";

/** The longest path that a socket can have on every system. */
const longestPath = 100;

/** How often a run that logs nothing is said to be alive. */
const aliveMs = 3_000;

/** A line of the answer: something that was logged, how it ended, or that it goes on. */
type ControlLine = { readonly log: LogLine } | { readonly error: string | null } | { readonly alive: true };

/** Where a service that has this database listens for the command line. */
function controlPath(database: string): string {
  const path = `${database}-control`;
  return path.length <= longestPath ? path : join(tmpdir(), `socle-${Bun.hash(database).toString(36)}`);
}

/**
 * How `socle run` reaches a service that runs: a socket beside the database, open to the user whose service it is. It
 * answers with lines of JSON as they come.
 */
export class ControlServer {
  readonly #server: Bun.Server<undefined>;
  readonly #path: string;

  /** @param run answers null, or why it failed. */
  constructor(database: string, run: (request: RunRequest, onLog: (line: LogLine) => void) => Promise<string | null>) {
    this.#path = controlPath(database);
    // The database is ours alone, so what is left here is of a service that has ended.
    rmSync(this.#path, { force: true });
    const before = process.umask(0o177);
    try {
      this.#server = Bun.serve({
        unix: this.#path,
        fetch: async (request, server) => {
          // A job may be silent for as long as it may run.
          server.timeout(request, 0);
          const asked = parseRequest(await request.json());
          return new Response(asLines((say) => run(asked, (log) => say({ log })).then((error) => say({ error }))));
        },
      });
    } finally {
      process.umask(before);
    }
  }

  stop(): void {
    this.#server.stop(true);
    rmSync(this.#path, { force: true });
  }
}

/** @throws Error for what is no request: the two sides may be of different versions. */
function parseRequest(value: unknown): RunRequest {
  const { kind, name, collection, file, record, handler = null } = isObject(value) ? value : {};
  if (kind === "job" && typeof name === "string") return { kind, name };
  const isHandler = handler === null || typeof handler === "string";
  const isComplete = typeof collection === "string" && typeof file === "string" && typeof record === "string";
  if (kind === "function" && isComplete && isHandler) return { kind, collection, file, record, handler };
  throw new Error("The service does not know such a request");
}

/** What `work` says, as lines of JSON, in the moment in which it says it. */
function asLines(work: (say: (line: ControlLine) => void) => Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOpen = true;
  return new ReadableStream({
    async start(controller) {
      const say = (line: ControlLine): void => {
        if (isOpen) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      };
      // A connection on which nothing is said is closed after a while; and whoever asks knows at once that he is heard.
      say({ alive: true });
      const alive = setInterval(() => say({ alive: true }), aliveMs);
      await work(say).catch((thrown) => say({ error: messageOf(thrown) }));
      clearInterval(alive);
      if (!isOpen) return;
      // What is still logged later is for the log of the service alone.
      isOpen = false;
      controller.close();
    },
    // Whoever asked has gone; the run goes on.
    cancel() {
      isOpen = false;
    },
  });
}

/** Asks the service that has this database; null when none runs. Answers null in `error` when it went well. */
export async function askService(
  database: string,
  request: RunRequest,
  onLog: (line: LogLine) => void,
): Promise<{ error: string | null } | null> {
  const unix = controlPath(database);
  if (!existsSync(unix)) return null;
  let response: Response;
  try {
    response = await fetch("http://socle/", { unix, method: "POST", body: JSON.stringify(request) });
  } catch (thrown) {
    // Left by a service that was killed; whatever else went wrong, the run may have begun.
    if (isObject(thrown) && ["ECONNREFUSED", "ENOENT", "FailedToOpenSocket"].includes(String(thrown["code"])))
      return null;
    return { error: lost };
  }
  return readLines(response, onLog).catch(() => ({ error: lost }));
}

const lost = "The service has ended meanwhile";

async function readLines(response: Response, onLog: (line: LogLine) => void): Promise<{ error: string | null }> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const line: unknown = JSON.parse(text);
      if (!isObject(line)) continue;
      if ("error" in line) return { error: typeof line["error"] === "string" ? line["error"] : null };
      // It is the same program that wrote it.
      if ("log" in line) onLog(line["log"] as LogLine);
    }
  }
  return { error: lost };
}
