/** World of the tests of the mirror: a service that leads a cluster over a real PostgreSQL, and looks at the mirror by a connection of its own. */
import { afterAll, expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { SQL } from "bun";
import { leadDatabase } from "../src/app/instance-database.ts";
import { ClusterMember, type Leading } from "../src/edge/cluster/index.ts";
import { openJournal } from "../src/store/journal/index.ts";
import { openApi, quietLogger, type TestApi, temporaryFolder } from "./kit.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { startPostgres, type TestPostgres } from "./test-postgres.ts";

export interface MirrorWorld {
  readonly api: TestApi;
  readonly token: string;
  readonly cluster: string;
  readonly folder: string;
  /** The unquoted name of the schema. */
  readonly schema: string;
  readonly member: ClusterMember;
  readonly leading: Leading;
  readonly proxy: TcpProxy;
  /** The lines of the log of the mirror. */
  readonly log: string[];
  /** Sends a request as an admin, and answers the body of an answer with a good status. */
  send(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  /** Waits until the mirror has all records, and compares each table with the records of the service. Throws when the mirror stops, unless the mirror may stop. */
  expectWhole(mayStop?: boolean): Promise<void>;
  /** The rows of a table, by id. */
  rows(table: string): Promise<Record<string, unknown>[]>;
  /** The number of a table in PostgreSQL: a table that is made anew has another number. */
  tableId(table: string): Promise<number>;
  state(): Promise<{ position: number | null; state: string; reason: string | null }>;
  end(): Promise<void>;
}

let addresses = 0;

export interface MirrorWorlds {
  readonly engine: TestPostgres;
  /** A connection beside the service. */
  readonly raw: SQL;
  /** @param mirror whether the leader keeps a mirror; `world` an earlier world, whose cluster goes on with the same database. */
  open(options?: { mirror?: boolean; world?: MirrorWorld }): Promise<MirrorWorld>;
}

/** The worlds of a test file, over a shared engine. */
export async function mirrorWorlds(): Promise<MirrorWorlds> {
  const engine = await startPostgres();
  const raw = engine.client();
  return { engine, raw, open: (options = {}) => openWorld({ engine, raw, ...options }) };
}

async function openWorld({
  engine,
  raw,
  mirror = true,
  world,
}: Pick<MirrorWorlds, "engine" | "raw"> & { mirror?: boolean; world?: MirrorWorld }): Promise<MirrorWorld> {
  const cluster = world?.cluster ?? `m-${crypto.randomUUID()}`;
  const folder = world?.folder ?? join(temporaryFolder(), "service");
  mkdirSync(folder, { recursive: true });
  const proxy = await startTcpProxy(engine.port);
  const log: string[] = [];
  const logger = quietLogger(log);
  const url = engine.url({ port: proxy.port });
  const journal = openJournal({ url, cluster, logger, timeoutMs: 5_000 });
  const { id } = await journal.open();
  const address = `http://127.0.0.1:${++addresses}`;
  const member = await ClusterMember.join({
    journal,
    address,
    secret: "a secret",
    version: "test",
    filesOf: () => "files",
    logger,
  });
  const leading = await member.findRole(new AbortController().signal);
  if (leading === null || !("commits" in leading)) throw new Error("the test does not lead");
  const config = { "cluster.mirror": mirror, "cluster.name": cluster };
  const options = { member, journalId: id, config, logger };
  const api = await openApi({ folder, joinCluster: (database) => leadDatabase(database, options) });
  const token = world === undefined ? await api.admin() : (await api.login("admin@example.com")).accessToken;
  let isOpen = true;
  const end = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await leading.commits.mirror?.close();
    await api.close();
    await member.stop();
  };
  afterAll(end);
  const schema = `socle_${cluster}`;
  const { service } = api;
  const made: MirrorWorld = {
    ...{ api, token, cluster, folder, schema, member, leading, proxy, log, end },
    async send(method, path, body) {
      const answer = await api.request(method, path, { token, ...(body !== undefined && { body }) });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async rows(table) {
      return [...(await raw.unsafe(`SELECT * FROM "${schema}"."${table}" ORDER BY id`))];
    },
    async tableId(table) {
      const [row] = await raw`SELECT c.oid::int AS id FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
        WHERE s.nspname = ${schema} AND c.relname = ${table}`;
      return Number(row?.id);
    },
    async state() {
      const [row] = await raw.unsafe(`SELECT position, state, reason FROM "${schema}"._mirror`);
      return { ...row, position: row.position === null ? null : Number(row.position) };
    },
    async expectWhole(mayStop = false) {
      for (;;) {
        const found = await made.state().catch(() => null);
        if (found?.state === "whole" && found.position === service.database.position) break;
        const stop = mirrorStop(log);
        if (stop !== null && !mayStop) throw new Error(stop);
        // A mirror that has stopped comes back after a second.
        await Bun.sleep(mayStop ? 100 : 20);
      }
      for (const { name, table } of service.collections.all()) {
        const [counted] = await raw.unsafe(
          `SELECT count(*) AS n, count(DISTINCT id) AS ids FROM "${schema}"."${name}"`,
        );
        const stored = service.database.reader.all<{ id: string; updatedAt: string }>(
          `SELECT id, updatedAt FROM "${table}" ORDER BY id`,
        );
        expect([name, Number(counted.n), Number(counted.ids)]).toEqual([name, stored.length, stored.length]);
        const rows = await raw.unsafe(`SELECT id, "updatedAt" FROM "${schema}"."${name}" ORDER BY id COLLATE "C"`);
        expect(rows.map((row: { id: string; updatedAt: Date }) => [row.id, row.updatedAt.toISOString()])).toEqual(
          stored.map(({ id: each, updatedAt }) => [each, updatedAt]),
        );
      }
      const tables = await raw`SELECT tablename FROM pg_tables WHERE schemaname = ${schema} ORDER BY tablename`;
      const names = new Set([
        "_mirror",
        "_mirror_tables",
        "users",
        ...service.collections.all().map(({ name }) => name),
      ]);
      expect(tables.map(({ tablename }: { tablename: string }) => tablename).toSorted()).toEqual([...names].toSorted());
    },
  };
  return made;
}

/** The line of the log about a mirror that has stopped. */
function mirrorStop(log: readonly string[]): string | null {
  return log.find((line) => line.includes("has stopped")) ?? null;
}
