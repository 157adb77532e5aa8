/** The platforms of a release, and the runtime of each platform, which the npm registry has. */
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };

export interface Platform {
  /** The name of the platform in names of files: `linux-x64-musl`. */
  readonly name: string;
  /** Bun's name of the platform, and the name of the npm package that brings the runtime. */
  readonly bun: string;
  /** The file of the runtime in the npm package, and of the executable in an archive. */
  readonly file: "bun" | "bun.exe";
  /** The system as a person says it, with the oldest processor and C library. */
  readonly needs: string;
  /** `os`, `cpu` and `libc` in the package.json of the npm package with the executable. */
  readonly npm: {
    readonly os: "linux" | "darwin" | "win32";
    readonly cpu: "x64" | "arm64";
    readonly libc?: "glibc" | "musl";
  };
}

/** `baseline` runtimes run on every processor of 64 bits since 2008; others need AVX2. */
export const platforms: readonly Platform[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64-baseline",
    file: "bun",
    needs: "Linux on x64, glibc 2.17 or later",
    npm: { os: "linux", cpu: "x64", libc: "glibc" },
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-aarch64",
    file: "bun",
    needs: "Linux on arm64, glibc 2.17 or later",
    npm: { os: "linux", cpu: "arm64", libc: "glibc" },
  },
  {
    name: "linux-x64-musl",
    bun: "bun-linux-x64-musl-baseline",
    file: "bun",
    needs: "Linux on x64 with musl (Alpine)",
    npm: { os: "linux", cpu: "x64", libc: "musl" },
  },
  {
    name: "linux-arm64-musl",
    bun: "bun-linux-aarch64-musl",
    file: "bun",
    needs: "Linux on arm64 with musl (Alpine)",
    npm: { os: "linux", cpu: "arm64", libc: "musl" },
  },
  {
    name: "macos-x64",
    bun: "bun-darwin-x64-baseline",
    file: "bun",
    needs: "macOS 13 or later on Intel",
    npm: { os: "darwin", cpu: "x64" },
  },
  {
    name: "macos-arm64",
    bun: "bun-darwin-aarch64",
    file: "bun",
    needs: "macOS 13 or later on Apple silicon",
    npm: { os: "darwin", cpu: "arm64" },
  },
  {
    name: "windows-x64",
    bun: "bun-windows-x64-baseline",
    file: "bun.exe",
    needs: "Windows 10 1809 or later on x64",
    npm: { os: "win32", cpu: "x64" },
  },
];

/** @throws Error for a platform without a build. */
export function platformOf(name: string): Platform {
  const found = platforms.find((platform) => platform.name === name);
  if (found !== undefined) return found;
  throw new Error(`there is no platform "${name}"; there are ${platforms.map((each) => each.name).join(", ")}`);
}

/** Fetches the runtime of a platform from the npm registry, in the version that is pinned. Answers the path of the runtime. */
export async function fetchRuntime({ bun, file }: Platform): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "socle-runtime-"));
  const version = packageJson.dependencies.bun;
  const pack = Bun.spawnSync(["npm", "pack", "--silent", `@oven/${bun}@${version}`], {
    cwd: folder,
    stderr: "inherit",
  });
  const archive = pack.stdout.toString().trim().split("\n").at(-1) ?? "";
  if (pack.exitCode !== 0) throw new Error(`npm pack @oven/${bun}@${version} failed`);
  await new Bun.Archive(await Bun.file(join(folder, archive)).bytes()).extract(folder);
  const runtime = join(folder, "package", "bin", file);
  await chmod(runtime, 0o755);
  return runtime;
}
