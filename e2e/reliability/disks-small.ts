/**
 * A small disk: a tmpfs in a separate mount namespace, without privileges. The service runs inside; the
 * test reads and fills the disk from outside. The disk ends with the process that made the disk.
 */
import { rmSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../kit.ts";

const ballast = "ballast";

export interface SmallDisk {
  /** The path of the disk for processes inside. */
  readonly inside: string;
  /** The same folder, for processes outside. */
  readonly outside: string;
  /** The command line with which a command runs inside. */
  command(args: readonly string[]): string[];
  /** Writes until nothing fits, but for `left` bytes. */
  fill(left?: number): void;
  /** Removes the bytes that `fill` has written. */
  makeRoom(): void;
  /** Runs a shell's commands inside. @throws Error when a command fails. */
  run(script: string): void;
  close(): Promise<void>;
}

export async function smallDisk(megabytes: number): Promise<SmallDisk> {
  const inside = temporaryFolder();
  // The shell ends with the input, so also with this process.
  const script = `mount -t tmpfs -o size=${megabytes}m none "$1" && echo ready && exec cat`;
  const holder = Bun.spawn(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", inside], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { value } = await holder.stdout.getReader().read();
  if (value === undefined) throw new Error(`No small disk could be made: ${await new Response(holder.stderr).text()}`);
  const outside = `/proc/${holder.pid}/root${inside}`;
  const makeRoom = (): void => rmSync(join(outside, ballast), { force: true });
  const command = (args: readonly string[]): string[] => [
    "nsenter",
    `--target=${holder.pid}`,
    "--user",
    "--mount",
    "--preserve-credentials",
    ...args,
  ];
  return {
    inside,
    outside,
    command,
    run(script) {
      const { success, stderr } = Bun.spawnSync(command(["sh", "-c", script]));
      if (!success) throw new Error(`${script}: ${stderr.toString()}`);
    },
    makeRoom,
    fill(left = 0) {
      makeRoom();
      const { bavail, bsize } = statfsSync(outside);
      const path = join(outside, ballast);
      try {
        writeFileSync(path, new Uint8Array(bavail * bsize));
      } catch {
        // The service writes, too: the disk is full a little earlier.
      }
      if (left > 0) truncateSync(path, Math.max(0, statSync(path).size - left));
    },
    async close() {
      holder.stdin.end();
      await holder.exited;
    },
  };
}
