/** The shapes of function modules: each shape runs its handler for the named collection, and a file without a handler is code of others. */
import { describe, expect, test } from "bun:test";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import type { LogEntry } from "../../base/logging/index.ts";

const collections = ["posts", "notes"].map((name) => ({ name, fields: [{ name: "title", type: "string" }] }));
/** A handler that logs the kind of event and the collection of the record, as the event has both. */
const tell = '({ event }) => console.log("ran", event.type)';

/** Files by path, and the triggers that the service finds, as `type collection`. */
const shapes: readonly (readonly [path: string, content: string, triggers: readonly string[]])[] = [
  ["functions/posts/a.ts", `export const onCreate = ${tell};`, ["create posts"]],
  ["functions/posts/a.ts", `export async function onUpdate(context) { (${tell})(context); }`, ["update posts"]],
  ["functions/posts/a.ts", `const run = ${tell};\nexport { run as onDelete };`, ["delete posts"]],
  // A default export, by the name of the file.
  ["functions/posts/onCreate.ts", `export default ${tell};`, ["create posts"]],
  ["functions/posts/create.ts", `export default ${tell};`, ["create posts"]],
  ["functions/posts/created.ts", `export default ${tell};`, ["create posts"]],
  ["functions/posts/on-create.ts", `export default ${tell};`, ["create posts"]],
  ["functions/posts/on_update.ts", `export default ${tell};`, ["update posts"]],
  ["functions/posts/OnDelete.ts", `export default ${tell};`, ["delete posts"]],
  ["functions/posts/notify.onCreate.ts", `export default ${tell};`, ["create posts"]],
  ["functions/posts/notify.update.ts", `export default ${tell};`, ["update posts"]],
  ["functions/posts/update.ts", `export const handler = ${tell};`, ["update posts"]],
  // The kind beside the handler.
  ["functions/posts/a.ts", `export const trigger = "onCreate";\nexport default ${tell};`, ["create posts"]],
  ["functions/posts/a.ts", `export const trigger = "create";\nexport const handler = ${tell};`, ["create posts"]],
  ["functions/posts/a.ts", `export const type = "update";\nexport default ${tell};`, ["update posts"]],
  [
    "functions/posts/a.ts",
    `export const type = "onDelete";\nexport function handler(c) { (${tell})(c); }`,
    ["delete posts"],
  ],
  ["functions/posts/a.ts", `export const event = "notes.created";\nexport default ${tell};`, ["create notes"]],
  [
    "functions/posts/a.ts",
    `export const trigger = { type: "onCreate", collection: "notes" };\nexport default ${tell};`,
    ["create notes"],
  ],
  ["functions/posts/a.ts", `export const trigger = { type: "update" };\nexport default ${tell};`, ["update posts"]],
  [
    "functions/posts/a.ts",
    `export const trigger = { event: "notes.deleted" };\nexport const handler = ${tell};`,
    ["delete notes"],
  ],
  [
    "functions/posts/a.ts",
    `export const trigger = "onCreate";\nexport const collection = "notes";\nexport default ${tell};`,
    ["create notes"],
  ],
  [
    "functions/posts/a.ts",
    `export const trigger = ["onCreate", "notes.updated"];\nexport default ${tell};`,
    ["create posts", "update notes"],
  ],
  // An object.
  [
    "functions/posts/a.ts",
    `export default { onCreate: ${tell}, onUpdate: ${tell} };`,
    ["create posts", "update posts"],
  ],
  ["functions/posts/a.ts", `export default { create: ${tell}, delete: ${tell} };`, ["create posts", "delete posts"]],
  ["functions/posts/a.ts", `export default { "notes.created": ${tell} };`, ["create notes"]],
  ["functions/posts/a.ts", `export default { collection: "notes", onCreate: ${tell} };`, ["create notes"]],
  ["functions/posts/a.ts", `export default { trigger: "onCreate", handler: ${tell} };`, ["create posts"]],
  [
    "functions/posts/a.ts",
    `export default { type: "create", collection: "notes", handler: ${tell} };`,
    ["create notes"],
  ],
  ["functions/posts/a.ts", `export default { event: "posts.updated", handler: ${tell} };`, ["update posts"]],
  [
    "functions/posts/a.ts",
    `export default { trigger: { type: "onDelete", collection: "notes" }, async handler(c) { (${tell})(c); } };`,
    ["delete notes"],
  ],
  [
    "functions/posts/a.ts",
    `export default [{ trigger: "onCreate", handler: ${tell} }, { trigger: "notes.created", handler: ${tell} }];`,
    ["create posts", "create notes"],
  ],
  [
    "functions/posts/a.ts",
    `class Posts { tell = ${tell}; onCreate(c) { this.tell(c); } }\nexport default new Posts();`,
    ["create posts"],
  ],
  // Calls.
  ["functions/posts/a.ts", `onCreate("posts", ${tell});`, ["create posts"]],
  ["functions/posts/a.ts", `onUpdate("notes", ${tell});`, ["update notes"]],
  ["functions/a.ts", `onCreate("posts", ${tell});\nonDelete("notes", ${tell});`, ["create posts", "delete notes"]],
  ["functions/any/where/deep/a.ts", `onCreate("posts", ${tell});`, ["create posts"]],
  ["functions/posts/a.ts", `export default onCreate("posts", ${tell});`, ["create posts"]],
  ["functions/posts/create.ts", `export default onCreate("notes", ${tell});`, ["create notes"]],
  [
    "functions/posts/a.ts",
    `export const first = onCreate("posts", ${tell}), second = onUpdate("posts", ${tell});`,
    ["create posts", "update posts"],
  ],
  [
    "functions/posts/a.ts",
    `import { onCreate } from "socle/functions";\nonCreate("posts", ${tell});`,
    ["create posts"],
  ],
  [
    "functions/posts/a.ts",
    `import { onCreate as on } from "socle/functions";\nexport const onCreate = on("notes", ${tell});`,
    ["create notes"],
  ],
  [
    "functions/a.ts",
    `import * as socle from "socle/functions";\nexport default socle.onDelete("posts", ${tell});`,
    ["delete posts"],
  ],
  ["functions/posts/a.ts", `await 1;\nonCreate("posts", ${tell});`, ["create posts"]],
  // CommonJS.
  ["functions/posts/a.ts", `exports.onCreate = ${tell};`, ["create posts"]],
  ["functions/posts/a.ts", `module.exports.onUpdate = ${tell};`, ["update posts"]],
  [
    "functions/posts/a.ts",
    `module.exports = { onCreate: ${tell}, delete: ${tell} };`,
    ["create posts", "delete posts"],
  ],
  ["functions/posts/a.ts", `module.exports = { trigger: "notes.created", handler: ${tell} };`, ["create notes"]],
  ["functions/posts/a.ts", `exports.trigger = "onCreate";\nexports.default = ${tell};`, ["create posts"]],
  ["functions/posts/a.ts", `exports.type = "update";\nexports.handler = ${tell};`, ["update posts"]],
  ["functions/posts/onCreate.ts", `module.exports = ${tell};`, ["create posts"]],
  [
    "functions/posts/on-delete.ts",
    `Object.defineProperty(exports, "__esModule", { value: true });\nexports.default = ${tell};`,
    ["delete posts"],
  ],
  ["functions/posts/update.ts", `const run = ${tell};\nexport = run;`, ["update posts"]],
  [
    "functions/posts/a.ts",
    `const { onCreate } = require("socle/functions");\nmodule.exports = onCreate("notes", ${tell});`,
    ["create notes"],
  ],
  ["functions/a.ts", `onCreate("posts", ${tell});\nmodule.exports = {};`, ["create posts"]],
  // Several shapes in a file; a handler that is exported twice runs once.
  [
    "functions/posts/a.ts",
    `export const onCreate = ${tell};\nexport default { onCreate, onDelete: ${tell} };`,
    ["create posts", "delete posts"],
  ],
  ["functions/posts/create.ts", `export const onCreate = ${tell};\nexport default onCreate;`, ["create posts"]],
  [
    "functions/posts/a.ts",
    `export const onCreate = ${tell};\nonCreate2();\nfunction onCreate2() { globalThis.onUpdate("notes", ${tell}); }`,
    ["create posts", "update notes"],
  ],
  [
    "functions/posts/a.ts",
    `onCreate("posts", ${tell});\nonCreate("posts", ${tell});`,
    ["create posts", "create posts"],
  ],
  [
    "functions/a.ts",
    `export const trigger = { type: "onCreate", collection: "posts" };\nexport default ${tell};`,
    ["create posts"],
  ],
  // Exports with other jobs stay without an effect.
  [
    "functions/posts/update.ts",
    `export const onCreate = ${tell};\nexport default () => console.log("no handler");`,
    ["create posts"],
  ],
  [
    "functions/posts/a.ts",
    `export const type = "blog";\nexport const onCreate = ${tell};\nexport default () => console.log("no handler");`,
    ["create posts"],
  ],
  // Users.
  ["functions/users/a.ts", `export const onLogin = ${tell};`, ["login users"]],
  ["functions/auth/a.ts", `export const onLogin = ${tell};`, ["login users"]],
  ["functions/auth/login.ts", `export default ${tell};`, ["login users"]],
  ["functions/auth/a.ts", `export const onCreate = ${tell};`, ["create users"]],
  ["functions/posts/a.ts", `onLogin("users", ${tell});`, ["login users"]],
  ["functions/a.ts", `onLogin("auth", ${tell});`, ["login users"]],
  ["functions/a.ts", `export default { event: "auth.login", handler: ${tell} };`, ["login users"]],
  ["functions/posts/a.ts", `export const event = "auth.register";\nexport default ${tell};`, ["create users"]],
];

