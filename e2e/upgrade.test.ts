/** `socle upgrade` with the executable of `npm run build`: what the command refuses. `e2e/long/release.test.ts` makes releases and upgrades to them. */
import { expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, socle, temporaryFolder } from "./kit.ts";

function installed(folder = temporaryFolder()): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "socle");
  copyFileSync(executable, path);
  return path;
}

test("a release that another key has signed is refused, and nothing changes", async () => {
  const release = temporaryFolder();
  const path = installed();
  const before = statSync(path);
  const { privateKey } = generateKeyPairSync("ed25519");
  const sums = `${"0".repeat(64)}  socle-9.9.9-linux-x64.tar.gz\n`;
  writeFileSync(join(release, "SHA256SUMS"), sums);
  const signatures = [sign(null, Buffer.from(sums), privateKey).toString("base64"), "", "AAAA", "A".repeat(2_000)];
  for (const signature of signatures) {
    writeFileSync(join(release, "SHA256SUMS.sig"), signature);
    const ended = await socle(["upgrade", release], { cwd: temporaryFolder(), executable: path });
    expect(ended).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "socle: the signature of SHA256SUMS is not by the key of Socle's releases: the files were changed, or are not a release; nothing was changed\n",
    });
  }
  expect(readdirSync(join(path, ".."))).toEqual(["socle"]);
  expect(statSync(path)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs, size: before.size });
});

test("places that are no release are refused in one line", async () => {
  const path = installed();
  const npm = installed(join(temporaryFolder(), "node_modules/@socle/linux-x64"));
  const says = async (place: string, program = path): Promise<string> => {
    const { code, stdout, stderr } = await socle(["upgrade", place], { cwd: temporaryFolder(), executable: program });
    expect([code, stdout]).toEqual([2, ""]);
    return stderr;
  };
  expect(await says("http://example.com/")).toStartWith(
    'socle: "http://example.com/": an upgrade comes from a file or over https',
  );
  expect(await says("./nothing.tar.gz")).toBe("socle: there is no file ./nothing.tar.gz\n");
  expect(await says(temporaryFolder())).toMatch(/^socle: \/.*\/SHA256SUMS cannot be read: .*; nothing was changed\n$/);
  expect(await says("http://127.0.0.1:1/")).toMatch(
    /^socle: http:\/\/127\.0\.0\.1:1\/SHA256SUMS cannot be read: .*\n$/,
  );
  expect(await says(".", npm)).toBe("socle: this socle was installed by npm: npm install socle@latest upgrades it\n");
});

test("socle version --json tells version, platform and the versions of the tables", async () => {
  const { stdout } = await socle(["version", "--json"], { cwd: temporaryFolder() });
  const plain = (await socle(["version"], { cwd: temporaryFolder() })).stdout.trim();
  expect(JSON.parse(stdout)).toEqual({
    version: plain,
    platform: expect.stringMatching(/^(linux|macos|windows)-(x64|arm64)(-musl)?$/),
    schemas: expect.objectContaining({ events: expect.any(Number), collections: expect.any(Number) }),
  });
});
