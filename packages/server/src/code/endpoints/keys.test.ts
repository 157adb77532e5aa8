/** API keys and user code: scopes of endpoints, and the user that endpoints, hooks, functions and queues see behind a key. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { setRole } from "../../../test/kit.ts";
import { openScripts } from "../../../test/scripts.ts";

const show =
  "(request, { user, auth }) => Response.json({ role: user?.role ?? null, same: auth.user?.id === user?.id })";
const tell = (at: string) =>
  `console.log("told " + JSON.stringify(["${at}", auth.user?.email ?? null, auth.user?.role ?? null]));`;
const opened = await openScripts({
  collections: [
    {
      name: "items",
      fields: [{ name: "n", type: "integer" }],
      permissions: { read: "public", create: "authenticated" },
    },
  ],
  settings: { SERVICE_LIMITS_KEYS_PER_USER: "100" },
  files: {
    "endpoints/index.ts": `export const GET = ${show};`,
    "endpoints/open.ts": `export const access = "public"; export const GET = ${show}; export const POST = GET;`,
    "endpoints/admins.ts": `export const access = "admin"; export const GET = ${show};`,
    "endpoints/orders/index.ts": `export const GET = ${show};`,
    "endpoints/orders/[id].ts": `export const GET = ${show};`,
    "endpoints/orders/[id]/lines.ts": `export const GET = ${show};`,
    "functions/items/told.ts": `
      export const beforeCreate = ({ auth }) => { ${tell("hook")} };
      export const onCreate = async ({ auth, jobs }) => { ${tell("function")} await jobs.enqueue("later", 1); };`,
    "jobs/later.ts": `export const queue = {}; export default ({ auth }) => { ${tell("queue")} };`,
  },
});
const { request, service } = opened;
const admin = await opened.admin();
const boss = await opened.register("boss@example.com");
await setRole(service, boss.user.id, "admin");
const api = "/api/function";

const keyOf = async (...scopes: string[]): Promise<string> =>
  (await makeKey(opened, { token: boss.accessToken, scopes })).key;
const statusOf = async (path: string, token: string): Promise<number> =>
  (await request("GET", `${api}${path}`, { token })).status;

describe("the scope of an endpoint", () => {
  test.each([
    ["function:/", ["", "/"], ["/open", "/orders"]],
    ["function:/open", ["/open", "/open/"], ["", "/orders", "/admins"]],
    ["function:/orders", ["/orders"], ["/orders/7", "/open"]],
    ["function:/orders/*", ["/orders/7", "/orders/7/lines", "/orders/%37"], ["/orders", "/open", ""]],
    ["function:/orders/7", ["/orders/7", "/orders/%37"], ["/orders/8", "/orders/7/lines", "/orders"]],
    ["function:/*", ["/open", "/orders", "/orders/7/lines"], [""]],
    ["*:read", [], ["", "/open", "/orders"]],
    ["*:write", [], ["", "/open", "/orders"]],
  ])("%s", async (scope, open, closed) => {
    const token = await keyOf(scope);
    for (const path of open) expect([path, await statusOf(path, token)]).toEqual([path, 200]);
    for (const path of closed) expect([path, await statusOf(path, token)]).toEqual([path, 403]);
  });

  test("opens no endpoint for admins without the scope admin, and a path of no endpoint is 404", async () => {
    const token = await keyOf("function:/*");
    expect([await statusOf("/admins", token), await statusOf("/none", token)]).toEqual([403, 404]);
    expect(await statusOf("/admins", await keyOf("admin"))).toBe(200);
  });
});

describe("the user of", () => {
  const called = async (token: string): Promise<unknown> =>
    JSON.parse(new TextDecoder().decode((await request("GET", `${api}/open`, { token })).bytes));

  test("an endpoint is the owner with the role of the key, and null for a service key", async () => {
    expect(await called(boss.accessToken)).toEqual({ role: "admin", same: true });
    expect(await called(await keyOf("function:/open"))).toEqual({ role: "authenticated", same: true });
    expect(await called(await keyOf("admin"))).toEqual({ role: "admin", same: true });
    const { key } = await makeKey(opened, { token: admin, scopes: ["function:/*"], isOfService: true });
    expect(await called(key)).toEqual({ role: null, same: true });
    expect(await statusOf("/orders", key)).toBe(200);
  });

  test("hooks, functions and queues, likewise; after the end of the key the user is absent", async () => {
    const told = async (token: string): Promise<unknown[]> => {
      const before = opened.log.length;
      const lines = () => opened.log.slice(before).filter((line) => line.includes("told ["));
      expect((await request("POST", "/api/items", { token, body: { n: 1 } })).status).toBe(201);
      await opened.scripts.functions.settled();
      while (lines().length < 3) await Bun.sleep(5);
      return lines().map((line) => JSON.parse(line.slice(line.indexOf("["))));
    };
    const email = "boss@example.com";
    const all = (...user: (string | null)[]) => ["hook", "function", "queue"].map((at) => [at, ...user]);
    expect(await told(boss.accessToken)).toEqual(all(email, "admin"));
    expect(await told(await keyOf("items:write"))).toEqual(all(email, "authenticated"));
    expect(await told(await keyOf("admin"))).toEqual(all(email, "admin"));
    const { key } = await makeKey(opened, { token: admin, scopes: ["items:write"], isOfService: true });
    expect(await told(key)).toEqual(all(null, null));
    const ended = await makeKey(opened, { token: boss.accessToken, scopes: ["items:write"] });
    expect(service.auth.callers.actor(ended.id)).toMatchObject({ email, role: "authenticated" });
    await request("DELETE", `/api/auth/keys/${ended.id}`, { token: boss.accessToken });
    expect(service.auth.callers.actor(ended.id)).toBeNull();
  });
});