const eventTypes: { readonly [type: string]: string } = { create: "created", update: "updated", delete: "deleted" };
const userEvents: { readonly [type: string]: string } = { create: "auth.register", login: "auth.login" };

interface Placed<T> {
  readonly path: string;
  readonly shape: T;
}

/**
 * The shapes in few projects: a process for each shape would take most of the time. The files `a.ts` get names of their own, which mean nothing;
 * files with other names stand in a project each, if their paths are equal.
 */
function projectsOf<T extends readonly [path: string, ...rest: unknown[]]>(all: readonly T[]): Placed<T>[][] {
  const projects: Placed<T>[][] = [];
  for (const [n, shape] of all.entries()) {
    const path = shape[0].replace(/\/a\.ts$/, `/a${n}.ts`);
    const free = projects.find((project) => project.every((each) => each.path !== path));
    if (free === undefined) projects.push([{ path, shape }]);
    else free.push({ path, shape });
  }
  return projects;
}

/** The entries of the log of all runs. */
function runsIn(api: TestScripts): LogEntry[] {
  const ofRecords = collections.flatMap(({ name }) => Object.values(eventTypes).map((type) => `${name}.${type}`));
  return [...ofRecords, ...Object.values(userEvents)].flatMap((type) => api.entries(`ran ${type}`));
}

