/** The paths of endpoints: prefixes beside pages, the routes of the service, the client and the list; and limits of requests on the wire. */
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { SocleClient } from "../packages/client/src/index.ts";
import { project, type Running, serve, socle } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const open = 'export const access = "public";\n';
const say = (word: string): string =>
  `${open}export const GET = () => new Response("${word}");\nexport const POST = GET;\n`;
const site = { "site/index.html": "home", "site/about.html": "about", "site/docs/index.html": "docs" };

async function start(
  config: object,
  files: { readonly [path: string]: string },
): Promise<{ server: Running; cwd: string }> {
  const cwd = await project({ config: { admin: { email: "admin@example.com" }, ...config } });
  await write(cwd, { ...site, ...files });
  return { cwd, server: await serve(cwd) };
}

/** The status and the text of a GET that asks for a page as a browser does. */
async function page(server: Running, path: string, method = "GET"): Promise<[status: number, text: string]> {
  const answer = await fetch(server.url + path, { method, headers: { Accept: "text/html" } });
  return [answer.status, await answer.text()];
}

test("with the prefix / a page goes before an endpoint, and an endpoint before the page of an app; the service goes before both", async () => {
  const { server, cwd } = await start(
    { endpoints: { prefix: "/" }, public: "./site", publicFallback: true },
    {
      "endpoints/index.ts": say("index"),
      "endpoints/about.html.ts": say("own about"),
      "endpoints/orders/[id].ts": say("order"),
      "endpoints/health.ts": say("own health"),
      "endpoints/api/x/y/z.ts": say("own api"),
      "endpoints/app/[...rest].ts": `${open}export const GET = (_: Request, { params }: { params: object }) => Response.json(params);\n`,
    },
  );
  expect(await page(server, "/")).toEqual([200, "home"]);
  expect((await page(server, "/", "POST"))[0]).toBe(405);
  expect(await page(server, "/about.html")).toEqual([200, "about"]);
  expect(await page(server, "/docs/")).toEqual([200, "docs"]);
  expect(await page(server, "/orders/7")).toEqual([200, "order"]);
  expect(await page(server, "/app")).toEqual([200, '{"rest":[]}']);
  expect(await page(server, "/app/a%20b/c/")).toEqual([200, '{"rest":["a b","c"]}']);
  expect(await page(server, "/elsewhere")).toEqual([200, "home"]);
  expect((await page(server, "/orders/7", "PUT"))[0]).toBe(405);
  expect((await page(server, "/health"))[1]).toContain('"status":"ok"');
  expect((await page(server, "/_/"))[1]).toContain("<title>Socle");
  for (const path of ["/api/x/y/z", "/api/function/orders/7", "/%61pi/x/y/z"])
    expect([path, (await page(server, path))[0]]).toEqual([path, 404]);
  const client = new SocleClient({ baseUrl: server.url, endpointsPrefix: "/" });
  expect(await (await client.function("orders/7")).text()).toBe("order");
  await client.register({ email: "admin@example.com", password: "correct horse" });
  const { items } = await client.admin.scripts.endpoints();
  expect(items.map(({ path }) => path).sort()).toEqual(["/about.html", "/app/[...rest]", "/orders/[id]"]);
  const { stdout } = await socle(["check"], { cwd });
  for (const [file, path] of [
    ["index", "/"],
    ["health", "/health"],
    ["api/x/y/z", "/api/x/y/z"],
  ])
    expect(stdout).toContain(
      `endpoints/${file}.ts does not load: has the path ${path}, which the service answers itself`,
    );
});

test("with the prefix / a catch-all takes no path of the service", async () => {
  const { server } = await start(
    { endpoints: { prefix: "/" }, dashboard: { enabled: false } },
    { "endpoints/[...rest].ts": say("rest") },
  );
  for (const path of ["/a", "/a/b", "/apis", "/_x", "/index.html"])
    expect(await page(server, path)).toEqual([200, "rest"]);
  expect((await page(server, "/"))[1]).toContain('"status":"ok"');
  for (const path of ["/api", "/api/", "/api/none", "/api/a/b/c/d", "/%61pi/a/b/c", "/_", "/_/", "/_/x", "/%5F/x"])
    expect([path, (await page(server, path))[0]]).toEqual([path, 404]);
});

test("with another prefix the usual path is gone, and the list shows the real paths", async () => {
  const { server } = await start(
    { endpoints: { prefix: "/my/app" }, public: "./site" },
    {
      "endpoints/index.ts": say("index"),
      "endpoints/hello.ts": say("hello"),
      "site/my/app/hello.html": "page",
      "site/my/app/hello": "file",
    },
  );
  expect(await page(server, "/my/app")).toEqual([200, "index"]);
  expect(await page(server, "/my/app/")).toEqual([200, "index"]);
  expect(await page(server, "/my/app/hello")).toEqual([200, "file"]);
  expect(await page(server, "/my/app/hello", "POST")).toEqual([200, "hello"]);
  for (const path of ["/api/function/hello", "/hello", "/my/apphello", "/my"])
    expect([path, (await page(server, path))[0]]).toEqual([path, 404]);
  const client = new SocleClient({ baseUrl: server.url, endpointsPrefix: "/my/app" });
  expect(await (await client.function("", { body: {} })).text()).toBe("index");
  await client.register({ email: "admin@example.com", password: "correct horse" });
  expect((await client.admin.scripts.endpoints()).items.map(({ path }) => path)).toEqual(["/my/app/hello", "/my/app"]);
});

test("a bad prefix and a bad limit each end the start with a single line", async () => {
  for (const [config, message] of [
    [{ endpoints: { prefix: "/api/own" } }, '"/api/own" is not valid for "endpoints.prefix"'],
    [{ limits: { requests: [{ routes: "/x", per: "day", max: 1, window: "1m" }] } }, "limits.requests[0].per"],
  ] as const) {
    const cwd = await project({ config });
    const { code, stderr } = await socle(["serve"], { cwd });
    expect([code, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain(message);
  }
});

test("no form of a path on the wire bypasses a limit of requests; the address is the address behind the proxies", async () => {
  const { server } = await start(
    { trustedProxies: 1, limits: { requests: [{ routes: "/api/function/*", per: "address", max: 1, window: "1h" }] } },
    {
      "endpoints/who.ts": `${open}export const GET = (_: Request, { caller }: { caller: { address: string } }) => new Response(caller.address);\n`,
    },
  );
  const status = async (target: string, address: string): Promise<[number, string]> => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(
      `GET ${target} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1, ${address}\r\nConnection: close\r\n\r\n`,
    );
    let text = "";
    for await (const data of socket) text += String(data);
    return [Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]), text.slice(text.indexOf("\r\n\r\n") + 4)];
  };
  expect(await status("/api/function/who", "203.0.113.9")).toEqual([200, "203.0.113.9"]);
  const forms = [
    "/api/function/who",
    "/api/function/who/",
    "/api/function/who?x",
    "/api/function/%77ho",
    "/api/%66unction/who",
    "/%61pi/function/who",
    "/api/function/./who",
    "/api/function/x/../who",
    "/api/x/../function/who",
    "/api/x/%2e%2e/function/who",
    "//api/function/who",
    "/api//function/who",
    "/api/function//who",
    "http://x/api/function/who",
    "http://x/api/function/who#y",
    "/api\\function\\who",
  ];
  for (const form of forms) {
    const [code] = await status(form, "203.0.113.9");
    expect([form, code === 429 || code === 404 || code === 400]).toEqual([form, true]);
  }
  expect((await status("/api/function/who", "203.0.113.10"))[0]).toBe(200);
});
