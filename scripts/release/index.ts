/**
 * A release: for each platform an archive with the executable and the licences; the image for containers, the packages of npm, the list of
 * parts, the notes, the script of an installation, and the signed sums of all files. The same commit makes the same files.
 */
import { spawnSync } from "node:child_process";
import type { KeyObject } from "node:crypto";
import { statSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import packageJson from "../../package.json" with { type: "json" };
import { releaseKey } from "../../packages/server/src/cli/release-key.ts";
import { buildDashboard } from "../build-dashboard.ts";
import { commitTime, compile, ownPlatform } from "../compile.ts";
import { root } from "../run.ts";
import { sha256, writeArchive } from "./archive.ts";
import { makeImage } from "./image.ts";
import { inspectExecutable } from "./inspect.ts";
import { publicKeyOf, signatureOf } from "./keys.ts";
import { deployFiles, notesOf, type ReleasedFile } from "./notes.ts";
import { packPackages } from "./packages.ts";
import { licenceTexts, partsList } from "./parts.ts";
import { fetchRuntime, type Platform, platformOf, platforms } from "./platforms.ts";

export interface ReleaseOptions {
  /** The folder of the release, which is made anew. */
  readonly folder: string;
  /** The platforms by name; all without a list. */
  readonly only?: readonly string[];
  /** The private key; a release without a key has no signature. The executables check signatures with its public half. */
  readonly key?: KeyObject;
}

interface Executable {
  readonly platform: Platform;
  readonly path: string;
  /** The output of `socle version`; null on a machine that cannot start the executable. */
  readonly build: string | null;
}

/** Compiles the executable of a platform into a folder, looks into the file, and starts the file where the machine can. */
async function makeExecutable(platform: Platform, folder: string, key?: KeyObject): Promise<Executable> {
  const runtime = await fetchRuntime(platform);
  const path = join(folder, platform.name, platform.file.replace("bun", "socle"));
  try {
    const target = { platform: platform.name, bun: platform.bun, runtime };
    await compile(path, { target, ...(key !== undefined && { publicKey: publicKeyOf(key) }) });
  } finally {
    await rm(dirname(dirname(dirname(runtime))), { recursive: true, force: true });
  }
  await inspectExecutable(path, platform.bun);
  if (platform.name !== ownPlatform()) return { platform, path, build: null };
  const { status, stdout } = spawnSync(path, ["version"], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${path} does not start on this machine`);
  return { platform, path, build: stdout.trim() };
}

/** Makes a release. */
export async function release(options: ReleaseOptions): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "socle-release-"));
  try {
    await releaseIn(work, options);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** @param work the folder of the executables. */
async function releaseIn(work: string, { folder, only, key }: ReleaseOptions): Promise<void> {
  const chosen = only?.map(platformOf) ?? platforms;
  const { version } = packageJson;
  const changedAt = commitTime();
  const executables = new Map<string, string>();
  await buildDashboard();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const licences = join(folder, "LICENCES.txt");
  await writeFile(licences, licenceTexts());
  const files: ReleasedFile[] = [];
  let build = version;
  for (const platform of chosen) {
    const made = await makeExecutable(platform, work, key);
    const name = `socle-${version}-${platform.name}.tar.gz`;
    await writeArchive(join(folder, name), {
      changedAt,
      files: [
        { name: platform.file.replace("bun", "socle"), path: made.path, mode: 0o755 },
        { name: "LICENCES.txt", path: licences, mode: 0o644 },
      ],
    });
    const sizes = { size: statSync(join(folder, name)).size, unpacked: statSync(made.path).size };
    files.push({ name, platform, ...sizes, isTried: made.build !== null });
    executables.set(platform.name, made.path);
    build = made.build ?? build;
    console.log(name);
  }
  const image = await makeImage(folder, { version, executables, licences, changedAt });
  if ("name" in image) console.log(image.name);
  await writeFile(join(folder, `socle-${version}.cdx.json`), partsList(version, changedAt));
  await writeFile(join(folder, "NOTES.md"), notesOf(version, { files, build, image }));
  for (const name of deployFiles) await copyFile(join(root, "deploy", name), join(folder, name));
  const script = await readFile(join(root, "deploy/install.sh"), "utf8");
  const publicKey = key === undefined ? releaseKey : publicKeyOf(key);
  await writeFile(join(folder, "install.sh"), script.replace("@KEY@", publicKey), { mode: 0o755 });
  await packPackages({ version, executables, folder: join(folder, "packages") });
  await writeSums(folder, key);
  if ("reason" in image) console.log(`This release has no image for containers: ${image.reason}`);
  else for (const reason of image.lacks) console.log(`The image for containers lacks ${reason}`);
}

/** Writes SHA256SUMS, and the signature of SHA256SUMS. */
async function writeSums(folder: string, key?: KeyObject): Promise<void> {
  const names = [...new Glob("**").scanSync(folder)].sort();
  const lines: string[] = [];
  for (const name of names) lines.push(`${await sha256(join(folder, name))}  ${name}\n`);
  const sums = lines.join("");
  await writeFile(join(folder, "SHA256SUMS"), sums);
  if (key !== undefined) await writeFile(join(folder, "SHA256SUMS.sig"), signatureOf(sums, key));
}