describe.each(projectsOf(shapes).map((project) => [project]))("a function file runs", async (project) => {
  const files = Object.fromEntries(project.map(({ path, shape: [, content] }) => [path, content]));
  const api = await openScripts({ collections, files });
  const token = await api.admin();
  const loaded = [...api.log];
  const { body } = await api.request<{
    items: { type: string; collection: string; eventType: string; filePath: string }[];
  }>("GET", "/api/admin/functions?limit=500", { token });
  await api.scripts.settled();
  const earlier = new Set(runsIn(api));
  for (const { name } of collections) {
    const created = await api.request("POST", `/api/${name}`, { body: { title: "a" }, token });
    const id = String(created.body["id"]);
    await api.request("PUT", `/api/${name}/${id}`, { body: { title: "b" }, token });
    await api.request("DELETE", `/api/${name}/${id}`, { token });
  }
  const credentials = { email: "ann@example.com", password: "correct horse" };
  await api.request("POST", "/api/auth/register", { body: credentials });
  await api.request("POST", "/api/auth/login", { body: credentials });
  await api.scripts.settled();
  const entries = runsIn(api).filter((entry) => !earlier.has(entry));

  test.each(project.map(({ path, shape: [, content, triggers] }) => [path, content, triggers] as const))(
    "%s: %s",
    (path, _content, triggers) => {
      expect(loaded.filter((line) => /^(?:ERROR|WARN)/.test(line))).toEqual([]);
      const found = body.items.filter(({ filePath }) => filePath === path);
      expect(found.map(({ type, collection }) => `${type} ${collection}`).sort()).toEqual([...triggers].sort());
      const expected = triggers.map((trigger) => {
        const [type = "", collection = ""] = trigger.split(" ");
        return collection === "users" ? (userEvents[type] ?? "") : `${collection}.${eventTypes[type]}`;
      });
      expect(found.map(({ eventType }) => eventType).sort()).toEqual([...expected].sort());
      const own = entries.filter(({ fields }) => fields?.["file"] === path);
      // A registration is no login.
      expect(own.map(({ message }) => message.slice("ran ".length)).sort()).toEqual([...expected].sort());
    },
  );

  test("and no other file", () => {
    const paths = project.map(({ path }) => path);
    expect(body.items.map(({ filePath }) => filePath).filter((path) => !paths.includes(path))).toEqual([]);
    expect(entries.filter(({ fields }) => !paths.includes(String(fields?.["file"])))).toEqual([]);
  });
});

