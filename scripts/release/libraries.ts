/**
 * The C library of an image: the files that an executable is linked with, from Debian's package libc6 for the platform of the
 * executable. apt-get fetches the package for any platform, checks its signature with the keys of this machine, and needs no root.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ArchivedFile } from "./archive.ts";

/** A program or a package that cannot be had on this machine. */
export class MissingTool extends Error {}

interface Linked {
  /** The path of the loader: `/lib64/ld-linux-x86-64.so.2`; null for a library. */
  readonly loader: string | null;
  /** The names of libraries: `libc.so.6`. */
  readonly libraries: readonly string[];
}

/** The loader and the libraries that an ELF file of 64 bits names (System V ABI, "Program Header" and "Dynamic Section"). */
function linkedWith(path: string): Linked {
  const bytes = readFileSync(path);
  const number = (at: number): number => Number(bytes.readBigUInt64LE(at));
  const text = (at: number): string => bytes.toString("latin1", at, bytes.indexOf(0, at));
  const segments = Array.from({ length: bytes.readUInt16LE(56) }, (_, i) => {
    const at = number(32) + i * bytes.readUInt16LE(54);
    return { type: bytes.readUInt32LE(at), offset: number(at + 8), address: number(at + 16), size: number(at + 32) };
  });
  const interpreter = segments.find(({ type }) => type === 3);
  const dynamic = segments.find(({ type }) => type === 2) ?? { offset: 0, size: 0 };
  const entries: { readonly tag: number; readonly value: number }[] = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const entry = { tag: number(at), value: number(at + 8) };
    if (entry.tag === 0) break;
    entries.push(entry);
  }
  const names = entries.find(({ tag }) => tag === 5)?.value ?? 0;
  const loaded = segments.find(
    ({ type, address, size }) => type === 1 && names >= address && names < address + size,
  ) ?? { offset: 0, address: 0 };
  const start = names - loaded.address + loaded.offset;
  const libraries = entries.filter(({ tag }) => tag === 1).map(({ value }) => text(start + value));
  return { loader: interpreter === undefined ? null : text(interpreter.offset), libraries };
}

/** Runs a program; answers the output. @throws MissingTool when the program is not there or fails. */
export function ask(command: readonly [string, ...string[]], options: { cwd: string; env?: object }): string {
  const [program] = command;
  if (Bun.which(program, { PATH: process.env["PATH"] ?? "" }) === null)
    throw new MissingTool(`${program} is not there`);
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: options.cwd,
    env: { ...process.env, LC_ALL: "C", ...options.env },
  });
  if (exitCode === 0) return stdout.toString().trim();
  const [last = ""] = stderr.toString().trim().split("\n").reverse();
  throw new MissingTool(`${command.join(" ")} failed: ${last}`);
}

interface UnpackedPackage {
  readonly folder: string;
  /** The version of the package: `2.36-9+deb12u14`. */
  readonly version: string;
}

/** Fetches libc6 for an architecture by Debian's name, and unpacks the package. The package lists of this machine stay as they are. */
async function fetchLibc(architecture: string, work: string): Promise<UnpackedPackage> {
  const state = join(work, "apt");
  for (const folder of ["lists/partial", "cache/archives/partial"])
    await mkdir(join(state, folder), { recursive: true });
  await writeFile(join(state, "status"), "");
  const options = [
    ["Dir::State", state],
    ["Dir::State::status", join(state, "status")],
    ["Dir::Cache", join(state, "cache")],
    ["APT::Architecture", architecture],
    ["APT::Architectures", architecture],
    ["APT::Sandbox::User", ""],
    ["Acquire::Languages", "none"],
  ].flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  ask(["apt-get", "--quiet", ...options, "update"], { cwd: work });
  ask(["apt-get", "--quiet", ...options, "download", "libc6"], { cwd: work });
  const file = readdirSync(work).find((name) => name.startsWith("libc6_")) ?? "";
  const folder = join(work, "libc6");
  ask(["dpkg-deb", "--extract", file, folder], { cwd: work });
  return { folder, version: ask(["dpkg-deb", "--field", file, "Version"], { cwd: work }) };
}

export interface CLibrary {
  readonly version: string;
  /** The loader, the libraries, and the licence. */
  readonly files: readonly ArchivedFile[];
}

/** The C library of an executable, at the paths where the executable and the loader look. @param work an empty folder. */
export async function cLibraryOf(executable: string, on: { architecture: string; work: string }): Promise<CLibrary> {
  const { folder, version } = await fetchLibc(on.architecture, on.work);
  // The package names some files twice: the second time as a link.
  const packed = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const find = (name: string): string => {
    const found = packed.find((entry) => entry.name === name);
    if (found === undefined) throw new Error(`${executable} needs ${name}, which libc6 ${version} does not have`);
    return join(found.parentPath, name);
  };
  const { loader, libraries } = linkedWith(executable);
  if (loader === null) throw new Error(`${executable} names no loader`);
  const loaderFile = find(basename(loader));
  const files: ArchivedFile[] = [{ name: loader.slice(1), path: loaderFile, mode: 0o755 }];
  const names = new Set(libraries);
  // The set grows while the loop runs: libraries are linked with libraries.
  for (const name of names) {
    if (name === basename(loader)) continue;
    const path = find(name);
    files.push({ name: join("lib", basename(dirname(path)), name), path, mode: 0o755 });
    for (const other of linkedWith(path).libraries) names.add(other);
  }
  const licence = "usr/share/doc/libc6/copyright";
  files.push({ name: licence, path: join(folder, licence), mode: 0o644 });
  return { version, files };
}
