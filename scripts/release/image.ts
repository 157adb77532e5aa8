/**
 * The image of a release for containers: the executable, the C library that the executable is linked with, and CA certificates. The image
 * is an OCI layout in a tar, with a list for older versions of Docker, made without root and without Docker by the library of `crane`
 * (go-containerregistry; see oci/main.go).
 */
import { readdirSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { rootCertificates } from "node:tls";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../run.ts";
import { type ArchiveEntry, writeArchive } from "./archive.ts";
import { ask, type CLibrary, cLibraryOf, MissingTool } from "./libraries.ts";

/** The platforms of the image: the name in a release, and the name that Debian and Go have for the processor. */
const architectures = new Map([
  ["linux-x64", "amd64"],
  ["linux-arm64", "arm64"],
]);

/** A user without a name. A new volume takes over the owner of `/data`. */
const user = 65534;

/** How a container runs: the part `config` of an OCI image configuration, with `Healthcheck`, Docker's extension. */
export interface ContainerConfig {
  readonly User: string;
  readonly WorkingDir: string;
  /** `NAME=value` */
  readonly Env: readonly string[];
  readonly Volumes: Readonly<Record<string, object>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  /** Times in nanoseconds. */
  readonly Healthcheck: {
    readonly Test: readonly string[];
    readonly Interval: number;
    readonly Timeout: number;
    readonly StartPeriod: number;
  };
  readonly Labels: Readonly<Record<string, string>>;
}

/** The configuration of the image; deploy/Dockerfile says the same. @param labels without the prefix `org.opencontainers.image.` */
export function containerConfig(labels: Readonly<Record<string, string>>): ContainerConfig {
  const second = 1_000_000_000;
  return {
    User: `${user}:${user}`,
    // The project: config.json, collections/, functions/, jobs/.
    WorkingDir: "/app",
    Env: [
      // The address of the container: nobody outside reaches the 127.0.0.1 that a project may name.
      "SERVICE_HOST=0.0.0.0",
      "SERVICE_DATABASE=/data/socle.db",
      "SERVICE_STORAGE=/data/storage",
      "SERVICE_LOG_FORMAT=json",
    ],
    Volumes: { "/data": {} },
    ExposedPorts: { "8080/tcp": {} },
    Entrypoint: ["/socle"],
    Cmd: ["serve"],
    Healthcheck: {
      Test: ["CMD", "/socle", "health"],
      Interval: 30 * second,
      Timeout: 6 * second,
      StartPeriod: 30 * second,
    },
    Labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [`org.opencontainers.image.${name}`, value]),
    ),
  };
}

function labelsOf(version: string, changedAt: number): Record<string, string> {
  const git = Bun.spawnSync(["git", "rev-parse", "HEAD"], { cwd: root, stderr: "ignore" });
  return {
    title: "Socle",
    description: packageJson.description,
    version,
    licenses: packageJson.license,
    created: new Date(changedAt).toISOString(),
    ...(git.success && { revision: git.stdout.toString().trim() }),
  };
}

export interface ImageParts {
  readonly version: string;
  /** The executables of the release, by the names of platforms. */
  readonly executables: ReadonlyMap<string, string>;
  /** The file with the licences of the executable. */
  readonly licences: string;
  /** The time of the commit in milliseconds. */
  readonly changedAt: number;
}

export interface MadeImage {
  /** The name of the file in the folder of the release. */
  readonly name: string;
  /** The size of the file in bytes. */
  readonly size: number;
  /** The platforms, with the size of the unpacked files in bytes and the version of Debian's libc6. */
  readonly platforms: readonly { readonly name: string; readonly unpacked: number; readonly libc: string }[];
  /** For each platform that the image lacks: the reason. */
  readonly lacks: readonly string[];
}

