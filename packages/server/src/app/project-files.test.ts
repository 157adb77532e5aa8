/** Fingerprint of a project folder: equal on any machine for equal files, and another for each change of a definition or of code. */
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { projectFingerprint } from "./project-files.ts";

function project(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const files = {
  "collections/posts.json": '{ "name": "posts" }\n',
  "functions/posts/a.ts": "export function onCreate() {}\n",
  "functions/posts/_shared/b.ts": "export const b = 1;\n",
  "migrations/0001.ts": "export default () => undefined;\n",
};

test("the place, the order, line ends and files of others do not count", () => {
  const folder = project(files);
  const fingerprint = projectFingerprint(folder);
  expect(fingerprint).toMatch(/^[0-9a-f]{12}$/);
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  expect(projectFingerprint(copy)).toBe(fingerprint);
  expect(projectFingerprint(project(Object.fromEntries(Object.entries(files).toReversed())))).toBe(fingerprint);
  const windows = Object.entries(files).map(([path, text]) => [path, `\uFEFF${text.replaceAll("\n", "\r\n")}`]);
  expect(projectFingerprint(project(Object.fromEntries(windows)))).toBe(fingerprint);
  const more = { "collections/.DS_Store": "x", "functions/README.md": "x", "config.json": "{}", "seed.json": "[]" };
  expect(projectFingerprint(project({ ...files, ...more }))).toBe(fingerprint);
  expect(projectFingerprint(temporaryFolder())).not.toBe(fingerprint);
});

test("each change of a definition or of code counts", () => {
  const all = [
    files,
    { ...files, "collections/posts.json": '{ "name": "posts", "fields": [] }\n' },
    { ...files, "functions/posts/_shared/b.ts": "export const b = 2;\n" },
    { ...files, "queries/open.ts": "" },
    { ...files, "endpoints/hello.ts": "" },
    { ...files, "migrations/0002.ts": "" },
    { ...files, "functions/posts/c.ts": files["functions/posts/a.ts"] },
  ].map((each) => projectFingerprint(project(each)));
  expect(new Set(all).size).toBe(all.length);
  const folder = project(files);
  rmSync(join(folder, "migrations"), { recursive: true });
  expect(all).not.toContain(projectFingerprint(folder));
});
