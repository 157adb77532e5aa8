/** The parts of a release that need no build: keys, notes, archives, the documentation. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { releaseKey } from "../packages/server/src/cli/release-key.ts";
import { temporaryFolder } from "../packages/server/test/kit.ts";
import { sha256, writeArchive } from "./release/archive.ts";
import { release } from "./release/index.ts";
import { makeKey, publicKeyOf, readKey } from "./release/keys.ts";
import { changesOf, notesOf } from "./release/notes.ts";
import { licenceTexts, partsList } from "./release/parts.ts";
import { root } from "./run.ts";

test("docs/install.md has the key of releases", () => {
  const page = readFileSync(join(root, "docs/install.md"), "utf8");
  expect(page).toContain(`\n${releaseKey}\n`);
  const pem = /echo "(MCowBQYDK2VwAyEA[^"]+)"/.exec(page)?.[1] ?? "";
  expect(Buffer.from(pem, "base64").subarray(12).toString("base64url")).toBe(releaseKey);
});

test("a new key is a file that only its owner reads, and never replaces a file", () => {
  const path = join(temporaryFolder(), "key.pem");
  const publicKey = makeKey(path);
  expect(publicKeyOf(readKey(path))).toBe(publicKey);
  expect(() => makeKey(path)).toThrow("EEXIST");
  const other = join(temporaryFolder(), "other.pem");
  writeFileSync(other, "no key");
  expect(() => readKey(other)).toThrow("is no private Ed25519 key in PEM");
});

test("the notes have the version's part of the changelog, and no other part", () => {
  const changelog = "# Changelog\n\n## 0.2.0, not yet released\n\n- New.\n\n## 0.1.0\n\n- Old.\n";
  expect([changesOf("0.2.0", changelog), changesOf("0.1.0", changelog)]).toEqual(["- New.", "- Old."]);
  expect(() => changesOf("0.3.0", changelog)).toThrow('CHANGELOG.md has no part "## 0.3.0"');
  expect(changesOf(packageJson.version)).not.toBe("");
});

test("the notes say the sizes of the image and the version of its glibc, or the reason for a release without an image", () => {
  const image = {
    name: "socle-1.2.3-image.tar",
    size: 137_163_776,
    platforms: [{ name: "linux-x64", unpacked: 142_984_135, libc: "2.36-9" }],
    lacks: ["linux-arm64: apt-get is not there"],
  };
  const notes = notesOf(packageJson.version, { files: [], build: "1.2.3", image });
  expect(notes).toContain("`socle-1.2.3-image.tar` (137 MB)");
  expect(notes).toContain("linux-x64 (unpacked 143 MB, with glibc 2.36-9 of Debian)");
  expect(notes).toContain("The image lacks linux-arm64: apt-get is not there.");
  const without = notesOf(packageJson.version, { files: [], build: "1.2.3", image: { reason: "go is not there" } });
  expect(without).toContain("This release has no image for containers: go is not there.");
  expect(without).not.toContain("is the image for containers");
  for (const file of ["socle.service", "compose.yaml", "Caddyfile"]) expect(notes).toContain(`\`${file}\``);
});

test("an archive of the same files has the same bytes, whenever the archive is made", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "a");
  const sums: string[] = [];
  for (const name of ["1.tar.gz", "2.tar.gz"]) {
    writeFileSync(path, "content");
    await writeArchive(join(folder, name), {
      changedAt: 1_700_000_000_000,
      files: [{ name: "socle", path, mode: 0o755 }],
    });
    sums.push(await sha256(join(folder, name)));
  }
  expect(sums[0]).toBe(sums[1] ?? "");
  const list = Bun.spawnSync(["tar", "-tvzf", join(folder, "1.tar.gz")], {
    env: { TZ: "UTC", PATH: process.env["PATH"] ?? "" },
  });
  expect(list.stdout.toString()).toBe("-rwxr-xr-x root/root         7 2023-11-14 22:13 socle\n");
});

test("each part of the list has a licence, and each npm package a text", () => {
  const { components }: { components: { group?: string; name: string; version: string; licenses?: unknown[] }[] } =
    JSON.parse(partsList("1.2.3", 0));
  expect(components.filter(({ licenses }) => licenses?.length !== 1)).toEqual([]);
  expect(components.length).toBeGreaterThan(50);
  const texts = licenceTexts();
  for (const { group, name, version } of components)
    expect(texts).toContain(`\n${group === undefined ? "" : `${group}/`}${name} ${version}: `);
});

test("a platform without a build is an error that names the platforms", async () => {
  const folder = temporaryFolder();
  expect(release({ folder, only: ["plan9-mips"] })).rejects.toThrow(
    'there is no platform "plan9-mips"; there are linux-x64, linux-arm64, ',
  );
});
