/**
 * The image of a release: an OCI layout whose blobs have their digests, the same bytes from the same executables, the files and the
 * configuration for both platforms, and the service started from the unpacked image of this machine's platform.
 */
import { beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import packageJson from "../../package.json" with { type: "json" };
import { sha256 } from "../../scripts/release/archive.ts";
import {
  buildLayoutTool,
  type ContainerConfig,
  containerConfig,
  type ImageParts,
  makeImage,
} from "../../scripts/release/image.ts";
import { fetchRuntime, platforms } from "../../scripts/release/platforms.ts";
import { expectLife } from "../container-life.ts";
import { executable, temporaryFolder } from "../kit.ts";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly annotations?: Record<string, string>;
}
interface Index {
  readonly manifests: readonly Descriptor[];
}
interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}
interface Configuration {
  readonly os: string;
  readonly architecture: string;
  readonly created: string;
  readonly config: ContainerConfig;
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

const { version } = packageJson;
const work = temporaryFolder();
const layout = join(work, "layout");
const name = `socle-${version}-image.tar`;
const changedAt = Date.parse("2026-01-02T03:04:05Z");
const vendor = "application/vnd.oci.image";
let parts: ImageParts;

beforeAll(async () => {
  expect([process.platform, process.arch]).toEqual(["linux", "x64"]);
  const licences = join(work, "LICENCES.txt");
  writeFileSync(licences, "licences");
  // For the other platform the runtime alone stands in: the executable is the runtime with more bytes at the end.
  const other = platforms.find((platform) => platform.name === "linux-arm64");
  if (other === undefined) throw new Error("there is no linux-arm64");
  const executables = new Map([
    ["linux-x64", executable],
    ["linux-arm64", await fetchRuntime(other)],
  ]);
  parts = { version, executables, licences, changedAt };
  const made = await makeImage(work, parts);
  // Names the program that this machine lacks.
  expect(made).toMatchObject({
    name,
    lacks: [],
    platforms: [
      { name: "linux-x64", libc: expect.stringMatching(/^2\.\d+/) },
      { name: "linux-arm64", libc: expect.stringMatching(/^2\.\d+/) },
    ],
  });
  mkdirSync(layout);
  expect(Bun.spawnSync(["tar", "-xf", join(work, name), "-C", layout]).exitCode).toBe(0);
});

const blobPath = (digest: string): string => join(layout, "blobs", digest.replace(":", "/"));

/** Reads a blob; expects the digest and the size of the descriptor. */
function blobOf({ digest, size }: Descriptor): Buffer {
  const bytes = readFileSync(blobPath(digest));
  expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(digest);
  expect(bytes.length).toBe(size);
  return bytes;
}

function read<T>(descriptor: Descriptor, mediaType: string): T {
  expect(descriptor.mediaType).toBe(`${vendor}.${mediaType}.v1+json`);
  const content: T = JSON.parse(blobOf(descriptor).toString());
  return content;
}

interface Image {
  readonly manifest: Manifest;
  readonly configuration: Configuration;
}

/** The images of the layout, by the name of the processor. */
function images(): Map<string, Image> {
  expect(JSON.parse(readFileSync(join(layout, "oci-layout"), "utf8"))).toEqual({ imageLayoutVersion: "1.0.0" });
  const top: Index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
  expect(top.manifests).toHaveLength(1);
  const [first] = top.manifests;
  if (first === undefined) throw new Error("the layout has no image");
  expect(first.annotations).toEqual({
    "org.opencontainers.image.ref.name": version,
    "io.containerd.image.name": `docker.io/library/socle:${version}`,
  });
  const { manifests } = read<Index>(first, "index");
  return new Map(
    manifests.map((descriptor): [string, Image] => {
      const manifest = read<Manifest>(descriptor, "manifest");
      const configuration = read<Configuration>(manifest.config, "config");
      const { os, architecture } = configuration;
      expect(descriptor.platform).toEqual({ os, architecture });
      return [architecture, { manifest, configuration }];
    }),
  );
}

/** The lines of `tar -tv` for the layer of an image. */
function filesOf({ manifest }: Image): string[] {
  const [layer] = manifest.layers;
  if (layer === undefined) throw new Error("the image has no layer");
  const list = Bun.spawnSync(["tar", "-tvzf", blobPath(layer.digest), "--full-time"], {
    env: { PATH: process.env["PATH"] ?? "", TZ: "UTC" },
  });
  return list.stdout.toString().trim().split("\n");
}

test("each blob of the layout has its digest, and no blob is left over", () => {
  const found = images();
  expect([...found.keys()]).toEqual(["amd64", "arm64"]);
  const named: string[] = [];
  for (const { manifest, configuration } of found.values()) {
    const contents = manifest.layers.map((layer) => gunzipSync(blobOf(layer)));
    expect(manifest.layers.map(({ mediaType }) => mediaType)).toEqual([`${vendor}.layer.v1.tar+gzip`]);
    expect([...configuration.rootfs.diff_ids]).toEqual(
      contents.map((bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`),
    );
    named.push(manifest.config.digest, ...manifest.layers.map(({ digest }) => digest));
  }
  const blobs = readdirSync(join(layout, "blobs/sha256"));
  // The index, and for each platform the manifest, the configuration and the layer.
  expect(blobs).toHaveLength(1 + 3 * 2);
  for (const digest of named) expect(blobs).toContain(digest.replace("sha256:", ""));
});

test("the list for older versions of Docker names the same blobs", () => {
  const list: unknown = JSON.parse(readFileSync(join(layout, "manifest.json"), "utf8"));
  const path = ({ digest }: Descriptor): string => `blobs/${digest.replace(":", "/")}`;
  const expected = [...images()].map(([architecture, { manifest }]) => ({
    Config: path(manifest.config),
    RepoTags: [`socle:${architecture === "amd64" ? version : `${version}-${architecture}`}`],
    Layers: manifest.layers.map(path),
  }));
  expect(list).toEqual(expected);
});

test("the library of crane finds no fault in the layout, and finds a changed byte", () => {
  const tool = buildLayoutTool(work);
  expect(Bun.spawnSync([tool, "validate", layout]).stderr.toString()).toBe("");
  const broken = mkdtempSync(join(work, "broken-"));
  expect(Bun.spawnSync(["cp", "-r", `${layout}/.`, broken]).exitCode).toBe(0);
  const [layer] = [...images().values()][0]?.manifest.layers ?? [];
  appendFileSync(join(broken, "blobs", layer?.digest.replace(":", "/") ?? ""), "x");
  const { exitCode, stderr } = Bun.spawnSync([tool, "validate", broken]);
  expect(exitCode).toBe(1);
  expect(stderr.toString()).toMatch(/failed to validate image .*validating layers/);
});

test("the image has the configuration of deploy/Dockerfile, and says version, licence and time", () => {
  for (const { configuration } of images().values()) {
    expect([configuration.os, configuration.created]).toEqual(["linux", "2026-01-02T03:04:05Z"]);
    const { Labels, ...run } = configuration.config;
    const { Labels: _, ...expected } = containerConfig({});
    expect(run).toEqual(expected);
    expect(Labels).toMatchObject({
      "org.opencontainers.image.title": "Socle",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "MIT",
      "org.opencontainers.image.created": "2026-01-02T03:04:05.000Z",
    });
  }
});

test("the files of the image: the executable, the C library, certificates and licences, all but /data of root; at most 150 MB", () => {
  const loaders = { amd64: "lib64/ld-linux-x86-64.so.2", arm64: "lib/ld-linux-aarch64.so.1" };
  const folders = { amd64: "lib/x86_64-linux-gnu/", arm64: "lib/aarch64-linux-gnu/" };
  for (const [architecture, image] of images()) {
    const processor = architecture === "amd64" ? "amd64" : "arm64";
    const files = filesOf(image).map((line) => line.split(/\s+/));
    const plain = files.filter(([mode]) => mode?.startsWith("-")).map((words) => words.at(-1) ?? "");
    const libraries = plain.filter((file) => file.startsWith(folders[processor]));
    expect(libraries).toContain(`${folders[processor]}libc.so.6`);
    expect(plain.filter((file) => !libraries.includes(file)).sort()).toEqual(
      [
        loaders[processor],
        "etc/ssl/certs/ca-certificates.crt",
        "socle",
        "usr/share/doc/libc6/copyright",
        "usr/share/doc/socle/LICENCES.txt",
      ].sort(),
    );
    for (const [mode = "", owner, , ...rest] of files) {
      const isData = rest.at(-1) === "data/";
      expect([mode, owner]).toEqual(
        isData
          ? ["drwx------", "65534/65534"]
          : [expect.stringMatching(/^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--)$/), "root/root"],
      );
      expect(rest.slice(0, 2)).toEqual(["2026-01-02", "03:04:05"]);
    }
    const unpacked = files.reduce((sum, [, , size]) => sum + Number(size), 0);
    expect(unpacked).toBeLessThanOrEqual(150_000_000);
  }
});

test("the same executables make the same bytes", async () => {
  const again = temporaryFolder();
  expect(await makeImage(again, parts)).toMatchObject({ name });
  expect(await sha256(join(again, name))).toBe(await sha256(join(work, name)));
});

test("the service starts from the image, as the image says", async () => {
  const image = images().get("amd64");
  if (image === undefined) throw new Error("the layout has no image for amd64");
  const unpacked = temporaryFolder();
  for (const layer of image.manifest.layers)
    expect(Bun.spawnSync(["tar", "-xzf", blobPath(layer.digest), "-C", unpacked]).exitCode).toBe(0);
  await expectLife(image.configuration.config, unpacked);
});

test("a machine without Go, or without apt-get, makes no image and says the reason", async () => {
  const path = process.env["PATH"];
  const empty = temporaryFolder();
  try {
    process.env["PATH"] = empty;
    expect(await makeImage(empty, parts)).toEqual({ reason: "go is not there" });
    copyFileSync(Bun.which("true", { PATH: path ?? "" }) ?? "", join(empty, "go"));
    expect(await makeImage(empty, parts)).toEqual({
      reason: "linux-x64: apt-get is not there; linux-arm64: apt-get is not there",
    });
    expect(readdirSync(empty)).toEqual(["go"]);
  } finally {
    process.env["PATH"] = path;
  }
  const { executables } = parts;
  const others = new Map([["macos-x64", executables.get("linux-x64") ?? ""]]);
  expect(await makeImage(empty, { ...parts, executables: others })).toEqual({
    reason: "the release has no executable for Linux with glibc",
  });
});
