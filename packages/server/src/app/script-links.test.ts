/** Folders that are links: the folder of a project, and the folders of code. A reload follows the links to the new targets. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, symlinkSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { openScripts, type TestScripts } from "../../test/scripts.ts";

const notes = { name: "notes", fields: [{ name: "text", type: "string" }] };

/**
 * The code of a release: a hook, an endpoint and a job that answer the name of the release. The hook ends the process on request.
 * The files of all releases have the same sizes and times.
 */
async function writeRelease(folder: string, name: string): Promise<void> {
  const files = {
    "functions/notes/a.ts": `import { name } from "./_name.ts";
      export const beforeCreate = async ({ record }) => {
        if (record.text === "die") { Bun.spawnSync(["sh", "-c", "kill -9 " + process.pid]); await new Promise(() => {}); }
        return { text: name };
      };`,
    "functions/notes/_name.ts": `export const name = "${name}";`,
    "endpoints/name.ts": `export const access = "public"; export const GET = () => new Response("${name}");`,
    "jobs/name.ts": `export const schedule = "0 0 1 1 *"; export default () => { console.log("${name}"); };`,
  };
  for (const [path, content] of Object.entries(files)) {
    await Bun.write(join(folder, path), content);
    utimesSync(join(folder, path), 1_700_000_000, 1_700_000_000);
  }
}

/** Makes a link, or replaces the target, in one step. */
function link(path: string, target: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** The releases with a hook, endpoint and job that run. */
async function running(api: TestScripts): Promise<unknown[]> {
  const hook = (await api.request("POST", "/api/notes", { body: {} })).body["text"];
  const endpoint = new TextDecoder().decode((await api.request("GET", "/api/function/name")).bytes);
  let job = "";
  await api.scripts.run({ kind: "job", name: "name" }, ({ message }) => {
    job = message;
  });
  return [hook, endpoint, job];
}

test("a reload loads the code of the folder behind the link, and of the last folder while the link leads nowhere", async () => {
  const base = temporaryFolder();
  const folder = join(base, "current");
  for (const name of ["one", "two"]) await writeRelease(join(base, name), name);
  link(folder, join(base, "one"));
  const settings = { SERVICE_DATABASE: join(base, "data.db"), SERVICE_STORAGE: join(base, "files") };
  const api = await openScripts({ collections: [notes], folder, settings });
  expect(await running(api)).toEqual(["one", "one", "one"]);
  link(folder, join(base, "two"));
  expect(await running(api)).toEqual(["one", "one", "one"]);
  await api.scripts.reload();
  expect(await running(api)).toEqual(["two", "two", "two"]);
  link(folder, join(base, "nowhere"));
  await api.scripts.reload();
  expect(await running(api)).toEqual(["two", "two", "two"]);
});

describe.each([
  ["functions, endpoints and jobs", ["functions", "endpoints", "jobs"]],
  ["functions of one collection, single files", ["functions/notes", "endpoints/name.ts", "jobs/name.ts"]],
])("links in the project: %s", (_name, paths) => {
  async function open(): Promise<{ api: TestScripts; leadTo: (name: string) => void }> {
    const base = temporaryFolder();
    for (const name of ["one", "two"]) await writeRelease(join(base, name), name);
    const folder = join(base, "project");
    const leadTo = (name: string): void => {
      for (const path of paths) link(join(folder, path), join(base, name, path));
    };
    leadTo("one");
    return { api: await openScripts({ collections: [notes], folder }), leadTo };
  }

  test("each load follows the links anew, and a replacing process has the code of the last load", async () => {
    const { api, leadTo } = await open();
    expect(await running(api)).toEqual(["one", "one", "one"]);
    leadTo("two");
    expect((await api.request("POST", "/api/notes", { body: { text: "die" } })).status).toBe(503);
    expect(await running(api)).toEqual(["one", "one", "one"]);
    await api.scripts.reload();
    expect(await running(api)).toEqual(["two", "two", "two"]);
  });

  test("a development server notices new targets of links, though no file is newer", async () => {
    const { api, leadTo } = await open();
    api.scripts.watch(() => undefined);
    for (const name of ["two", "one"]) {
      leadTo(name);
      const isNew = (): boolean => api.log.filter((line) => line.startsWith("INFO Reloaded")).length > 0;
      while (!isNew()) await Bun.sleep(5);
      api.log.length = 0;
      expect(await running(api)).toEqual([name, name, name]);
    }
  });
});

test("a link back to a parent folder is skipped", async () => {
  const folder = temporaryFolder();
  await writeRelease(folder, "one");
  link(join(folder, "endpoints/again"), join(folder, "endpoints"));
  link(join(folder, "endpoints/deep/loop"), join(folder, "endpoints/deep"));
  link(join(folder, "endpoints/project"), folder);
  link(join(folder, "functions/notes/self"), ".");
  const api = await openScripts({ collections: [notes], folder });
  expect(api.log.filter((line) => line.includes("does not load"))).toEqual([]);
  expect(api.scripts.endpoints.list().map(({ route }) => route)).toEqual(["/api/function/name"]);
  expect(await running(api)).toEqual(["one", "one", "one"]);
});
