/** Kit of the server's tests: a service on a fresh database in a temporary folder, and HTTP without a socket. */
import { afterAll, setDefaultTimeout } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Role, TokenResponse } from "@socle/protocol";
import { buildApi, buildService, openParts, openService, Scripts, type Service } from "../src/app/index.ts";
import { type Config, loadConfig } from "../src/base/config/index.ts";
import { system } from "../src/base/kernel/index.ts";
import { type LogEntry, Logger, LogRing, type LogSink } from "../src/base/logging/index.ts";
import type { SchemaChange } from "../src/data/collections/index.ts";
import {
  type ApiParts,
  type AuthPages,
  type Dashboard,
  LiveStreams,
  openRouter,
  type StaticFiles,
} from "../src/edge/http/index.ts";
import { readRooms } from "../src/live/rooms/index.ts";
import type { Database } from "../src/store/database/index.ts";
import { atEndOfRun } from "./run-end.ts";

// A test waits for conditions, for as long as a busy machine needs, also where it is run without `npm test`.
setDefaultTimeout(600_000);

/** A folder that is gone after the file's tests. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "socle-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A log that keeps its lines. */
export function quietLogger(lines: string[] = [], ring: LogRing = new LogRing()): Logger {
  const sinks: LogSink[] = [(entry) => lines.push(`${entry.level} ${entry.message}`), (entry) => ring.add(entry)];
  return new Logger({ level: "DEBUG", sinks });
}

export interface Answer<T = Body> {
  status: number;
  /** The JSON of the answer, in the shape that the test names. */
  body: T;
  bytes: Uint8Array;
  headers: Headers;
}
/** An answer's JSON; an absent member reads as undefined. */
interface Body {
  [name: string]: Body;
}

export interface TestApi {
  service: Service;
  /** The scripts of the service, not started: no file is loaded. */
  scripts: Scripts;
  parts: ApiParts;
  config: Config;
  log: string[];
  /** The log entries with this message. */
  entries(message: string): LogEntry[];
  /** The whole HTTP API except the socket. A body that is no string is sent as JSON. */
  request<T = Body>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>;
  /** The same request; the caller reads the body of the answer. */
  answer(method: string, path: string, options?: RequestOptions): Promise<Response>;
  /** Closes the service before the end of the file's tests; the end closes the service, too. */
  close(): Promise<void>;
  register(email: string): Promise<TokenResponse>;
  /** Signs a user of `register` in, who has no second factor. */
  login(email: string): Promise<TokenResponse>;
  /** An admin's access token. */
  admin(): Promise<string>;
}

interface RequestOptions {
  body?: unknown;
  token?: string;
  headers?: Record<string, string>;
}

/** A database file of this version without a row; made once for a test process. */
let empty: Promise<string> | null = null;

/** Makes the tables, as the first start of a service does. */
async function makeEmpty(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "socle-test-empty-"));
  atEndOfRun(`rm -rf '${folder}'`);
  await Bun.write(join(folder, "config.json"), "{}");
  const { config } = await loadConfig({ file: join(folder, "config.json"), environment: {} });
  const service = await buildService({ config, logger: quietLogger(), onFatal: () => undefined });
  await service.close();
  return config.database;
}

