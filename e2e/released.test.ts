/**
 * Upgrades from each released version: the data that a version left, with a run of a function that was cut off, are all there after a start of
 * this version. `KEEP_DATA=1 bun test ./e2e/released.test.ts` keeps the data of this version in `e2e/released`: a step of each release.
 */
// Promises: R4.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { project, root, serve, singleService, socle, temporaryFolder } from "./kit.ts";
import { add, collections, files, leaveRun, missing, nothing, type Written } from "./reliability/upgrade-project.ts";
import { write } from "./scripts-kit.ts";

singleService("files");

const released = join(import.meta.dir, "released");
const versions = readdirSync(released).map((name) => name.replace(/\.tar\.gz$/, ""));

function tar(...words: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync(["tar", ...words]);
  if (!success) throw new Error(stderr.toString());
}

function readWritten(cwd: string): Written {
  const { records, files: kept, ...rest } = JSON.parse(readFileSync(join(cwd, "written.json"), "utf8"));
  return { ...rest, records: new Map(records), files: new Map(kept) };
}

for (const version of versions)
  test(`an upgrade from ${version} finds all data, makes the run that was cut off, and takes writes`, async () => {
    const cwd = temporaryFolder();
    tar("-xzf", join(released, `${version}.tar.gz`), "-C", cwd);
    const written = readWritten(cwd);
    const server = await serve(cwd);
    expect(await missing(server, cwd, written)).toEqual([]);
    await add(server, written);
    expect(await missing(server, cwd, written)).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect((await socle(["verify"], { cwd })).stdout).toEndWith("All is well\n");
  });

test("each version that CHANGELOG.md calls released has its data here", () => {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const parts = [...changelog.matchAll(/^## (\d+\.\d+\.\d+)(.*)$/gm)].filter(
    ([, , rest]) => !rest?.includes("not yet"),
  );
  expect(parts.length).toBeGreaterThan(0);
  expect(versions).toEqual(expect.arrayContaining(parts.map(([, version]) => version)));
});

async function keepData(): Promise<void> {
  const cwd = await project({ collections });
  await write(cwd, files);
  const server = await serve(cwd);
  const written = nothing();
  await add(server, written);
  expect(await missing(server, cwd, written)).toEqual([]);
  await leaveRun(server, cwd, written);
  expect(await server.stop()).toBe(0);
  const text = JSON.stringify({ ...written, records: [...written.records], files: [...written.files] });
  writeFileSync(join(cwd, "written.json"), text);
  tar(
    "-czf",
    join(released, `${packageJson.version}.tar.gz`),
    "--exclude=go-on",
    "--exclude=*-reserve",
    "-C",
    cwd,
    ".",
  );
}

if (process.env["KEEP_DATA"] === "1") test("the data of this version are kept", keepData);
