/** Kit of the tests of functions and jobs: a project with code, and the events of the runs. */
import { Database } from "bun:sqlite";
import { afterAll } from "bun:test";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Event, RecordList, StoredRecord } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { patience, project, type Running, until } from "./kit.ts";

/** A collection with one field. */
export function collection(name: string): object {
  return { name, fields: [{ name: "n", type: "integer" }] };
}

export async function write(folder: string, files: { readonly [path: string]: string }): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await Bun.write(join(folder, path), content);
  }
}

/** The address of a user that becomes an admin at registration: only admins hear why a run has failed. */
const listener = "listener@example.com";

/** A project with definitions, code and limits that a test can wait for. */
export async function scriptProject(options: {
  collections: readonly object[];
  files: { readonly [path: string]: string };
  scripts?: { timeout?: string; hookTimeout?: string; memory?: string; processes?: number };
}): Promise<string> {
  const scripts = { timeout: "2s", ...options.scripts };
  const folder = await project({ collections: options.collections, config: { scripts, admin: { email: listener } } });
  await write(folder, options.files);
  return folder;
}

/** Runs that are still to be made, in the database of a project. */
export function waiting(cwd: string): number {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const row = database.query<{ n: number }, []>("SELECT count(*) AS n FROM _deliveries WHERE failedAt IS NULL").get();
  database.close();
  return row?.n ?? 0;
}

/** The processes of the user's code that a service has started. */
async function scriptProcesses({ pid }: Running): Promise<number[]> {
  const text = await Bun.$`ps -o pid=,args= --ppid ${pid}`.nothrow().text();
  return text
    .split("\n")
    .filter((line) => line.includes("script-host"))
    .map((line) => Number.parseInt(line, 10));
}

/** Kills the present processes of user code. A process may end meanwhile. */
export async function killScripts(server: Running): Promise<void> {
  for (const pid of await scriptProcesses(server))
    try {
      process.kill(pid, "SIGKILL");
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
    }
}

const channels = ["function", "job"].flatMap((kind) =>
  ["started", "completed", "failed"].map((step) => `${kind}.${step}`),
);

/** The events of functions and jobs, as an admin hears the events. */
export class RunEvents {
  readonly all: Event[] = [];
  static readonly #clients = new Map<string, SocleClient>();

  /** All records of a collection, oldest first, at a state with the events that were heard of this service. */
  static async records(url: string, collection: string): Promise<StoredRecord[]> {
    const client = RunEvents.#clients.get(url) ?? new SocleClient({ baseUrl: url });
    const { items } = await client.$source.transport.call<RecordList>("GET", `/api/${collection}`);
    return items.reverse();
  }

  static async of(url: string): Promise<RunEvents> {
    const events = new RunEvents();
    const client = new SocleClient({ baseUrl: url });
    const credentials = { email: listener, password: "correct horse" };
    await client.register(credentials).catch(() => client.login(credentials));
    RunEvents.#clients.set(url, client);
    let live = 0;
    const onReset = (): void => {
      live += 1;
    };
    for (const channel of channels) client.subscribe(channel, (event) => events.all.push(event), { onReset });
    await until(() => live === channels.length);
    afterAll(() => client.close());
    return events;
  }

  /** The events of one type about one file. */
  of(type: string, filePath: string): Event[] {
    return this.all.filter((event) => event.type === type && event.payload["filePath"] === filePath);
  }

  /** Waits for the first event of a type about a file. */
  async first(type: string, filePath: string, milliseconds = patience): Promise<Event> {
    try {
      await until(() => this.of(type, filePath).length > 0, milliseconds);
    } catch {
      throw new Error(`No ${type} of ${filePath} in ${milliseconds} ms; there were ${JSON.stringify(this.all)}`);
    }
    const [event] = this.of(type, filePath);
    if (event === undefined) throw new Error("unreachable");
    return event;
  }
}
