/**
 * `socle upgrade`: replaces this executable by the executable of a signed release. The signature of SHA256SUMS (Ed25519) and the sum of the
 * archive are checked before a byte of the archive is used. The file changes its name at the end, in one step: a running service keeps the
 * old executable until the service is started again.
 */
import { verify } from "node:crypto";
import { chmodSync, existsSync, linkSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { build, knownSchemas, platform } from "../../app/index.ts";
import { isObject, messageOf, SetupError } from "../../base/kernel/index.ts";
import { DatabaseFile, syncFolder, versionsOf } from "../../store/database/index.ts";
import { type Command, type CommandInvocation, UsageError } from "../command.ts";
import { releaseKey } from "../release-key.ts";
import { isLoopback } from "../remote.ts";

/** The largest archive, in bytes: an archive has about 50 MB. */
const longestArchive = 1024 ** 3;
const longestText = 1024 ** 2;
/** The time that the new executable has to tell its version, in milliseconds. */
const tellsWithinMs = 20_000;

/** The answer of `socle version --json`. */
export interface BuildInfo {
  readonly version: string;
  readonly platform: string;
  /** The version of each module's tables that the executable knows. */
  readonly schemas: { readonly [module: string]: number };
}

export const buildInfo: BuildInfo = { version: build, platform, schemas: knownSchemas };

/** A release: a folder with archives, `SHA256SUMS` and `SHA256SUMS.sig`, on a disk or a server. */
interface Release {
  readonly folder: URL;
  /** The archive that was named; null for the archive of this platform. */
  readonly archive: string | null;
}

function releaseAt(place: string): Release {
  const isUrl = /^[a-z][a-z\d+.-]+:\/\//i.test(place);
  if (isUrl && !URL.canParse(place)) throw new UsageError(`"${place}" is not an address`);
  const url = isUrl ? new URL(place) : pathToFileURL(resolve(place));
  if (!["https:", "file:"].includes(url.protocol) && !(url.protocol === "http:" && isLoopback(place)))
    throw new UsageError(`"${place}": an upgrade comes from a file or over https`);
  if (!isUrl && !existsSync(url)) throw new SetupError(`there is no file ${place}`);
  const isFolder = isUrl ? !url.pathname.endsWith(".tar.gz") : statSync(url).isDirectory();
  const path = url.pathname.replace(/\/+$/, "");
  const folder = new URL(url);
  folder.pathname = isFolder ? `${path}/` : path.slice(0, path.lastIndexOf("/") + 1);
  return { folder, archive: isFolder ? null : decodeURIComponent(basename(path)) };
}

/** The bytes of a file of a release. @throws SetupError for a file that cannot be read, is cut off, or has more than `longest` bytes. */
async function read({ folder }: Release, name: string, longest: number): Promise<Uint8Array> {
  const url = new URL(encodeURIComponent(name), folder);
  url.search = folder.search;
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    for await (const piece of answer.body ?? []) {
      size += piece.byteLength;
      if (size > longest) throw new Error(`the file has more than ${longest} bytes`);
      pieces.push(piece);
    }
  } catch (thrown) {
    const path = url.protocol === "file:" ? decodeURIComponent(url.pathname) : url.href;
    throw new SetupError(`${path} cannot be read: ${messageOf(thrown)}; nothing was changed`);
  }
  return Bun.concatArrayBuffers(pieces, longest, true);
}

