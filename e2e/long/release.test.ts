/**
 * A release of this machine's platform: the same bytes from the same commit, the list of parts, `socle upgrade` from an older executable beside
 * a running service, `install.sh`, and what both refuse: other keys, changed sums, damaged archives, folders that cannot be written, full disks.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { Glob } from "bun";
import packageJson from "../../package.json" with { type: "json" };
import { clientPackages } from "../../scripts/build-client.ts";
import { compile, ownPlatform } from "../../scripts/compile.ts";
import { release } from "../../scripts/release/index.ts";
import { makeKey, publicKeyOf, readKey, signatureOf } from "../../scripts/release/keys.ts";
import { deployFiles } from "../../scripts/release/notes.ts";
import { post, project, root, serve, temporaryFolder } from "../kit.ts";

const work = temporaryFolder();
const made = join(work, "release");
const keyFile = join(work, "key.pem");
const old = join(work, "old/socle");
const { version } = packageJson;
const archive = `socle-${version}-${ownPlatform()}.tar.gz`;
const oldBuild = () => spawnSync(old, ["version"], { encoding: "utf8" }).stdout.trim();
const newBuild = () => `${version}${oldBuild().slice("0.0.9".length)}`;

beforeAll(async () => {
  makeKey(keyFile);
  await release({ folder: made, only: [ownPlatform()], key: readKey(keyFile) });
  await compile(old, { publicKey: publicKeyOf(readKey(keyFile)), version: "0.0.9" });
});

/** A copy of the older executable in a folder of its own. */
function installed(): string {
  const path = join(temporaryFolder(), "socle");
  copyFileSync(old, path);
  return path;
}

/** A copy of the release, which a test may change. */
function copyOfRelease(): string {
  const folder = join(temporaryFolder(), "release");
  cpSync(made, folder, { recursive: true });
  return folder;
}

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

function run(command: readonly [string, ...string[]], cwd = temporaryFolder()): Ended {
  const [program, ...words] = command;
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd,
    encoding: "utf8",
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: cwd },
  });
  return { status, out: stdout, err: stderr };
}

/** Expects that an executable is the older executable still, alone in its folder. */
function expectUntouched(path: string): void {
  expect(readdirSync(join(path, ".."))).toEqual(["socle"]);
  expect(Bun.hash(readFileSync(path))).toBe(Bun.hash(readFileSync(old)));
}

test("a release of a commit has the same bytes each time", async () => {
  const again = join(work, "again");
  await release({ folder: again, only: [ownPlatform()], key: readKey(keyFile) });
  const files = (folder: string): string[] => [...new Glob("**").scanSync(folder)].sort();
  const packages = ["socle", `socle-${ownPlatform()}`, ...clientPackages.map((name) => `socle-${name}`)];
  expect(files(made)).toEqual(
    [
      "packages/publish.sh",
      ...packages.map((name) => `packages/${name}-${version}.tgz`),
      ...deployFiles,
      "LICENCES.txt",
      "NOTES.md",
      "SHA256SUMS",
      "SHA256SUMS.sig",
      "install.sh",
      archive,
      // Needs Go and apt-get: NOTES.md of a release without the image says what is missing.
      `socle-${version}-image.tar`,
      `socle-${version}.cdx.json`,
    ].sort(),
  );
  for (const name of files(made))
    expect([name, Bun.hash(readFileSync(join(again, name)))]).toEqual([name, Bun.hash(readFileSync(join(made, name)))]);
  expect(run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], made)).toMatchObject({ status: 0 });
});

