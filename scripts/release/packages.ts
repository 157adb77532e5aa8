/**
 * The packages of npm: `@socle/client` and the bindings; a package for each platform, with the executable of the release; and
 * `socle`, the launcher, which has the packages of the platforms as optional dependencies.
 */
import { chmod, copyFile, cp, link, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { buildPackages, clientPackages } from "../build-client.ts";
import { must, root } from "../run.ts";
import { type Platform, platformOf } from "./platforms.ts";

interface Packing {
  readonly version: string;
  /** The paths of the executables that get a package, by the name of the platform in a release. */
  readonly executables: ReadonlyMap<string, string>;
  /** The folder for the files of the packages, which is emptied before. */
  readonly folder: string;
}

const licence = join(root, "LICENSE");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly [key: string]: unknown;
}

/** Packs a folder of files with a manifest. Answers the path of the package. */
async function pack(stage: string, manifest: Manifest, folder: string): Promise<string> {
  await writeFile(join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await must(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder], { cwd: stage });
  return join(folder, `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`);
}

/** Runs a step with a temporary folder. */
async function staged<T>(work: (stage: string) => Promise<T>): Promise<T> {
  const stage = await mkdtemp(join(tmpdir(), "socle-package-"));
  try {
    return await work(stage);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Packs `@socle/client` or a binding: the package of the workspace as built, with the version of the release. */
function packClient(name: string, { version, folder }: Packing): Promise<string> {
  const source = join(root, "packages", name);
  return staged(async (stage) => {
    for (const part of ["README.md", "LICENSE", "dist"])
      await cp(join(source, part), join(stage, part), { recursive: true });
    const { devDependencies: _, ...manifest } = await Bun.file(join(source, "package.json")).json();
    const own: object = manifest.peerDependencies ?? {};
    const peerDependencies = Object.fromEntries(
      Object.entries(own).map(([peer, range]) => [peer, peer.startsWith("@socle/") ? version : range]),
    );
    return pack(stage, { ...manifest, version, peerDependencies }, folder);
  });
}

/** The name of the npm package with the executable of a platform, as the launcher looks for the package. */
function packageOf({ name }: Platform): string {
  return `@socle/${name.replace("macos", "darwin")}`;
}

/** Packs an executable. */
function packExecutable(platform: Platform, executable: string, { version, folder }: Packing): Promise<string> {
  const { os, cpu, libc } = platform.npm;
  const name = packageOf(platform);
  return staged(async (stage) => {
    const path = join(stage, "bin", os === "win32" ? "socle.exe" : "socle");
    await mkdir(join(stage, "bin"));
    // A link costs no copy; the temporary folder may be on another disk.
    await link(executable, path).catch(() => copyFile(executable, path));
    await chmod(path, 0o755);
    await copyFile(licence, join(stage, "LICENSE"));
    await copyFile(join(root, "docs/licences.md"), join(stage, "LICENCES.md"));
    const about = `The executable of Socle, a backend in one file, for ${platform.name}. The package \`socle\` installs this package.`;
    await writeFile(join(stage, "README.md"), `# ${name}\n\n${about}\n`);
    const manifest = {
      ...{ name, version, license: "MIT", description: `The executable of Socle for ${platform.name}.` },
      ...{ os: [os], cpu: [cpu], files: ["bin", "LICENCES.md"], preferUnplugged: true },
    };
    return pack(stage, libc === undefined ? manifest : { ...manifest, libc: [libc] }, folder);
  });
}

/** Packs the executables and the launcher, in the order for publishing: who installs the launcher finds the executables. */
export async function packLauncher(packing: Packing): Promise<string[]> {
  const { version, executables, folder } = packing;
  const packed: string[] = [];
  const optionalDependencies: Record<string, string> = {};
  for (const [name, executable] of executables) {
    const platform = platformOf(name);
    packed.push(await packExecutable(platform, executable, packing));
    optionalDependencies[packageOf(platform)] = version;
  }
  const source = join(root, "packages/launcher");
  const launcher = await staged(async (stage) => {
    for (const part of ["README.md", "src"]) await cp(join(source, part), join(stage, part), { recursive: true });
    await copyFile(licence, join(stage, "LICENSE"));
    const manifest = {
      ...{ name: "socle", version, license: "MIT" },
      description: "A backend in one file: records, permissions, auth, files, realtime and your own TypeScript.",
      keywords: ["backend", "baas", "sqlite", "realtime", "auth"],
      ...{ type: "module", bin: { socle: "src/launcher.mjs" }, files: ["src"], engines: { node: ">=20" } },
      optionalDependencies,
    };
    return pack(stage, manifest, folder);
  });
  return [...packed, launcher];
}

/** The script that publishes the packages in order; a second run goes on after a failure. */
function publishScript(files: readonly string[], version: string): string {
  return `#!/bin/sh
# Publishes the packages of Socle ${version} in order. A package that the registry has is left out.
set -e
cd "$(dirname "$0")"
for file in ${files.map((file) => basename(file)).join(" ")}; do
  name=$(tar -xzOf "$file" package/package.json | sed -n 's/^  "name": "\\(.*\\)",$/\\1/p')
  if [ "$(npm view "$name@${version}" version 2> /dev/null)" = "${version}" ]; then
    echo "$name@${version} is published already"
  else
    npm publish "./$file" --access public "$@"
  fi
done
`;
}

/**
 * Builds the client and the bindings, and packs all packages into a folder, with `publish.sh`, which publishes the packages.
 * @returns the paths of the packages, in the order for publishing.
 */
export async function packPackages(packing: Packing): Promise<string[]> {
  const { folder, version } = packing;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await buildPackages();
  const files: string[] = [];
  for (const name of clientPackages) files.push(await packClient(name, packing));
  files.push(...(await packLauncher(packing)));
  await writeFile(join(folder, "publish.sh"), publishScript(files, version), { mode: 0o755 });
  return files;
}
