/** Cluster of the tests: instances of the built executable, a PostgreSQL engine for the journal, and a bucket for the files. */
import { afterAll } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bucket, s3Key, startS3OfRun } from "../packages/server/test/s3-server.ts";
import { startTcpProxy, type TcpProxy } from "../packages/server/test/tcp-proxy.ts";
import { startPostgres, type TestPostgres } from "../packages/server/test/test-postgres.ts";
import { freePort, type Running, serve, temporaryFolder } from "./kit.ts";

export interface TestInstance {
  readonly folder: string;
  readonly url: string;
  running: Running;
  /** The variables of the environment that configure the instance. */
  readonly env: Readonly<Record<string, string>>;
  /** The way of this instance to the engine. */
  readonly proxy: TcpProxy;
  /** Starts the instance again, on the same port; with another executable, if given. Resolves when the instance listens. */
  start(executable?: string): Promise<void>;
  /** The output since the first start. */
  output(): string;
}

export interface TestCluster {
  readonly engine: TestPostgres;
  readonly instances: readonly TestInstance[];
  /** Waits until an instance leads that runs, and answers the instance. */
  leader(): Promise<TestInstance>;
  replicas(): Promise<readonly TestInstance[]>;
}

let clusters = 0;

/** The output of an instance, from the first start on. */
function outputOf(folder: string): string {
  const logs = [...new Bun.Glob("output-*").scanSync(folder)].toSorted();
  return logs.map((name) => readFileSync(`${folder}/${name}`, "utf8")).join("--- started again\n");
}

/** Starts a cluster. @param files of the project, by path; `settings` of each instance, as variables of the environment. */
export async function startCluster(
  size: number,
  { files = {}, settings = {} }: { files?: Record<string, string>; settings?: Record<string, string> } = {},
): Promise<TestCluster> {
  // Each test file has an engine of its own, also when one process runs several files: this module loads only once.
  const engine = await startPostgres();
  // The names of clusters keep the files of clusters apart in the bucket.
  const endpoint = await startS3OfRun();
  const name = `test-${clusters++}`;
  const instances: TestInstance[] = [];
  for (let i = 0; i < size; i++) {
    const folder = temporaryFolder();
    for (const [path, text] of Object.entries(files)) await Bun.write(`${folder}/${path}`, text);
    const port = await freePort();
    const proxy = await startTcpProxy(engine.port);
    const env = {
      SERVICE_PORT: String(port),
      SERVICE_HOST: "127.0.0.1",
      SERVICE_STORAGE: `s3://${bucket}/files-${name}`,
      SERVICE_S3_ENDPOINT: endpoint,
      SERVICE_S3_ACCESS_KEY_ID: s3Key,
      SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
      SERVICE_CLUSTER_JOURNAL: engine.url({ port: proxy.port }),
      SERVICE_CLUSTER_NAME: name,
      SERVICE_CLUSTER_SECRET: "a secret between instances",
      SERVICE_PROCESSES: "1",
      ...settings,
    };
    const logs = mkdtempSync(join(tmpdir(), "socle-cluster-"));
    let starts = 0;
    const start = (executable?: string): Promise<Running> =>
      serve(folder, { env, log: join(logs, `output-${starts++}`), ...(executable !== undefined && { executable }) });
    const instance: TestInstance = {
      folder,
      url: `http://127.0.0.1:${port}`,
      running: await start(),
      env,
      proxy,
      start: async (executable) => {
        instance.running = await start(executable);
      },
      output: () => outputOf(logs),
    };
    afterAll(() => {
      if (process.env["SHOW"] !== undefined) console.log(instance.url, outputOf(logs));
      instance.running.signal("SIGKILL");
      rmSync(logs, { recursive: true });
    });
    instances.push(instance);
  }
  const client = engine.client();
  const leader = async (): Promise<TestInstance> => {
    for (;;) {
      const rows = await client`SELECT address FROM socle_leader WHERE cluster = ${name} AND expires > now()`.catch(
        () => [],
      );
      const found = instances.find(({ url }) => url === rows[0]?.address);
      if (found !== undefined) return found;
      await Bun.sleep(50);
    }
  };
  const replicas = async (): Promise<TestInstance[]> => {
    const leading = await leader();
    return instances.filter((instance) => instance !== leading);
  };
  return { engine, instances, leader, replicas };
}