/** The sums of a release by the names of files. @throws SetupError for sums that are not signed with the key of releases. */
async function sumsOf(release: Release): Promise<ReadonlyMap<string, string>> {
  const sums = await read(release, "SHA256SUMS", longestText);
  const signature = Buffer.from(Buffer.from(await read(release, "SHA256SUMS.sig", longestText)).toString(), "base64");
  const key = { key: { kty: "OKP", crv: "Ed25519", x: releaseKey }, format: "jwk" } as const;
  if (!verify(null, sums, key, signature))
    throw new SetupError(
      "the signature of SHA256SUMS is not by the key of Socle's releases: the files were changed, or are not a release; nothing was changed",
    );
  const lines = Buffer.from(sums).toString().trim().split("\n");
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** The checked archive of a release, for this platform unless the archive was named. */
async function archiveOf(release: Release): Promise<{ name: string; bytes: Uint8Array }> {
  const sums = await sumsOf(release);
  const name = release.archive ?? [...sums.keys()].find((each) => each.endsWith(`-${platform}.tar.gz`));
  if (name === undefined) {
    const archives = [...sums.keys()].filter((each) => each.endsWith(".tar.gz"));
    throw new SetupError(`the release has no build for ${platform}; it has: ${archives.join(", ")}`);
  }
  const sum = sums.get(name);
  if (sum === undefined) throw new SetupError(`SHA256SUMS of the release does not name ${name}; nothing was changed`);
  const bytes = await read(release, name, longestArchive);
  if (new Bun.SHA256().update(bytes).digest("hex") !== sum)
    throw new SetupError(
      `${name} is damaged or incomplete: its sum differs from SHA256SUMS; fetch it again. Nothing was changed`,
    );
  return { name, bytes };
}

function isBuildInfo(answer: unknown): answer is BuildInfo {
  if (!isObject(answer) || !isObject(answer["schemas"])) return false;
  return typeof answer["version"] === "string" && Object.values(answer["schemas"]).every(Number.isInteger);
}

/** The answer of a new executable to `version --json`. @throws SetupError for an executable that this machine cannot start. */
function ask(executable: string, name: string): BuildInfo {
  const child = Bun.spawnSync([executable, "version", "--json"], { stderr: "pipe", timeout: tellsWithinMs });
  const refusal = child.stderr.toString().trim().split("\n")[0] ?? "";
  try {
    const answer: unknown = JSON.parse(child.stdout.toString());
    if (isBuildInfo(answer)) return answer;
  } catch {
    // The output of an executable that did not start is no JSON: the error below tells.
  }
  throw new SetupError(
    `${name} does not start on this machine (${platform})${refusal && `: ${refusal}`}; nothing was changed`,
  );
}

/** @throws SetupError for a version that is older than this version, or does not know all tables of the database. */
function assertNoDowngrade({ version, schemas }: BuildInfo, database: string): void {
  if (Bun.semver.order(version, build) < 0)
    throw new SetupError(
      `${version} is older than this version, ${build}; nothing was changed. The way back is the file that an upgrade kept`,
    );
  if (!existsSync(database)) return;
  const file = new DatabaseFile(database);
  try {
    const newer = [...versionsOf(file)].find(([module, made]) => made > (schemas[module] ?? 0));
    if (newer !== undefined)
      throw new SetupError(
        `database ${database}: its tables of ${newer[0]} are newer than ${version} knows; nothing was changed`,
      );
  } finally {
    file.close();
  }
}

/** Puts a new executable in the place of the old executable. Answers the path that the old executable has now. */
function exchange(fresh: string, path: string): string {
  const kept = join(dirname(path), `${basename(path, ".exe")}-${build}${path.endsWith(".exe") ? ".exe" : ""}`);
  rmSync(kept, { force: true });
  if (process.platform === "win32") {
    // Windows renames a running executable, and does not write over the executable.
    renameSync(path, kept);
    try {
      renameSync(fresh, path);
    } catch (thrown) {
      renameSync(kept, path);
      throw thrown;
    }
  } else {
    linkSync(path, kept);
    renameSync(fresh, path);
  }
  syncFolder(dirname(path));
  return kept;
}

async function upgradeWith({ args: [place = ""], terminal, load }: CommandInvocation): Promise<number> {
  if (!Bun.isStandaloneExecutable)
    throw new SetupError("this socle runs from its source: git pull and npm ci upgrade it");
  const path = process.execPath;
  if (path.includes(`${sep}node_modules${sep}`))
    throw new SetupError("this socle was installed by npm: npm install socle@latest upgrades it");
  const { config } = await load();
  const { name, bytes } = await archiveOf(releaseAt(place));
  const file = path.endsWith(".exe") ? "socle.exe" : "socle";
  let work: string | undefined;
  try {
    // Beside the executable: the new file changes its name at the end, which works within a disk only.
    work = mkdtempSync(join(dirname(path), ".socle-upgrade-"));
    await new Bun.Archive(bytes).extract(work, { glob: file });
    const fresh = join(work, file);
    if (!existsSync(fresh)) throw new SetupError(`${name} has no executable for ${platform}; nothing was changed`);
    chmodSync(fresh, statSync(path).mode & 0o777);
    const next = ask(fresh, name);
    if (next.version === build) {
      terminal.out(`This is ${build} already\n`);
      return 0;
    }
    assertNoDowngrade(next, config.database);
    const kept = exchange(fresh, path);
    terminal.out(`${path} is ${next.version} now; the former executable, ${build}, is ${kept}\n`);
  } catch (thrown) {
    if (thrown instanceof SetupError) throw thrown;
    throw new SetupError(
      `${dirname(path)}: the executable cannot be replaced: ${messageOf(thrown)}; nothing was changed`,
    );
  } finally {
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
  }
  terminal.out(
    config["cluster.journal"] === undefined
      ? "A running service keeps the former executable until the service is started again.\n"
      : "Start the instances again one after the other: replicas first, the leader last. An instance that leads hands over first.\n",
  );
  return 0;
}

export const upgrade: Command = {
  name: "upgrade",
  args: ["FILE|URL"],
  summary: "Replace this executable by a newer, signed release; also while the service runs",
  run: upgradeWith,
};
