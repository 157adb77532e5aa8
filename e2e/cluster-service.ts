/**
 * Cluster service of the end-to-end tests (`SOCLE_TEST_CLUSTER`): instances on one project folder with databases of their own, behind a URL that
 * gives each request to the next instance. The engine of the journal and the bucket serve all files of a test run.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bucket, s3Key, startS3OfRun } from "../packages/server/test/s3-server.ts";
import { startPostgresOfRun } from "../packages/server/test/test-postgres.ts";
import {
  freePort,
  type Running,
  runCommand,
  type ServeOptions,
  startProcess,
  temporaryFolder,
} from "./service-process.ts";

/** The cluster of a folder: the parts that stay when the service starts again. */
interface Cluster {
  /** The variables of the environment that each instance and each command has. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the databases of the second and further instances. */
  readonly databases: string;
}

const clusters = new Map<string, Cluster>();
let servers: Promise<{ journal: string; endpoint: string }> | null = null;

/** The servers of this test run: the address of the engine, and the address of the bucket's server. */
async function startServers(): Promise<{ journal: string; endpoint: string }> {
  const [engine, endpoint] = await Promise.all([startPostgresOfRun(), startS3OfRun()]);
  return { journal: engine.url(), endpoint };
}

/** The variables of the cluster whose first instance has its database in this folder; empty without a cluster. */
export function clusterOf(cwd: string): Readonly<Record<string, string>> {
  return clusters.get(cwd)?.env ?? {};
}

/** The values of the project's configuration; empty for a file that the service refuses. */
function configOf(cwd: string): Record<string, unknown> {
  try {
    return Bun.JSONC.parse(readFileSync(join(cwd, "config.json"), "utf8")) as Record<string, unknown>;
  } catch {
    return {};
  }
}

async function openCluster(cwd: string, env: Record<string, string>): Promise<Cluster> {
  const known = clusters.get(cwd);
  if (known !== undefined) return known;
  servers ??= startServers();
  const name = `service-${clusters.size}`;
  const { journal, endpoint } = await servers;
  const hasBucket = /^s3:/.test(env["SERVICE_STORAGE"] ?? String(configOf(cwd)["storage"] ?? ""));
  const own: Record<string, string> = {
    SERVICE_CLUSTER_JOURNAL: journal,
    SERVICE_CLUSTER_NAME: name,
    SERVICE_CLUSTER_SECRET: "a secret between instances",
    ...(!hasBucket && {
      SERVICE_STORAGE: `s3://${bucket}/${name}`,
      SERVICE_S3_ENDPOINT: endpoint,
      SERVICE_S3_ACCESS_KEY_ID: s3Key,
      SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
    }),
  };
  const cluster = { env: own, databases: temporaryFolder() };
  if (existsSync(resolve(cwd, env["SERVICE_DATABASE"] ?? String(configOf(cwd)["database"] ?? "socle.db")))) {
    // A command has made the database before the first start.
    const { code, stderr } = await runCommand(["cluster", "init"], { cwd, env: { ...own, ...env } });
    if (code !== 0) throw new Error(`socle cluster init: ${stderr}`);
  }
  clusters.set(cwd, cluster);
  return cluster;
}

/** The port that the test wants for the service, and the arguments for an instance with another port. */
function portOf(
  cwd: string,
  { args = [], env = {} }: ServeOptions,
): { port: number; argsWith: (port: number) => string[] } {
  const at = args.indexOf("--port");
  if (at >= 0) return { port: Number(args[at + 1]), argsWith: (port) => args.with(at + 1, String(port)) };
  const argsWith = (): string[] => [...args];
  if (env["SERVICE_PORT"] !== undefined) return { port: Number(env["SERVICE_PORT"]), argsWith };
  return { port: Number(configOf(cwd)["port"] ?? 0), argsWith };
}

/** Starts the proxy in front of the instances, in a process of its own: a test may hold up the test process. */
async function startProxy(port: number, targets: readonly number[]): Promise<{ port: number; stop: () => void }> {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "cluster-proxy.ts"), String(port), ...targets.map(String)],
    { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  );
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(`the proxy of the cluster cannot listen on port ${port}`);
  return { port: Number(new TextDecoder().decode(value)), stop: () => child.kill("SIGKILL") };
}

/**
 * Starts the service as a cluster. The first instance has the database of the folder, and leads: the others start when the first serves, and
 * stop before the first.
 */
export async function startCluster(cwd: string, options: ServeOptions & { size: number }): Promise<Running> {
  const cluster = await openCluster(cwd, options.env ?? {});
  // The lines of all instances stand in the order of time.
  const output = options.log ?? join(temporaryFolder(), "output");
  const { port, argsWith } = portOf(cwd, options);
  const startInstance = async (i: number): Promise<{ port: number; running: Running }> => {
    const own = await freePort();
    const env = {
      ...cluster.env,
      ...options.env,
      SERVICE_PORT: String(own),
      SERVICE_CLUSTER_ADDRESS: `http://127.0.0.1:${own}`,
      ...(i > 0 && { SERVICE_DATABASE: join(cluster.databases, `${i + 1}`, "socle.db") }),
    };
    return {
      port: own,
      running: await startProcess(cwd, { ...options, args: argsWith(own), env }, { output, port: own }),
    };
  };
  const first = await startInstance(0);
  const others = await Promise.all(Array.from({ length: options.size - 1 }, (_, i) => startInstance(i + 1)));
  const instances = [first, ...others];
  const proxy = await startProxy(
    port,
    instances.map((each) => each.port),
  );
  const url = first.running.url.replace(`:${first.port}`, `:${proxy.port}`);
  const exited = first.running.exited.then(async (code) => {
    // The service is over with the first instance, whose database the test looks at.
    for (const { running } of others) running.signal("SIGTERM");
    await Promise.all(others.map(({ running }) => running.exited));
    proxy.stop();
    return code;
  });
  return {
    url,
    pid: first.running.pid,
    // The instances know their own addresses only.
    output: () =>
      instances.reduce((text, each) => text.replaceAll(`:${each.port}`, `:${proxy.port}`), first.running.output()),
    signal: (name) => {
      for (const { running } of instances) running.signal(name);
    },
    exited,
    async stop() {
      const codes = await Promise.all(others.map(({ running }) => running.stop()));
      await first.running.stop();
      return codes.find((code) => code !== 0) ?? exited;
    },
  };
}
