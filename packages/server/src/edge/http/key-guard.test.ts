/** API keys on the routes of credentials and of admins: every route of the table is closed unless the list here names the route. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { lastSeq, openApi } from "../../../test/kit.ts";
import { openRouter } from "./api-router.ts";
import { LiveStreams } from "./live-streams.ts";

const api = await openApi({});
const admin = await api.admin();
const everything = ["*:read", "*:write", "function:/*"];
const ofAdmin = await makeKey(api, { token: admin, scopes: ["admin", ...everything] });
const ofUser = await makeKey(api, { token: (await api.register("ann@example.com")).accessToken, scopes: everything });
const ofService = await makeKey(api, { token: admin, scopes: everything, isOfService: true });

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const router = openRouter(api.parts, {
  liveStreams: new LiveStreams(api.service.auth),
  upgrade: () => false,
  keepOpen: () => undefined,
  listenUrl: () => "http://localhost",
  addressOf: () => "test",
});
const patterns = Object.keys(router.native()).filter((path) => /^\/api\/(auth|admin)\//.test(path));

/** The routes that an admin's key may use: a new route is closed until the route says `keys` and is added here. */
const open = [
  "GET /api/auth/me",
  "GET /api/admin/overview",
  "GET /api/admin/status",
  "GET /api/admin/config",
  "GET /api/admin/users",
  "GET /api/admin/users/:id",
  "GET /api/admin/backups",
  "POST /api/admin/backups",
];
const openParts =
  /^\/api\/admin\/(collections|endpoints|events|failures|functions|jobs|logs|runs|schema\.json|scripts|storage)(\/|$)/;
/** The routes in the open parts that no key may use: views of the dashboard, and the look of another user, are for a person who is signed in. */
const closed = /\/(saved-views|view-as)(\/|$)/;
const isInOpenPart = (path: string): boolean => openParts.test(path) && !closed.test(path);

async function isClosed(method: string, path: string, token: string): Promise<boolean> {
  const answer = await api.answer(method, path, { token, ...(method !== "GET" && method !== "HEAD" && { body: {} }) });
  if (answer.status !== 403) await answer.body?.cancel();
  return answer.status === 403 && (method === "HEAD" || /API key/.test(await answer.text()));
}

describe("an API key", () => {
  test("for admins is refused on every route outside the list, and nothing changes", async () => {
    expect(patterns.length).toBeGreaterThan(30);
    const before = await lastSeq(api.service);
    const found: string[] = [];
    for (const pattern of patterns.filter((path) => !isInOpenPart(path)))
      for (const method of methods.filter((each) => each !== "HEAD")) {
        const path = pattern.replaceAll(":", "");
        if (open.includes(`${method} ${pattern}`) || (await isClosed(method, path, ofAdmin.key))) continue;
        // A path whose routes are for keys tells the methods of the path.
        const { status } = await api.request(method, path, { token: ofAdmin.key });
        if (status !== 405) found.push(`${method} ${pattern}`);
      }
    expect(found).toEqual([]);
    expect(await lastSeq(api.service)).toBe(before);
  });

  test("for admins reaches every listed route", async () => {
    for (const route of open) {
      const [method = "", pattern = ""] = route.split(" ");
      expect([route, await isClosed(method, pattern.replaceAll(":", ""), ofAdmin.key)]).toEqual([route, false]);
      if (method === "GET") expect(await isClosed("HEAD", pattern.replaceAll(":", ""), ofAdmin.key)).toBe(false);
    }
    for (const pattern of patterns.filter(isInOpenPart))
      expect([pattern, await isClosed("GET", pattern.replaceAll(":", ""), ofAdmin.key)]).toEqual([pattern, false]);
  });

  test.each([
    ["a user", ofUser.key],
    ["the service", ofService.key],
  ])("with %s is refused on every route but the route of the own user", async (_who, token) => {
    for (const pattern of patterns)
      for (const method of methods) {
        const answer = await api.answer(method, pattern.replaceAll(":", ""), { token });
        const isMe = pattern === "/api/auth/me" && (method === "GET" || method === "HEAD") && token === ofUser.key;
        expect([method, pattern, answer.status]).toEqual([method, pattern, isMe ? 200 : 403]);
      }
  });

  test("is refused on unknown paths, and 401 has precedence for an invalid key", async () => {
    const wrong = `sk_${"a".repeat(43)}`;
    for (const path of ["/api/auth/keys", "/api/auth/keys/", "/api/auth/me/x", "/api/admin/keys/x/y"]) {
      expect([path, (await api.request("GET", path, { token: ofAdmin.key })).status]).toEqual([path, 403]);
      expect([path, (await api.request("GET", path, { token: wrong })).status]).toEqual([path, 401]);
    }
    // Without a route, the first part of the path is the name of a collection.
    for (const path of ["/api/%61uth/keys", "/api/%61dmin/keys", "/api/auth/none"])
      expect((await api.request("POST", path, { token: ofAdmin.key, body: {} })).status).toBeOneOf([404, 405]);
    const lower = { headers: { Authorization: `bearer  ${ofAdmin.key}` } };
    expect((await api.request("GET", "/api/auth/keys", lower)).status).toBe(403);
  });
});
