/**
 * The packages of a release, from a registry, in a root with nothing but Node and npm: `publish.sh` publishes all packages, and a user
 * makes a project with npx, starts the service, and builds the template for Vite, which works in Chromium.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { packPackages } from "../../scripts/release/packages.ts";
import { openWindow } from "../browser.ts";
import { executable, post, serve, temporaryFolder, until } from "../kit.ts";
import { startRegistry } from "../npm-registry.ts";

setDefaultTimeout(600_000);

const { version } = packageJson;
const packages = join(temporaryFolder(), "packages");
const upstream = Bun.spawnSync(["npm", "config", "get", "registry"]).stdout.toString().trim();
const registry = startRegistry(upstream);

/** A root that holds Node, npm, a shell and `env`, which npm needs, and the C library: no other program, and no source. */
function bareRoot(): string {
  const root = temporaryFolder();
  for (const folder of ["bin", "dev", "proc", "tmp", "home", "usr/bin", "usr/lib/node_modules"])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "dev/null"), "");
  const node = realpathSync(Bun.which("node") ?? "");
  const programs = { "usr/bin/node": node, "bin/sh": realpathSync("/bin/sh"), "usr/bin/env": "/usr/bin/env" };
  for (const [place, program] of Object.entries(programs)) {
    copyFileSync(program, join(root, place));
    chmodSync(join(root, place), 0o755);
    const linked = Bun.spawnSync(["ldd", program]).stdout.toString();
    for (const [path] of linked.matchAll(/\/\S+/g)) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      copyFileSync(path, join(root, path));
      // A part of the C library that programs no longer name, and modules of packages do.
      const part = join(dirname(path), "librt.so.1");
      if (existsSync(part)) copyFileSync(part, join(root, part));
    }
  }
  const npm = dirname(dirname(realpathSync(Bun.which("npm") ?? "")));
  cpSync(npm, join(root, "usr/lib/node_modules/npm"), { recursive: true });
  for (const name of ["npm", "npx"])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, "usr/bin", name));
  copyFileSync(join(registry.home, ".npmrc"), join(root, "home/.npmrc"));
  return root;
}

const root = bareRoot();

/** Runs a line of the shell in the root, as a user without rights, in a folder below `/home`. */
function start(line: string, folder = ""): Bun.Subprocess<"ignore", "pipe", "inherit"> {
  const inside = [
    ...["unshare", "--user", "--map-current-user", "--mount", "--pid", "--fork", "--kill-child"],
    ...[`--root=${root}`, `--wd=/home/${folder}`, "--mount-proc", "/bin/sh", "-c"],
  ].map((word) => `'${word}'`);
  const mounting = `mount --bind /dev/null "${root}/dev/null" && exec ${inside.join(" ")} "$1"`;
  const child = Bun.spawn(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounting, "sh", line], {
    env: { PATH: "/usr/bin:/bin:/usr/sbin", HOME: "/home", CI: "1" },
    ...{ stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  });
  afterAll(() => child.kill("SIGKILL"));
  return child;
}

async function run(line: string, folder?: string): Promise<string> {
  const child = start(line, folder);
  const output = await new Response(child.stdout).text();
  expect([line, await child.exited, output]).toEqual([line, 0, output]);
  return output;
}

test("publish.sh publishes each package once, the launcher last; a second run leaves all out", async () => {
  const platform = `${process.platform}-${process.arch}`;
  const files = await packPackages({ version, executables: new Map([[platform, executable]]), folder: packages });
  const publish = () =>
    Bun.spawn(["sh", join(packages, "publish.sh")], { cwd: registry.home, env: registry.env, stdout: "pipe" });
  expect(await publish().exited).toBe(0);
  const names = ["@socle/client", "@socle/react", "@socle/svelte", "@socle/tanstack-db", "@socle/vue"];
  expect(registry.published).toEqual([...names, `@socle/${platform}`, "socle"]);
  expect(files.map((file) => basename(file)).at(-1)).toBe(`socle-${version}.tgz`);
  const second = publish();
  expect(await second.exited).toBe(0);
  expect((await new Response(second.stdout).text()).match(/is published already/g)).toHaveLength(files.length);
  expect(registry.published).toHaveLength(files.length);
});

test("the same executable makes the same packages", async () => {
  const sums = async (folder: string): Promise<string> =>
    Bun.spawnSync(["sh", "-c", "sha256sum *.tgz"], { cwd: folder }).stdout.toString();
  const again = join(temporaryFolder(), "packages");
  const platform = `${process.platform}-${process.arch}`;
  await packPackages({ version, executables: new Map([[platform, executable]]), folder: again });
  expect(await sums(again)).toBe(await sums(packages));
});

test("npx makes a project, and the service takes a first record", async () => {
  const written = await run("npx --yes socle init app");
  expect(written).toEndWith("\nStart the service with:\n\n  cd app && npx socle dev\n");
  await run("npm install --save-dev --save-exact socle", "app");
  expect(JSON.parse(readFileSync(join(root, "home/app/package.json"), "utf8"))).toEqual({
    devDependencies: { socle: version },
  });
  expect(await run("npx socle check && npx socle test", "app")).not.toContain("fail");
  const child = start("exec npx socle dev --port 0", "app");
  let output = "";
  const read = (text: string): void => {
    output += text;
  };
  void child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write: read }));
  await until(() => output.includes("Listening on "));
  const url = /Listening on (http:\S+)/.exec(output)?.[1] ?? "";
  const registered = await post(`${url}/api/auth/register`, { email: "me@example.com", password: "a long password" });
  const { accessToken } = (await registered.json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}` };
  expect((await post(`${url}/api/notes`, { title: "Hello" }, headers)).status).toBe(201);
  child.kill("SIGKILL");
  await until(() =>
    fetch(url).then(
      () => false,
      () => true,
    ),
  );
});

test("the template for Vite is installed, checked and built by npm alone, and works in Chromium", async () => {
  const written = await run("npx socle init pages --template vite-react");
  expect(written).toContain("  cd pages && npm install && npx socle dev\n");
  await run("npm install && npm run types && npm run build && npx socle version", "pages");
  const env = { SERVICE_PUBLIC: "dist" };
  const service = await serve(join(root, "home/pages"), { args: ["--port", "0"], env });
  const page = await (await openWindow()).newPage();
  await page.goto(service.url);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByLabel("Title").fill("Water the plants");
  await page.getByRole("button", { name: "Add" }).click();
  await page.getByLabel("Water the plants").waitFor();
  await page.reload();
  await page.getByLabel("Water the plants").waitFor();
});