test("the list of parts is CycloneDX 1.6, and names the packages in the executable", async () => {
  const text = readFileSync(join(made, `socle-${version}.cdx.json`), "utf8");
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ["spdx", "jsf-0.82", "bom-1.6"]) {
    const file = `node_modules/@cyclonedx/cyclonedx-library/res/schema/${name}.SNAPSHOT.schema.json`;
    const schema: object = JSON.parse(readFileSync(join(root, file), "utf8"));
    // The schemas name each other by these addresses.
    ajv.addSchema({ ...schema, $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` });
  }
  const isValid = ajv.validate("http://cyclonedx.org/schema/bom-1.6.SNAPSHOT.schema.json", JSON.parse(text));
  expect([isValid, ajv.errors]).toEqual([true, null]);
  const names: string[] = JSON.parse(text).components.map(({ purl }: { purl: string }) => purl);
  expect(names).toContain(`pkg:npm/bun@${packageJson.dependencies.bun}`);
  expect(names.some((purl) => purl.startsWith("pkg:npm/%40mantine/core@"))).toBe(true);
  expect(names.some((purl) => purl.includes("playwright"))).toBe(false);
});

test("socle upgrade beside a running service: the service goes on, and the next start is the new version with all data", async () => {
  const path = installed();
  const cwd = await project({
    collections: [
      { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: { read: "public", create: "public" } },
    ],
  });
  const service = await serve(cwd, { executable: path });
  expect((await post(`${service.url}/api/posts`, { n: 1 })).status).toBe(201);
  const ended = run([path, "upgrade", join(made, archive)], cwd);
  const folder = join(path, "..");
  expect(ended).toEqual({
    status: 0,
    err: "",
    out: `${path} is ${newBuild()} now; the former executable, ${oldBuild()}, is ${path}-${oldBuild()}\nA running service keeps the former executable until the service is started again.\n`,
  });
  expect(readdirSync(folder).sort()).toEqual(["socle", `socle-${oldBuild()}`]);
  expect(run([`${path}-${oldBuild()}`, "version"]).out).toBe(`${oldBuild()}\n`);
  expect((await post(`${service.url}/api/posts`, { n: 2 })).status).toBe(201);
  expect(await service.stop()).toBe(0);
  const next = await serve(cwd, { executable: path });
  const list = (await (await fetch(`${next.url}/api/posts?sort=n`)).json()) as { items: { n: number }[] };
  expect(list.items.map(({ n }) => n)).toEqual([1, 2]);
  expect(await next.stop()).toBe(0);
  expect(run([path, "upgrade", made], cwd)).toMatchObject({ status: 0, out: `This is ${newBuild()} already\n` });
});

test("socle upgrade takes a release from an address, and says what to do in a cluster", async () => {
  const path = installed();
  const server = Bun.serve({ port: 0, fetch: ({ url }) => new Response(Bun.file(join(made, new URL(url).pathname))) });
  const cwd = temporaryFolder();
  const cluster = { name: "app", journal: "postgres://127.0.0.1:1/none" };
  writeFileSync(join(cwd, "config.json"), JSON.stringify({ cluster, s3: {} }));
  try {
    const child = Bun.spawn([path, "upgrade", `${server.url}`], { cwd, stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, err]).toEqual([0, ""]);
    expect(out).toContain("replicas first, the leader last");
    expect(run([path, "version"]).out).toBe(`${newBuild()}\n`);
  } finally {
    await server.stop(true);
  }
});

const faults: readonly { readonly title: string; readonly says: RegExp; make(folder: string): void }[] = [
  {
    title: "sums that were changed",
    says: /the signature of SHA256SUMS is not by the key of Socle's releases/,
    make: (folder) => writeFileSync(join(folder, "SHA256SUMS"), `${"0".repeat(64)}  ${archive}\n`),
  },
  {
    title: "a signature by another key",
    says: /the signature of SHA256SUMS is not by the key of Socle's releases/,
    make(folder) {
      const other = join(folder, "..", "other.pem");
      makeKey(other);
      const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
      writeFileSync(join(folder, "SHA256SUMS.sig"), signatureOf(sums, readKey(other)));
    },
  },
  {
    title: "no signature",
    says: /SHA256SUMS\.sig cannot be read/,
    make: (folder) => rmSync(join(folder, "SHA256SUMS.sig")),
  },
  {
    title: "an empty signature",
    says: /the signature of SHA256SUMS is not by the key of Socle's releases/,
    make: (folder) => writeFileSync(join(folder, "SHA256SUMS.sig"), ""),
  },
  {
    title: "a broken download",
    says: /is damaged or incomplete: its sum differs from SHA256SUMS/,
    make(folder) {
      const bytes = readFileSync(join(folder, archive));
      writeFileSync(join(folder, archive), bytes.subarray(0, bytes.length - 1000));
    },
  },
  { title: "no archive", says: /cannot be read/, make: (folder) => rmSync(join(folder, archive)) },
  {
    title: "no build for this platform",
    says: /the release has no build for \S+; it has: socle-\S+-plan9-mips\.tar\.gz$/m,
    make(folder) {
      const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").replaceAll(
        `-${ownPlatform()}.tar.gz`,
        "-plan9-mips.tar.gz",
      );
      writeFileSync(join(folder, "SHA256SUMS"), sums);
      writeFileSync(join(folder, "SHA256SUMS.sig"), signatureOf(sums, readKey(keyFile)));
    },
  },
  {
    title: "an executable that does not start",
    says: /does not start on this machine/,
    make(folder) {
      const inner = join(folder, "..", "inner");
      mkdirSync(inner);
      writeFileSync(join(inner, "socle"), "#!/bin/sh\necho \"version 'GLIBC_2.99' not found\" >&2\nexit 1\n", {
        mode: 0o755,
      });
      run(["tar", "-czf", join(folder, archive), "-C", inner, "socle"]);
      const sum = run(["sha256sum", join(folder, archive)]).out.slice(0, 64);
      const sums = `${sum}  ${archive}\n`;
      writeFileSync(join(folder, "SHA256SUMS"), sums);
      writeFileSync(join(folder, "SHA256SUMS.sig"), signatureOf(sums, readKey(keyFile)));
    },
  },
];

for (const { title, says, make } of faults)
  test(`socle upgrade and install.sh refuse ${title}, and change nothing`, () => {
    const folder = copyOfRelease();
    make(folder);
    const path = installed();
    const ended = run([path, "upgrade", folder]);
    expect(ended).toMatchObject({ status: 2, out: "" });
    expect(ended.err).toMatch(says);
    expect(ended.err.trim().split("\n")).toHaveLength(1);
    expectUntouched(path);
    const script = run(["sh", join(made, "install.sh"), folder, join(path, "..")]);
    expect(script.status).toBe(1);
    expect(script.err).toMatch(/install\.sh: /);
    expectUntouched(path);
  });

test("socle upgrade refuses an older version, and a version that does not know all tables of the database", async () => {
  const folder = copyOfRelease();
  const path = join(temporaryFolder(), "socle");
  await compile(path, { publicKey: publicKeyOf(readKey(keyFile)), version: "99.0.0" });
  const before = Bun.hash(readFileSync(path));
  const older = run([path, "upgrade", folder]);
  expect([older.status, older.err]).toEqual([
    2,
    `socle: ${newBuild()} is older than this version, 99.0.0${newBuild().slice(version.length)}; nothing was changed. The way back is the file that an upgrade kept\n`,
  ]);
  expect(Bun.hash(readFileSync(path))).toBe(before);
  const cwd = await project();
  const service = await serve(cwd, { executable: old });
  expect(await service.stop()).toBe(0);
  const { Database } = await import("bun:sqlite");
  const file = new Database(join(cwd, "socle.db"));
  file.run("UPDATE _schema SET version = 9999 WHERE module = 'jobs'");
  file.close();
  const own = installed();
  const newer = run([own, "upgrade", folder], cwd);
  expect(newer.status).toBe(2);
  expect(newer.err).toMatch(/its tables of jobs are newer than .* knows; nothing was changed/);
  expectUntouched(own);
});

test("socle upgrade refuses addresses without https, npm's executable, a folder that cannot be written, and a full disk", () => {
  const path = installed();
  for (const place of ["http://example.com/release/", "ftp://example.com/x"])
    expect(run([path, "upgrade", place])).toMatchObject({ status: 2, err: expect.stringContaining("over https") });
  expect(run([path, "upgrade", "./nothing.tar.gz"])).toMatchObject({
    status: 2,
    err: expect.stringContaining("there is no file"),
  });
  expect(run([path, "upgrade"])).toMatchObject({ status: 2 });
  expectUntouched(path);
  const npm = join(temporaryFolder(), "node_modules/@socle/linux-x64/socle");
  mkdirSync(join(npm, ".."), { recursive: true });
  copyFileSync(old, npm);
  expect(run([npm, "upgrade", made])).toMatchObject({
    status: 2,
    err: expect.stringContaining("npm install socle@latest"),
  });
  const inside = (options: string, words: string) =>
    run([
      "unshare",
      "--user",
      "--map-root-user",
      "--mount",
      "sh",
      "-c",
      `mkdir d && mount -t tmpfs -o ${options} none d && cp "${old}" d/socle && ${words}`,
    ]);
  const readOnly = inside("size=400m", `mount -o remount,ro d && d/socle upgrade "${made}"; ls -a d`);
  expect(readOnly.err).toMatch(/the executable cannot be replaced: .*(read-only|EROFS).*nothing was changed/i);
  const full = inside("size=150m", `d/socle upgrade "${made}"; ls -A d`);
  expect(full.err).toMatch(/nothing was changed/);
  expect(full.out).toBe("socle\n");
});

test("install.sh installs the executable in an empty home, replaces an older executable and keeps the older file", () => {
  const home = temporaryFolder();
  const first = run(["sh", join(made, "install.sh"), made], home);
  const path = join(home, ".local/bin/socle");
  expect(first).toEqual({
    status: 0,
    err: "",
    out: `${path} is ${newBuild()}\nNext: ${path} init app && cd app && ${path} dev   (${home}/.local/bin is not in PATH)\n`,
  });
  expect(readdirSync(join(home, ".local/bin"))).toEqual(["socle"]);
  const own = installed();
  const second = run(["sh", join(made, "install.sh"), made, join(own, "..")], home);
  expect(second).toMatchObject({ status: 0, err: "" });
  expect(readdirSync(join(own, "..")).sort()).toEqual(["socle", `socle-${oldBuild()}`]);
  expect(run([own, "version"]).out).toBe(`${newBuild()}\n`);
  chmodSync(join(own, ".."), 0o555);
  expect(run(["sh", join(made, "install.sh"), "http://example.com/", home]).err).toContain("over https");
});

test("the executable of the release works in an empty root", async () => {
  const folder = join(work, "unpacked");
  mkdirSync(folder);
  expect(run(["tar", "-xzf", join(made, archive), "-C", folder]).status).toBe(0);
  expect(readdirSync(folder).sort()).toEqual(["LICENCES.txt", "socle"]);
  const child = Bun.spawn([process.execPath, "test", "--timeout=120000", "./e2e/alone.test.ts"], {
    cwd: root,
    env: { ...process.env, SOCLE_EXECUTABLE: join(folder, "socle") },
    stdout: "ignore",
    stderr: "pipe",
  });
  const text = await new Response(child.stderr).text();
  expect([await child.exited, existsSync(join(folder, "socle")), text]).toEqual([
    0,
    true,
    expect.stringContaining("1 pass"),
  ]);
});

afterAll(() => rmSync(work, { recursive: true, force: true }));
