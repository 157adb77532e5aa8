/** Inspection of an executable of another platform, which cannot be started on this machine. */
import { readFileSync } from "node:fs";
import { threads } from "../compile.ts";

/** The first bytes of an executable: the format, and the machine for formats that name the machine at the start. */
const headers: { readonly [target: string]: (bytes: Buffer) => boolean } = {
  "bun-linux-x64-baseline": (bytes) => isElf(bytes, 62),
  "bun-linux-x64-musl-baseline": (bytes) => isElf(bytes, 62),
  "bun-linux-aarch64": (bytes) => isElf(bytes, 183),
  "bun-linux-aarch64-musl": (bytes) => isElf(bytes, 183),
  "bun-darwin-x64-baseline": (bytes) => isMachO(bytes, 0x0100_0007),
  "bun-darwin-aarch64": (bytes) => isMachO(bytes, 0x0100_000c),
  "bun-windows-x64-baseline": (bytes) => bytes.toString("latin1", 0, 2) === "MZ",
};

/** ELF header (System V ABI): `e_machine` is at byte 18. */
function isElf(bytes: Buffer, machine: number): boolean {
  return bytes.toString("latin1", 0, 4) === "\x7fELF" && bytes.readUInt16LE(18) === machine;
}

/** Mach-O header: the magic number of 64 bits, then the type of processor. */
function isMachO(bytes: Buffer, cpu: number): boolean {
  return bytes.readUInt32LE(0) === 0xfeed_facf && bytes.readUInt32LE(4) === cpu;
}

/**
 * Makes sure that a file is an executable of the platform, and that the file holds every thread's module.
 * @throws Error that names the missing part.
 */
export async function inspectExecutable(path: string, target: string): Promise<void> {
  const bytes = readFileSync(path);
  if (headers[target]?.(bytes) !== true) throw new Error(`${path} is no executable for ${target}`);
  for (const thread of await threads()) {
    // `threadEntry` finds the module under this name.
    if (bytes.indexOf(`/root/${thread}.js`) < 0) throw new Error(`${path} lacks the module ${thread}`);
  }
}