const refused: readonly (readonly [path: string, content: string, reason: string])[] = [
  ["functions/posts/notify.ts", `export default ${tell};`, "exports none of onCreate, "],
  ["functions/posts/a.ts", `export const handler = ${tell};`, "exports none of onCreate, "],
  ["functions/posts/a.ts", `export default { handler: ${tell} };`, "exports none of onCreate, "],
  ["functions/posts/a.ts", `export const onCraete = ${tell};`, "did you mean onCreate instead of onCraete?"],
  ["functions/posts/a.ts", `export default { onCraete: ${tell} };`, "did you mean onCreate instead of onCraete?"],
  [
    "functions/posts/a.ts",
    `export const trigger = "onSave";\nexport default ${tell};`,
    'trigger: "onSave" names no kind; allowed: onCreate, ',
  ],
  ["functions/posts/a.ts", `export const trigger = 5;\nexport default ${tell};`, "trigger: 5 names no kind"],
  [
    "functions/posts/a.ts",
    `export default { type: "constructor", handler: ${tell} };`,
    'type: "constructor" names no kind',
  ],
  ["functions/posts/a.ts", 'export const trigger = "onCreate";', "exports trigger, and no handler"],
  ["functions/posts/a.ts", 'export const trigger = "onCreate";\nexport default 5;', "exports trigger, and no handler"],
  [
    "functions/posts/a.ts",
    `export const trigger = "onLogin";\nexport default ${tell};`,
    "onLogin does not work in functions/posts/",
  ],
  ["functions/users/a.ts", `onLogin("posts", ${tell});`, "onLogin does not work for posts; possible are onCreate, "],
  ["functions/posts/a.ts", `onCreate(${tell});`, "onCreate takes a collection and a handler"],
  ["functions/posts/a.ts", 'onCreate("posts");', "onCreate takes a collection and a handler"],
  ["functions/posts/a.ts", 'import "../../lib/b.ts";', "onCreate(…) works in files below functions/"],
];

describe.each(projectsOf(refused).map((project) => [project]))("a function file", async (project) => {
  const files = Object.fromEntries(project.map(({ path, shape: [, content] }) => [path, content]));
  const api = await openScripts({ collections, files: { ...files, "lib/b.ts": `onCreate("posts", ${tell});` } });

  test.each(project.map(({ path, shape: [, content, reason] }) => [path, content, reason] as const))(
    "%s is refused: %s",
    (path, _content, reason) => {
      expect(api.log.find((line) => line.includes(`${path} does not load`))).toContain(reason);
    },
  );

  test("that is refused has no function", async () => {
    const { body } = await api.request<{ items: unknown[] }>("GET", "/api/admin/functions", {
      token: await api.admin(),
    });
    expect(body.items).toEqual([]);
  });
});

