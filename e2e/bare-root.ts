/**
 * A bare root for the executable: a file system that holds only the executable, the C library and a data folder. The root has
 * no source, no `node_modules`, no shell and no `/tmp`; only `/data` is writable. The executable runs as
 * process 1 of user 65534, without `HOME` or any other variable, as in a minimal container.
 *
 * Needs Linux with user namespaces, and util-linux (`unshare`, `mount`, `nsenter`).
 */
import { afterAll } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { executable, type Running, temporaryFolder, until } from "./kit.ts";

export interface Layout {
  /** The folder that is mounted writable as `/data`. */
  readonly data: string;
  /** A folder that is mounted read-only as `/app`; the service then starts in `/app` instead of `/data`. */
  readonly app?: string;
  /** The words after the executable. */
  readonly words?: readonly string[];
  /** The files of an image, unpacked, in place of a root of this kit. */
  readonly image?: string;
}

/** Every container has this device, and a process does not start without the device. */
const nullDevice = "/dev/null";

/** Every container has these places, which a container runtime makes. */
const places = ["app", "data", "dev", "proc"];

function makePlaces(root: string): void {
  for (const folder of places) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, nullDevice), "");
}

/** Puts the executable and its shared libraries into a folder. */
function fill(root: string): void {
  copyFileSync(executable, join(root, "socle"));
  const linked = Bun.spawnSync(["ldd", executable]).stdout.toString();
  for (const [path] of linked.matchAll(/\/\S+/g)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(path, join(root, path));
  }
}

/** The words of a shell script that mounts the root and starts the executable in the root. */
function mounting(root: string, { data, app, words = ["serve"] }: Layout): string {
  const mountApp = `mount --bind "${app}" "${root}/app" && mount -o remount,bind,ro "${root}/app"`;
  return [
    `mount --bind "${root}" "${root}"`,
    `mount -o remount,bind,ro "${root}"`,
    `mount --bind "${data}" "${root}/data"`,
    ...(app === undefined ? [] : [mountApp]),
    `mount --bind ${nullDevice} "${root}${nullDevice}"`,
    `exec unshare --user --map-user=65534 --map-group=65534 --mount --pid --fork --kill-child --root="${root}" --wd=${app === undefined ? "/data" : "/app"} --mount-proc /socle ${words.join(" ")}`,
  ].join(" && ");
}

/** The processes that a process has started. */
export function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.split(" ").filter(Boolean).map(Number);
}

/** Runs a command in the root and as the user of a service that was started by `serveBare`. Answers the exit code. */
export function runInside({ pid }: Running, words: readonly string[], env: Record<string, string> = {}): number {
  const enter = [
    "nsenter",
    `--target=${pid}`,
    "--user",
    "--preserve-credentials",
    "--mount",
    "--pid",
    "--root",
    "--wd",
  ];
  return Bun.spawnSync([...enter, ...words], { env: { PATH: process.env["PATH"] ?? "", ...env } }).exitCode;
}

/** Starts the executable in a bare root with these folders. */
export async function serveBare(layout: Layout, env: Record<string, string> = {}): Promise<Running> {
  const root = layout.image ?? temporaryFolder();
  makePlaces(root);
  if (layout.image === undefined) fill(root);
  const log = join(temporaryFolder(), "output");
  const child = Bun.spawn(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounting(root, layout)], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdin: "ignore",
    stdout: Bun.file(log),
    stderr: Bun.file(log),
  });
  const output = (): string => (existsSync(log) ? readFileSync(log, "utf8") : "");
  afterAll(() => {
    child.kill("SIGKILL");
    if (layout.image === undefined) rmSync(root, { recursive: true, force: true });
  });
  const exited = child.exited.then(() => child.exitCode);
  let url: string | undefined;
  await until(() => {
    if (child.exitCode !== null) throw new Error(`did not start (exit code ${child.exitCode}):\n${output()}`);
    url = /Listening on ([^\s"]+)[\n"]/.exec(output())?.[1];
    return url !== undefined;
  });
  // unshare has forked the executable: the process of this name is the service.
  const pid = childrenOf(child.pid).find(
    (each) => basename(readFileSync(`/proc/${each}/comm`, "utf8").trim()) === "socle",
  );
  if (url === undefined || pid === undefined) throw new Error(`The executable is not there:\n${output()}`);
  const signal = (name: NodeJS.Signals): void => {
    process.kill(pid, name);
  };
  return {
    url,
    pid,
    output,
    signal,
    exited,
    stop() {
      signal("SIGTERM");
      return exited;
    },
  };
}
