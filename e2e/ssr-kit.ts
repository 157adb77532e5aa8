/** Kit of the tests of templates with a framework: a project of `socle init` with the packages of its framework, built, and served by Node. */
import { afterAll } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Running, root, serve, socle, temporaryFolder, until } from "./kit.ts";
import { runProgram } from "./service-process.ts";

/** The Node of which each framework takes the version. An older Node of the machine gives way to a package of the registry. */
const node = { major: 24, package: `node-${process.platform}-${process.arch}@24` };

export interface App {
  /** The folder of the project. */
  readonly cwd: string;
  /** The address at which the server of the framework is served. */
  readonly url: string;
  run(...command: string[]): Promise<string>;
}

/** Seconds of an access token: short, so that a test sees renewals. */
export const accessTokenSeconds = 3;

/** Frameworks send figures of builds to their makers unless they are told not to. */
const quiet = { ASTRO_TELEMETRY_DISABLED: "1", NEXT_TELEMETRY_DISABLED: "1", CI: "1" };

/** A program of `node_modules`, or of the machine, in the folder of an app. */
export function environment(cwd: string, more: Record<string, string> = {}): Record<string, string> {
  const bins = [join(cwd, `node_modules/node-${process.platform}-${process.arch}/bin`), join(cwd, "node_modules/.bin")];
  const path = [...bins, process.env["PATH"] ?? ""].join(":");
  return { PATH: path, HOME: process.env["HOME"] ?? "", NODE_ENV: "production", ...quiet, ...more };
}

/** Writes a template into a temporary folder, installs the packages of the framework and the packed packages of Socle, and builds. */
export async function buildApp(template: string): Promise<App> {
  const cwd = temporaryFolder();
  const written = await socle(["init", "--template", template], { cwd });
  if (written.code !== 0) throw new Error(written.stderr);
  const url = `http://localhost:${await freePort()}`;
  const run = (...command: string[]): Promise<string> =>
    runProgram(command, { cwd, env: environment(cwd, { ORIGIN: url }) });
  const packages = join(root, "dist/packages");
  const described: Record<"dependencies" | "scripts", Record<string, string>> = await Bun.file(
    join(cwd, "package.json"),
  ).json();
  const wanted = Object.keys(described.dependencies).filter((dependency) => dependency.startsWith("@socle/"));
  const tarballs = readdirSync(packages).filter((file) =>
    wanted.some((dependency) => file.startsWith(`${dependency.slice(1).replace("/", "-")}-0`)),
  );
  const isOld = Number(/^v(\d+)/.exec((await run("node", "--version")).trim())?.[1]) < node.major;
  await run(
    ...["npm", "install", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund"],
    ...tarballs.map((file) => join(packages, file)),
    ...(isOld ? [node.package] : []),
  );
  await run("npm", "run", "build");
  if (described.scripts["check"] !== undefined) await run("npm", "run", "check");
  return { cwd, url, run };
}

export interface Served {
  readonly service: Running;
  /** The number of refreshes that the server of the framework has asked for. */
  refreshes(): number;
}

/** Starts the service of an app and the server of its framework, as `npm start` does. */
export async function serveApp({ cwd, url }: App): Promise<Served> {
  const service = await serve(join(cwd, "socle"), {
    args: ["--port", "0"],
    env: { SERVICE_AUTH_ACCESS_TOKEN_TTL: `${accessTokenSeconds}s` },
  });
  const counter = countRefreshes(service.url);
  const log = join(temporaryFolder(), "output");
  const child = Bun.spawn(["npm", "start"], {
    cwd,
    env: environment(cwd, { PORT: new URL(url).port, SOCLE_URL: counter.url, SOCLE_PUBLIC_URL: service.url }),
    ...{ stdin: "ignore", stdout: Bun.file(log), stderr: Bun.file(log) },
    detached: true,
  });
  // The framework's server is a child of npm: the group ends with both.
  afterAll(() => {
    if (child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`The server of the app ended:\n${await Bun.file(log).text()}`);
    return fetch(url).then(
      () => true,
      () => false,
    );
  });
  return { service, refreshes: counter.refreshes };
}

/** A service behind the server of a framework, which counts refreshes. */
function countRefreshes(service: string): { url: string; refreshes: () => number } {
  let refreshes = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/api/auth/refresh") refreshes += 1;
      // Answers take a moment, so that parallel requests wait at the same time.
      if (pathname.startsWith("/api/auth/")) await Bun.sleep(100);
      const { method, headers } = request;
      const body = method === "GET" ? null : await request.arrayBuffer();
      return fetch(`${service}${pathname}${search}`, { method, headers, body, decompress: false });
    },
  });
  afterAll(() => server.stop(true));
  return { url: server.url.origin, refreshes: () => refreshes };
}
