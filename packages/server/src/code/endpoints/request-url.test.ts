/** The URL of a request to an endpoint: the public address of the service, whatever the headers of the request say. */
import { describe, expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";
import { listen } from "../../../test/sockets.ts";

const files = {
  "endpoints/links/[name].ts": `export const access = "public";
export const GET = (request) => Response.json([
  request.url, new URL("/welcome", request.url).href, request.clone().url, request.headers.get("host"),
]);`,
  "endpoints/_middleware.ts":
    "export default (request, context, next) => next(new Request(new URL(request.url), request));",
};

/** Headers by which a client may try to get a host of its choice into links, also through a proxy that passes the headers on. */
const forged: readonly Record<string, string>[] = [
  {},
  { Host: "evil.example" },
  { Host: "evil.example:1", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "gopher" },
  { Forwarded: "host=evil.example;proto=https", "X-Forwarded-Host": "evil.example", "X-Original-Host": "evil.example" },
];

async function open(settings: Record<string, string>): Promise<{ url: string; paths(): Promise<string[][]> }> {
  const api = await openScripts({ files, settings });
  const { url } = listen(api);
  const ask = async (headers: Record<string, string>): Promise<string[]> => {
    const response = await fetch(`${url}/api/function/links/a%20b?x=1&next=%2F%2Fevil`, { headers });
    return response.status === 200 ? ((await response.json()) as string[]) : [];
  };
  return { url, paths: () => Promise.all(forged.map(ask)) };
}

const path = "/api/function/links/a%20b?x=1&next=%2F%2Fevil";

describe("the URL of a request", () => {
  test("begins with publicUrl, also with a path", async () => {
    for (const publicUrl of ["https://api.example.com", "https://example.com/shop"]) {
      const { paths } = await open({ SERVICE_PUBLIC_URL: publicUrl });
      const welcome = `${new URL(publicUrl).origin}/welcome`;
      for (const [url, link, clone] of await paths())
        expect([url, link, clone]).toEqual([`${publicUrl}${path}`, welcome, `${publicUrl}${path}`]);
    }
  });

  test("begins with the address at which the service listens without publicUrl", async () => {
    const { url, paths } = await open({ SERVICE_TRUSTED_PROXIES: "1" });
    const [first, ...others] = await paths();
    expect(first).toEqual([`${url}${path}`, `${url}/welcome`, `${url}${path}`, new URL(url).host]);
    for (const [given, link] of others) expect([given, link]).toEqual([`${url}${path}`, `${url}/welcome`]);
  });

  test("begins with the first domain of a certificate by ACME without publicUrl", async () => {
    const { paths } = await open({ SERVICE_TLS_ACME_DOMAINS: "api.example.com,example.com", SERVICE_PORT: "443" });
    for (const [given] of await paths()) expect(given).toBe(`https://api.example.com${path}`);
  });

  test("keeps the header Host as the client has sent the header", async () => {
    const { paths } = await open({ SERVICE_PUBLIC_URL: "https://api.example.com" });
    expect((await paths())[1]?.[3]).toBe("evil.example");
  });
});
