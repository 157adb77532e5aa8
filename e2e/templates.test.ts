/** The templates of `socle init`: a project of each, written by the executable. The suite `long` builds the projects, and drives them in a browser. */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { templateFolders, templateNames } from "../packages/server/src/cli/templates.ts";
import { executable, type Finished, root, serve, socle, temporaryFolder } from "./kit.ts";

/** The files of a folder, sorted, without those of `.git`. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => !path.startsWith(".git/") && statSync(join(folder, path)).isFile())
    .sort();
}

/** The files of an example in the repository, as Git lists the files. */
function filesOfExample(name: keyof typeof templateFolders): string[] {
  const folder = join(root, "examples", templateFolders[name]);
  const listed = Bun.spawnSync(["git", "ls-files", "--cached", "--others", "--exclude-standard"], { cwd: folder });
  return listed.stdout.toString().trim().split("\n").sort();
}

/** Runs `socle init` under the name by which the launcher of the npm package starts the executable. */
async function initByLauncher(cwd: string, words: readonly string[]): Promise<Finished> {
  const child = Bun.spawn([executable, "init", ...words], {
    ...{ argv0: "npx socle", cwd, stdout: "pipe", stderr: "pipe" },
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

describe.each(Object.keys(templateFolders) as (keyof typeof templateFolders)[])("%s", (name) => {
  test("has the files of the example; the project is checked without a fault", async () => {
    const cwd = temporaryFolder();
    const { code, stdout, stderr } = await socle(["init", "app", "--template", name], { cwd });
    expect([code, stderr]).toEqual([0, ""]);
    const app = join(cwd, "app");
    expect(filesIn(app)).toEqual(filesOfExample(name));
    for (const file of filesIn(app)) expect(stdout).toContain(`  ${join("app", file)}\n`);
    const readme = readFileSync(join(app, "README.md"), "utf8");
    expect(readme).not.toMatch(/\.\.\/|<!--|0\.1\.0/);
    const service = filesIn(app).includes("socle/config.json") ? join(app, "socle") : app;
    expect(await socle(["check"], { cwd: service })).toMatchObject({ code: 0 });
    if (!filesIn(app).includes("package.json")) return;
    const manifest = readFileSync(join(app, "package.json"), "utf8");
    const { name: packageName, license, private: isPrivate, dependencies } = JSON.parse(manifest);
    expect([packageName, license, isPrivate]).toEqual([undefined, undefined, true]);
    const own = Object.entries(dependencies).filter(([dependency]) => dependency.startsWith("@socle/"));
    expect(own.length).toBeGreaterThan(1);
    expect(new Set(own.map(([, version]) => version))).toEqual(new Set([packageJson.version]));
  });
});

test("the next commands lead from the folder of the call to the service, and start the pages", async () => {
  const cwd = temporaryFolder();
  symlinkSync(executable, join(cwd, "socle"));
  const byPath = await socle(["init", "an app"], { cwd, executable: "./socle" });
  expect(byPath.stdout).toEndWith("\nStart the service with:\n\n  cd 'an app' && ../socle dev\n");
  const pages = await socle(["init", "app", "--template", "vite-react"], { cwd, executable: "./socle" });
  expect(pages.stdout).toEndWith(
    "\nInstall the packages, and start the service:\n\n  cd app && npm install && ../socle dev\n\nIn a second terminal, start the pages:\n\n  cd app && npm run dev\n",
  );
  const here = temporaryFolder();
  const byLauncher = await initByLauncher(here, ["--template", "vite-react"]);
  expect(byLauncher.stdout).toContain("  npm install && npx socle dev\n");
  expect(readFileSync(join(here, "README.md"), "utf8")).toMatch(/^npx socle dev {12}# /m);
  const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  expect(manifest.devDependencies).toMatchObject({ socle: packageJson.version, vite: expect.any(String) });
});

test("an unknown template is refused with all names, and nothing is written", async () => {
  const cwd = temporaryFolder();
  for (const name of ["vue", "constructor", ""]) {
    const { code, stdout, stderr } = await socle(["init", "app", `--template=${name}`], { cwd });
    expect([code, stdout, stderr]).toEqual([
      2,
      "",
      `socle: there is no template "${name}"; the templates: ${templateNames.join(", ")}\n`,
    ]);
  }
  expect(readdirSync(cwd)).toEqual([]);
});

describe("a folder with files", () => {
  test("an empty repository of Git gets the files", async () => {
    const cwd = temporaryFolder();
    Bun.spawnSync(["git", "init", "--quiet"], { cwd });
    expect(await socle(["init"], { cwd })).toMatchObject({ code: 0 });
    expect(filesIn(cwd)).toEqual(filesOfExample("blank"));
  });

  test("files that are already there are named, also a link to nothing and a file in the place of a folder", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "README.md"), "mine");
    writeFileSync(join(cwd, "collections"), "a file");
    symlinkSync(join(cwd, "nothing"), join(cwd, "config.json"));
    const { code, stderr } = await socle(["init"], { cwd });
    expect([code, stderr]).toEqual([
      2,
      `socle: ${cwd}: README.md, collections, config.json are already there; nothing was written\n`,
    ]);
    expect(readdirSync(cwd).sort()).toEqual(["README.md", "collections", "config.json"]);
    expect(readFileSync(join(cwd, "README.md"), "utf8")).toBe("mine");
  });

  test("a folder that cannot be written gets no file of the template", async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, "app"));
    // The first folder of the template can be made, and a later one cannot: a user who is not root needs no more.
    mkdirSync(join(cwd, "app/public"));
    chmodSync(join(cwd, "app/public"), 0o555);
    const user = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
    chmodSync(cwd, 0o777);
    chmodSync(join(cwd, "app"), 0o777);
    chmodSync(dirname(executable), 0o755);
    const child = Bun.spawnSync([...user, executable, "init", "app"], { cwd });
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      2,
      expect.stringMatching(/^socle: .*\/public\/app\.js cannot be written: .*; nothing was written\n$/),
    ]);
    expect(filesIn(cwd)).toEqual([]);
    expect(readdirSync(join(cwd, "app"))).toEqual(["public"]);
    chmodSync(join(cwd, "app/public"), 0o755);
  });
});

test("the page of the first template is served, and its script", async () => {
  const cwd = temporaryFolder();
  await socle(["init"], { cwd });
  const server = await serve(cwd, { args: ["dev", "--port", "0"] });
  expect(await (await fetch(server.url, { headers: { Accept: "text/html" } })).text()).toContain("<h1>Notes</h1>");
  expect((await fetch(`${server.url}/app.js`)).headers.get("content-type")).toContain("javascript");
  expect(await (await fetch(`${server.url}/_/client.js`)).text()).toContain("createClient");
});
