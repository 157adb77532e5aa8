/** A project of Vite with the client of a project and `@socle/react` from its file: built, and run in Chromium against the service. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { openWindow } from "./browser.ts";
import { project, root, serve, socle } from "./kit.ts";

const notes = {
  name: "notes",
  fields: [{ name: "title", type: "string", required: true }],
  permissions: { read: "public", create: "public" },
};
const cwd = await project({ collections: [notes], config: { public: "app/dist" } });
const app = join(cwd, "app");
const files: { readonly [path: string]: string } = {
  "package.json": '{ "private": true, "type": "module" }\n',
  "index.html": '<main></main><script type="module" src="/src/main.ts"></script>',
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      ...{ target: "es2022", lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler", strict: true },
      ...{ noEmit: true, types: [] },
    },
    include: ["src/main.ts"],
  }),
  "src/main.ts": `import { useAuth, useMutation, useQuery } from "@socle/react";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import { socle } from "./socle";

function App() {
  const { data, reload } = useQuery(socle.notes.orderBy("title").select("title"));
  const [create, { fields, status }] = useMutation((title: string) => socle.notes.create({ title }));
  const { user } = useAuth(socle);
  const titles: string[] = data?.items.map(({ title }) => title) ?? [];
  return h("button", { onClick: () => create("from React").then(reload) }, [...titles, fields["title"], status, user === null].join());
}
const place = document.querySelector("main");
if (place) createRoot(place).render(h(App));
`,
};
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(app, path)), { recursive: true });
  writeFileSync(join(app, path), text);
}
const tarballs = ["client", "react"].map((name) => join(root, `dist/packages/socle-${name}-0.2.0.tgz`));
const options = ["--offline", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
const installed = Bun.spawnSync(["npm", "install", ...options, ...tarballs], { cwd: app });
if (installed.exitCode !== 0) throw new Error(installed.stderr.toString());
for (const name of ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"]) {
  mkdirSync(dirname(join(app, "node_modules", name)), { recursive: true });
  symlinkSync(join(root, "node_modules", name), join(app, "node_modules", name));
}
expect((await socle(["client", "app/src"], { cwd })).code).toBe(0);

test("TypeScript reads the packages and the module together", () => {
  const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd: app });
  expect(tsc.stdout.toString()).toBe("");
});

test("Vite builds the app, with the worker as a file of the app and without the parts that the app does not import", async () => {
  const vite = Bun.spawnSync(["node", join(root, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], {
    cwd: app,
  });
  expect([vite.exitCode, vite.stderr.toString()]).toEqual([0, ""]);
  const assets = [...new Glob("assets/*.js").scanSync(join(app, "dist"))];
  const worker = assets.find((path) => path.includes("client-worker"));
  const main = assets.find((path) => path !== worker) ?? "";
  const text = readFileSync(join(app, "dist", main), "utf8");
  expect(worker).not.toBeUndefined();
  expect(["/api/admin/", "/api/storage", "/api/auth/passkeys"].filter((path) => text.includes(path))).toEqual([]);
  expect(text).toContain("/api/realtime");
});

test("the app works in a browser", async () => {
  const server = await serve(cwd);
  const page = await (await openWindow()).newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(server.url);
  await page.getByRole("button", { name: ",idle,true" }).click();
  await page.getByText("from React,,done,true").waitFor();
  expect(problems).toEqual([]);
});