test("a file without a handler is code of other files: a warning, also for classes and constants", async () => {
  const files = {
    "functions/posts/a.ts": 'import { word } from "./words.ts";\nexport const onCreate = () => console.log(word);',
    "functions/posts/words.ts": 'export const word = "helped";\nexport function slugify(text) { return text; }',
    "functions/posts/mailer.ts": "export default class Mailer {}",
    "functions/posts/settings.ts": 'export default { color: "red", type: "blog" };',
    "functions/posts/side.ts": "globalThis.side = 1;",
    "functions/posts/_shared.ts": "export const a = 1;",
    "functions/posts/deep/plain.ts": "this is no code",
    "functions/lost.ts": `export const onCreate = ${tell};`,
  };
  const api = await openScripts({ collections, files });
  expect(api.log.join("\n")).not.toContain("ERROR");
  const warned = api.log.flatMap((line) => line.match(/WARN (functions\S+) has no handler/)?.[1] ?? []);
  expect(warned.sort()).toEqual(["mailer", "settings", "side", "words"].map((name) => `functions/posts/${name}.ts`));
  expect(api.log.join("\n")).toContain(
    "WARN functions/lost.ts has no effect: functions are functions/<collection>/<file>.ts, or name",
  );
  await api.request("POST", "/api/posts", { body: { title: "a" }, token: await api.admin() });
  await api.scripts.settled();
  expect(api.log.join("\n")).toContain("helped");
  expect(api.log.join("\n")).not.toContain("ran ");
  const before = api.log.length;
  await api.save({ "functions/posts/side.ts": "globalThis.side = 2;" });
  expect(api.log.slice(before).join("\n")).not.toContain("has no handler");
});

test("a changed call takes the place of the former call, in the same process and with the importers of the file", async () => {
  const call = (word: string): string =>
    `import { end } from "./_end.ts";\nonCreate("posts", () => console.log("${word}" + end));`;
  const api = await openScripts({
    collections,
    files: { "functions/posts/a.ts": call("first"), "functions/posts/_end.ts": 'export const end = "!";' },
  });
  const says = async (): Promise<string[]> => {
    await api.scripts.settled();
    const before = api.log.length;
    await api.request("POST", "/api/posts", { body: { title: "a" }, token: await api.admin() });
    await api.scripts.settled();
    return api.log.slice(before).flatMap((line) => line.match(/(first|second)[!?]/)?.[0] ?? []);
  };
  expect(await says()).toEqual(["first!"]);
  await api.save({ "functions/posts/a.ts": call("second") });
  expect(await says()).toEqual(["second!"]);
  await api.save({ "functions/posts/_end.ts": 'export const end = "?";' });
  expect(await says()).toEqual(["second?"]);
  await api.save({ "functions/posts/a.ts": 'onUpdate("posts", () => console.log("first!"));' });
  expect(await says()).toEqual([]);
});

test("a call while a handler runs is refused", async () => {
  const files = {
    "functions/posts/a.ts": 'export const onUpdate = () => {};\nonCreate("posts", () => onCreate("notes", () => {}));',
  };
  const api = await openScripts({ collections, files });
  await api.request("POST", "/api/posts", { body: { title: "a" }, token: await api.admin() });
  await api.scripts.settled();
  expect(api.log.join("\n")).toContain("onCreate(…) works while the file loads, and not later");
});

describe("hooks", () => {
  test("have the same shapes", async () => {
    const refuse = '() => { throw new Refusal("refused") }';
    const files = {
      "functions/posts/before-create.ts": `export default ${refuse};`,
      "functions/any.ts": `beforeUpdate("notes", ${refuse});`,
    };
    const api = await openScripts({ collections, files });
    const token = await api.admin();
    expect((await api.request("POST", "/api/posts", { body: { title: "a" }, token })).status).toBe(400);
    const note = await api.request("POST", "/api/notes", { body: { title: "a" }, token });
    expect(note.status).toBe(201);
    const path = `/api/notes/${String(note.body["id"])}`;
    expect((await api.request("PUT", path, { body: { title: "b" }, token })).status).toBe(400);
  });

  test("are not skipped if the file does not load, whichever shape the file has", async () => {
    const files = {
      "functions/posts/before-create.ts": "export default oh no;",
      "functions/any.ts": 'beforeUpdate("notes", () => {});\noh no',
    };
    const api = await openScripts({ collections, files });
    const token = await api.admin();
    expect((await api.request("POST", "/api/posts", { body: { title: "a" }, token })).status).toBe(503);
    const note = await api.request("POST", "/api/notes", { body: { title: "a" }, token });
    expect(note.status).toBe(201);
    const path = `/api/notes/${String(note.body["id"])}`;
    expect((await api.request("PUT", path, { body: { title: "b" }, token })).status).toBe(503);
  });
});