/** The files of an image, with each folder before its files, in the order of their names. */
async function entriesOf(executable: string, parts: ImageParts & { libc: CLibrary; work: string }) {
  const certificates = join(parts.work, "ca-certificates.crt");
  // Mozilla's list, which the pinned version of Bun has.
  await writeFile(certificates, `${rootCertificates.join("\n")}\n`);
  const files: ArchiveEntry[] = [
    { name: "socle", path: executable, mode: 0o755 },
    { name: "etc/ssl/certs/ca-certificates.crt", path: certificates, mode: 0o644 },
    { name: "usr/share/doc/socle/LICENCES.txt", path: parts.licences, mode: 0o644 },
    ...parts.libc.files,
  ];
  const folders = new Set<string>();
  for (const { name } of files)
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) folders.add(folder);
  const entries: ArchiveEntry[] = [
    ...files,
    ...[...folders, "app"].map((name): ArchiveEntry => ({ name: `${name}/`, mode: 0o755 })),
    { name: "data/", mode: 0o700, owner: user },
  ];
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Builds the program of oci/main.go; its libraries have the versions and the sums of go.mod and go.sum. */
export function buildLayoutTool(work: string): string {
  const tool = join(work, "oci");
  ask(["go", "build", "-trimpath", "-o", tool, "."], {
    cwd: join(import.meta.dirname, "oci"),
    env: { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off" },
  });
  return tool;
}

/** Makes the image in the folder of a release. @throws MissingTool for a program or package that this machine cannot have. */
async function make(folder: string, parts: ImageParts & { work: string }): Promise<MadeImage> {
  const { version, changedAt, work } = parts;
  const tool = buildLayoutTool(work);
  const made: { name: string; unpacked: number; libc: string; architecture: string; layer: string }[] = [];
  const lacks: string[] = [];
  for (const [name, architecture] of architectures) {
    const executable = parts.executables.get(name);
    if (executable === undefined) continue;
    const own = await mkdtemp(join(work, `${architecture}-`));
    try {
      const libc = await cLibraryOf(executable, { architecture, work: own });
      const entries = await entriesOf(executable, { ...parts, libc, work: own });
      const layer = join(own, "layer.tar.gz");
      await writeArchive(layer, { files: entries, changedAt });
      const sizes = entries.map((entry) => ("path" in entry ? statSync(entry.path).size : 0));
      made.push({ name, unpacked: sizes.reduce((a, b) => a + b), libc: libc.version, architecture, layer });
    } catch (thrown) {
      if (!(thrown instanceof MissingTool)) throw thrown;
      lacks.push(`${name}: ${thrown.message}`);
    }
  }
  if (made.length === 0)
    throw new MissingTool(lacks.join("; ") || "the release has no executable for Linux with glibc");
  const layout = join(work, "layout");
  const order = {
    folder: layout,
    name: "socle",
    tag: version,
    created: new Date(changedAt).toISOString(),
    config: containerConfig(labelsOf(version, changedAt)),
    platforms: made.map(({ architecture, layer }, i) => ({
      architecture,
      layer,
      tag: i === 0 ? version : `${version}-${architecture}`,
    })),
  };
  const written = Bun.spawnSync([tool], { stdin: Buffer.from(JSON.stringify(order)) });
  if (written.exitCode !== 0) throw new Error(`the image cannot be made: ${written.stderr.toString().trim()}`);
  const name = `socle-${version}-image.tar`;
  const files = readdirSync(layout, { recursive: true, withFileTypes: true }).map((entry): ArchiveEntry => {
    const path = join(entry.parentPath, entry.name);
    const within = path.slice(layout.length + 1);
    return entry.isFile() ? { name: within, path, mode: 0o644 } : { name: `${within}/`, mode: 0o755 };
  });
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  await writeArchive(join(folder, name), { files, changedAt });
  return { name, size: statSync(join(folder, name)).size, platforms: made, lacks };
}

/** Makes the image in the folder of a release; answers the reason where the machine lacks a program or a package for the image. */
export async function makeImage(folder: string, parts: ImageParts): Promise<MadeImage | { readonly reason: string }> {
  const work = await mkdtemp(join(tmpdir(), "socle-image-"));
  try {
    return await make(folder, { ...parts, work });
  } catch (thrown) {
    if (thrown instanceof MissingTool) return { reason: thrown.message };
    throw thrown;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
