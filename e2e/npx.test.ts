/**
 * The package `socle` with the real npm, and a registry on the loopback address: `npx socle` starts the executable, passes on signals and
 * exit codes, and says what is wrong in a line. The packages hold a small program first, which the tests replace by the executable;
 * e2e/long/npx-release.test.ts packs the executable itself.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { packLauncher } from "../scripts/release/packages.ts";
import { executable, type Finished, isLong, post, temporaryFolder, until } from "./kit.ts";
import { startRegistry } from "./npm-registry.ts";

const { version } = packageJson;
const platform = `${process.platform}-${process.arch}`;
const registry = startRegistry();
const folder = temporaryFolder();

const program = `#!/bin/sh
if [ "$1" = die ]; then kill -"$2" $$; fi
echo "words: $*"
exit "\${CODE:-0}"
`;

/** Runs a command with the settings of the registry. */
async function run(command: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<Finished> {
  const child = Bun.spawn([...command], {
    ...{ cwd, env: { ...registry.env, ...env }, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** The folder of the packages that npx has installed. */
function modulesOfNpx(): string {
  const installed = join(registry.home, "cache/_npx");
  return join(installed, readdirSync(installed)[0] ?? "", "node_modules");
}

function programOfNpx(): string {
  return join(modulesOfNpx(), "@socle", platform, "bin/socle");
}

/** The processes that execute a file. */
function processesOf(path: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`) === path;
      } catch {
        // The process has ended, or is of another user.
        return false;
      }
    });
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

beforeAll(async () => {
  const standIn = join(folder, "program");
  writeFileSync(standIn, program);
  mkdirSync(join(folder, "packages"));
  const packing = { version, executables: new Map([[platform, standIn]]), folder: join(folder, "packages") };
  for (const file of await packLauncher(packing)) {
    const { code, stderr } = await run(["npm", "publish", file, "--access", "public"], folder);
    if (code !== 0) throw new Error(stderr);
  }
});

test("npm publishes the packages of the platforms before the launcher; manifests are complete", async () => {
  expect(registry.published).toEqual([`@socle/${platform}`, "socle"]);
  const manifestOf = async (name: string): Promise<object | undefined> => {
    const described = await (await fetch(`${registry.url}/${name}`)).json();
    return (described as { versions: Record<string, object> }).versions[version];
  };
  const launcher = await manifestOf("socle");
  expect(launcher).toMatchObject({
    bin: { socle: "src/launcher.mjs" },
    engines: { node: ">=20" },
    license: "MIT",
    optionalDependencies: { [`@socle/${platform}`]: version },
  });
  expect(launcher).not.toHaveProperty("private");
  expect(launcher).not.toHaveProperty("scripts");
  const own = { os: [process.platform], cpu: [process.arch], license: "MIT" };
  expect(await manifestOf(`@socle%2f${platform}`)).toMatchObject(own);
});

test("npx installs and starts the program; words and the exit code are passed on", async () => {
  const first = await run(["npx", "--yes", "socle", "hello", "a b"], folder, { CODE: "7" });
  expect([first.code, first.stdout]).toEqual([7, "words: hello a b\n"]);
  expect((await run(["npx", "socle", "die", "KILL"], folder)).code).toBe(128 + 9);
});

/** Runs the launcher without npm, after a change of what Node says of the machine. */
function launch(change: string, modules = modulesOfNpx()): Promise<Finished> {
  const launcher = join(modules, "socle/src/launcher.mjs");
  return run(["node", "--import", `data:text/javascript,${encodeURIComponent(change)}`, launcher, "words"], folder);
}

function testLeftOut(): void {
  test("an optional package that npm left out", async () => {
    const cwd = temporaryFolder();
    const installed = await run(["npm", "install", "--omit=optional", "socle"], cwd);
    expect(installed.code).toBe(0);
    const { code, stderr } = await run(["npx", "socle", "words"], cwd);
    const line = `socle: the package @socle/${platform} is missing: npm left out optional packages, or installed for another platform. The way on: remove node_modules and package-lock.json, then npm install --include=optional socle@${version}\n`;
    expect([code, stderr]).toEqual([1, line]);
    rmSync(join(cwd, "node_modules"), { recursive: true });
    rmSync(join(cwd, "package-lock.json"));
    expect((await run(["npm", "install", "--include=optional", `socle@${version}`], cwd)).code).toBe(0);
    expect((await run(["npx", "socle", "words"], cwd)).stdout).toBe("words: words\n");
  });
}

describe("the launcher names the fault in a line, and the way on", () => {
  const glibc = (value: string): string => `process.report.getReport = () => ({ header: { ${value} } });`;
  const cases: [name: string, change: string, line: RegExp][] = [
    [
      "a platform without a build",
      'Object.defineProperty(process, "platform", { value: "freebsd" });',
      new RegExp(`^socle: there is no build for freebsd-${process.arch}; the builds: ${platform}\\. `),
    ],
    [
      "another processor",
      'Object.defineProperty(process, "arch", { value: "riscv64" });',
      /^socle: there is no build for linux-riscv64; the builds: /,
    ],
    ["musl", glibc(""), new RegExp(`^socle: there is no build for ${platform}-musl; the builds: `)],
    [
      "an old glibc",
      glibc('glibcVersionRuntime: "2.9"'),
      /^socle: this system has glibc 2\.9, and the executable needs/,
    ],
  ];
  test.each(cases)("%s", async (_name, change, line) => {
    const { code, stdout, stderr } = await launch(change);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(line);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("the oldest glibc that the executable needs is the oldest that the launcher allows", () => {
    const listed = Bun.spawnSync(["grep", "-aoE", "GLIBC_[0-9]+\\.[0-9]+", executable]).stdout.toString();
    const needed = [...new Set(listed.match(/\d+\.\d+/g))].map((text) => Number(text.split(".")[1]));
    const launcher = readFileSync(join(modulesOfNpx(), "socle/src/launcher.mjs"), "utf8");
    expect(`2.${Math.max(...needed)}`).toBe(/oldestGlibc = "(.*)"/.exec(launcher)?.[1] ?? "");
  });

  if (isLong) testLeftOut();

  test("a program without the right to be executed gets the right; on a disk without programs, the line says so", async () => {
    chmodSync(programOfNpx(), 0o644);
    expect(await launch("")).toMatchObject({ code: 0, stdout: "words: words\n" });
    const bin = dirname(programOfNpx());
    const mounting = `mount --bind "${bin}" "${bin}" && mount -o remount,bind,noexec "${bin}" && exec node "${modulesOfNpx()}/socle/src/launcher.mjs"`;
    const { code, stderr } = await run(
      ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounting],
      folder,
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^socle: \S+ cannot be executed \(EACCES\): .*noexec\. The way on: .*\n$/),
    ]);
  });

  test("a program that the system cannot start", async () => {
    writeFileSync(programOfNpx(), "#!/nowhere/sh\n");
    const { code, stderr } = await launch("");
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^socle: \S+ cannot be started: .*ENOENT\. The way on: .*\n$/),
    ]);
  });
});

describe("with the executable in the package", () => {
  const parent = temporaryFolder();
  const app = join(parent, "app");
  const own = { cwd: app, env: registry.env };

  beforeAll(() => {
    rmSync(programOfNpx());
    try {
      linkSync(executable, programOfNpx());
    } catch {
      copyFileSync(executable, programOfNpx());
    }
  });

  interface Dev {
    readonly child: Bun.Subprocess;
    readonly url: string;
    output(): string;
  }

  /** Starts `npx socle dev` in the project, and waits until the service listens. */
  async function startDev(spawn: (command: string[], log: string) => Bun.Subprocess): Promise<Dev> {
    const log = join(temporaryFolder(), "output");
    writeFileSync(log, "");
    // Without the option, npx asks the registry for a newer version, for a minute if there is no network.
    const child = spawn(["npx", "--offline", "socle", "dev", "--port", "0"], log);
    afterAll(() => child.kill("SIGKILL"));
    const output = (): string => readFileSync(log, "utf8");
    let url = "";
    await until(() => {
      url = /Listening on (http:\S+)/.exec(output())?.[1] ?? "";
      return url !== "";
    });
    return { child, url, output };
  }

  function inGroup(command: string[], log: string): Bun.Subprocess {
    const sink = openSync(log, "a");
    try {
      return Bun.spawn(command, { ...own, stdin: "ignore", stdout: sink, stderr: sink, detached: true });
    } finally {
      closeSync(sink);
    }
  }

  function onTerminal(command: string[], log: string): Bun.Subprocess {
    return Bun.spawn(command, { ...own, terminal: { data: (_terminal, bytes) => appendFileSync(log, bytes) } });
  }

  async function allEnded(): Promise<void> {
    await until(() => processesOf(programOfNpx()).length === 0);
  }

  test("without the registry: init names the next command, the service takes a record, and Ctrl-C ends all in order", async () => {
    await registry.stop();
    const written = await run(["npx", "--offline", "socle", "init", "app"], parent);
    expect(written.stdout).toEndWith("\nStart the service with:\n\n  cd app && npx socle dev\n");
    const { child, url, output } = await startDev(onTerminal);
    expect(output()).toContain("npx socle admin create EMAIL");
    const registered = await post(`${url}/api/auth/register`, { email: "me@example.com", password: "a long password" });
    const { accessToken } = (await registered.json()) as { accessToken: string };
    const headers = { Authorization: `Bearer ${accessToken}` };
    expect((await post(`${url}/api/notes`, { title: "Hello" }, headers)).status).toBe(201);
    expect(processesOf(programOfNpx()).length).toBeGreaterThan(0);
    child.terminal?.write("\x03");
    // The shell of npm ends by the signal, too.
    expect([0, 130]).toContain(await child.exited);
    await allEnded();
    expect(output()).toMatch(/SIGINT: stopping[\s\S]*Stopped/);
  });

  if (!isLong) return;

  // The shell of npm does not pass on a SIGINT that reaches npx alone.
  test.each([
    ["SIGTERM", "npx"],
    ["SIGTERM", "all"],
    ["SIGINT", "all"],
  ] as const)("%s to %s of the processes ends the service in order", async (signal, target) => {
    const { child, output } = await startDev(inGroup);
    process.kill(target === "all" ? -child.pid : child.pid, signal);
    await child.exited;
    await allEnded();
    expect(output()).toMatch(/: stopping[\s\S]*Stopped/);
  });

  test("the service ends when npx or the launcher is killed", async () => {
    const { child, output } = await startDev(inGroup);
    child.kill("SIGKILL");
    await allEnded();
    expect(output()).toMatch(/SIGTERM: stopping[\s\S]*Stopped/);
    const { child: npx } = await startDev(inGroup);
    const programs = processesOf(programOfNpx());
    // The service is the first process of the program; the others are for the user's code.
    const [launcher = 0] = programs.map(parentOf).filter((pid) => !programs.includes(pid));
    expect(readFileSync(`/proc/${launcher}/comm`, "utf8")).toBe("node\n");
    process.kill(launcher, "SIGKILL");
    await allEnded();
    expect(await npx.exited).not.toBe(0);
  });
});