/** Opens a service with these collections; the service is closed after the file's tests. */
export async function openApi(options: {
  collections?: readonly object[];
  /** Definitions of rooms, by name. */
  rooms?: { readonly [name: string]: object };
  settings?: Record<string, string>;
  folder?: string;
  /** Files served beside the API; by default, no files. */
  files?: StaticFiles;
  readiness?: () => Promise<readonly string[]>;
  dashboard?: Dashboard;
  pages?: AuthPages;
  /** See `ScriptsOptions`. */
  now?: () => number;
  /** See `ServiceOptions`. */
  joinCluster?: (database: Database) => Promise<void>;
  /** Whether passwords cost as much work as in a service that a user runs: 31 ms each. */
  hasFullPasswords?: boolean;
}): Promise<TestApi> {
  const folder = options.folder ?? temporaryFolder();
  await mkdir(join(folder, "collections"), { recursive: true });
  for (const [i, definition] of (options.collections ?? []).entries())
    await Bun.write(join(folder, "collections", `${String(i).padStart(2, "0")}.json`), JSON.stringify(definition));
  for (const [name, definition] of Object.entries(options.rooms ?? {}))
    await Bun.write(join(folder, "rooms", `${name}.json`), JSON.stringify(definition));
  await Bun.write(join(folder, "config.json"), "{}");
  const { config, live } = await loadConfig({
    file: join(folder, "config.json"),
    environment: options.settings ?? {},
  });
  const log: string[] = [];
  const ring = new LogRing();
  const logger = quietLogger(log, ring);
  const { joinCluster, hasFullPasswords = false } = options;
  // The tables take a third of the processor time of a start.
  if (joinCluster === undefined && !existsSync(config.database) && existsSync(dirname(config.database))) {
    empty ??= makeEmpty();
    copyFileSync(await empty, config.database);
  }
  const onFatal = (error: unknown): unknown => log.push(`FATAL ${String(error)}`);
  const service = await openService({
    config,
    logger,
    onFatal,
    ...(joinCluster && { joinCluster }),
    ...(!hasFullPasswords && { passwordCost: { memoryCost: 8, timeCost: 1 } }),
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) parts.realtime.stop();
    if (isOpen) await backups.stop();
    if (isOpen) await service.close();
    isOpen = false;
  };
  afterAll(close);
  const { auth, database } = service;
  const scripts = new Scripts({
    service,
    config,
    logger,
    environment: { PATH: process.env["PATH"] },
    ...(options.now && { now: options.now }),
  });
  const parts = openParts({
    config,
    front: { files: options.files ?? null, dashboard: options.dashboard ?? null },
    logger,
    named: scripts.queries,
    rooms: await readRooms(folder),
    service,
    stopping: AbortSignal.abort(),
    version: "test",
  });
  const { api, backups } = buildApi({
    build: "test",
    certificate: () => null,
    live,
    log: ring,
    logger,
    pages: options.pages ?? null,
    parts,
    readiness: options.readiness ?? (async () => []),
    reload: () => void log.push("RELOAD"),
    scripts,
    service,
  });
  const router = openRouter(api, {
    liveStreams: new LiveStreams(auth),
    upgrade: () => false,
    keepOpen: () => undefined,
    listenUrl: () => "http://socle.test",
    addressOf: (request) => request.headers.get("x-test-address") ?? "test",
  });

  async function answer(
    method: string,
    path: string,
    { body, token, headers }: RequestOptions = {},
  ): Promise<Response> {
    const all = new Headers(body === undefined ? {} : { "Content-Type": "application/json" });
    if (token !== undefined) all.set("Authorization", `Bearer ${token}`);
    for (const [name, value] of Object.entries(headers ?? {})) {
      if (value === "") all.delete(name);
      else all.set(name, value);
    }
    const isRaw = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
    const raw = body === undefined || isRaw ? body : JSON.stringify(body);
    const init = { method, headers: all, ...(raw === undefined ? {} : { body: raw }) };
    const response = await router.fallback(new Request(`http://socle.test${path}`, init));
    if (response === undefined) throw new Error(`${method} ${path} was not answered`);
    return response;
  }

  async function request<T = Body>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
    const response = await answer(method, path, options);
    const bytes = await response.bytes();
    const isJson = response.headers.get("content-type") === "application/json" && bytes.byteLength > 0;
    const json = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : {};
    return { status: response.status, body: json, bytes, headers: response.headers };
  }

  async function login(email: string): Promise<TokenResponse> {
    const answer = await auth.login({ email, password: "correct horse" }, { key: "kit" });
    if ("next" in answer) throw new Error(`${email} has a second factor`);
    return answer;
  }

  return {
    service,
    scripts,
    parts: api,
    config,
    log,
    entries: (message) => ring.entries().filter((entry) => entry.message === message),
    request,
    answer,
    close,
    async register(email) {
      const answer = await auth.registrations.register({ email, password: "correct horse" });
      if ("next" in answer) throw new Error(`${email} has to prove the address first`);
      return answer;
    },
    login,
    async admin() {
      const values = await auth.users.prepare({ email: "admin@example.com", password: "correct horse" });
      await database.transact((tx) => auth.users.makeAdmin(tx, values));
      return (await login("admin@example.com")).accessToken;
    },
  };
}

/** The events of the log after place `seq`, without the values that a test cannot foresee. */
export async function eventsSince(service: Service, seq = 0): Promise<{ type: string; payload: object }[]> {
  const events = await service.events.read(seq, 10_000);
  return events.map(({ type, payload }) => ({ type, payload }));
}

/** Makes a migration in the same way as the service. */
export async function migrate(service: Service, change: SchemaChange): Promise<void> {
  await service.database.migrate((tx) => service.collections.migrate(tx, change, system), "event-loop");
}

export async function setRole(service: Service, userId: string, role: Role): Promise<void> {
  await service.database.transact((tx) => service.auth.users.setRole(tx, { id: userId, role }, system));
}

/** The last place of the log. */
export async function lastSeq(service: Service): Promise<number> {
  return (await service.events.read(0, 1_000_000)).at(-1)?.seq ?? 0;
}
