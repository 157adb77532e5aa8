/**
 * `npm run build:all`: the executable for every platform, and SHA256SUMS beside the executables, in dist/release. The script looks
 * into each executable; on Linux, the script tries the executable for this machine in a bare root.
 */
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { buildDashboard } from "./build-dashboard.ts";
import { compile } from "./compile.ts";
import { inspectExecutable } from "./inspect-executable.ts";
import { must, root } from "./run.ts";

interface Platform {
  /** The name of the platform in the file's name. */
  readonly name: string;
  /** Bun's name of the platform, and the name of the npm package that brings the runtime. */
  readonly target: string;
  readonly windows?: boolean;
}

const platforms: readonly Platform[] = [
  { name: "linux-x64", target: "bun-linux-x64" },
  { name: "linux-arm64", target: "bun-linux-aarch64" },
  { name: "linux-x64-musl", target: "bun-linux-x64-musl" },
  { name: "linux-arm64-musl", target: "bun-linux-aarch64-musl" },
  { name: "macos-x64", target: "bun-darwin-x64" },
  { name: "macos-arm64", target: "bun-darwin-aarch64" },
  { name: "windows-x64", target: "bun-windows-x64", windows: true },
];

/** Fetches a platform's runtime from the npm registry, in the version that is pinned. */
async function fetchRuntime({ target, windows }: Platform, folder: string): Promise<string> {
  const version = packageJson.devDependencies.bun;
  const pack = Bun.spawnSync(["npm", "pack", "--silent", `@oven/${target}@${version}`], {
    cwd: folder,
    stderr: "inherit",
  });
  const archive = pack.stdout.toString().trim().split("\n").at(-1) ?? "";
  if (pack.exitCode !== 0) throw new Error(`npm pack @oven/${target}@${version} failed`);
  const extract = Bun.spawnSync(["tar", "-xzf", archive], { cwd: folder, stderr: "inherit" });
  if (extract.exitCode !== 0) throw new Error(`${archive} cannot be extracted`);
  await rm(join(folder, archive));
  const runtime = join(folder, "package", "bin", windows === true ? "bun.exe" : "bun");
  await chmod(runtime, 0o755);
  return runtime;
}

const release = join(root, "dist", "release");
await buildDashboard();
await rm(release, { recursive: true, force: true });
await mkdir(release, { recursive: true });
const sums: string[] = [];
for (const platform of platforms) {
  const folder = await mkdtemp(join(tmpdir(), "socle-runtime-"));
  try {
    const file = `socle-${packageJson.version}-${platform.name}${platform.windows === true ? ".exe" : ""}`;
    const outfile = join(release, file);
    await compile(outfile, { name: platform.target, runtime: await fetchRuntime(platform, folder) });
    await inspectExecutable(outfile, platform.target);
    const hash = new Bun.SHA256();
    for await (const chunk of Bun.file(outfile).stream()) hash.update(chunk);
    sums.push(`${hash.digest("hex")}  ${file}`);
    console.log(`${file}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
await Bun.write(join(release, "SHA256SUMS"), `${sums.join("\n")}\n`);

if (process.platform === "linux") {
  const own = join(release, `socle-${packageJson.version}-linux-${process.arch}`);
  await must([process.execPath, "test", "--timeout=120000", "./e2e/alone.test.ts"], { env: { SOCLE_EXECUTABLE: own } });
}
