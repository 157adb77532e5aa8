import { expect, setSystemTime, spyOn, test } from "bun:test";
import { eventsSince, openApi } from "../../../test/kit.ts";
import type { FirstAdmin } from "./first-admin.ts";

const path = "/api/auth/setup";
const body = { email: "first@example.com", password: "correct horse" };

async function invited() {
  const api = await openApi({});
  const token = await api.parts.admin.firstAdmin.invite();
  if (token === null) throw new Error("no invitation");
  return { ...api, link: `${path}?token=${token}`, token };
}

test("the link makes the first admin, signs in, and dies", async () => {
  const { request, link, service } = await invited();
  expect<unknown>((await request("GET", path)).body).toEqual({ status: "open" });
  const open = await request("GET", link);
  expect<unknown>([open.status, open.body["status"]]).toEqual([200, "open"]);
  const made = await request("POST", link, { body });
  expect<unknown>([made.status, made.body["user"]?.["role"]]).toEqual([201, "admin"]);
  const token = String(made.body["accessToken"]);
  expect((await request("GET", "/api/admin/overview", { token })).status).toBe(200);
  for (const method of ["GET", "POST"]) {
    const again = await request(
      method,
      link,
      method === "POST" ? { body: { ...body, email: "second@example.com" } } : {},
    );
    expect([method, again.status]).toEqual([method, 404]);
  }
  expect(await service.auth.users.findByEmail("second@example.com")).toBeNull();
  expect<unknown>((await request("GET", path)).body).toEqual({ status: "over" });
  const [audit] = (await eventsSince(service)).filter(({ type }) => type.startsWith("admin."));
  expect(audit).toMatchObject({ type: "admin.user.created", payload: { after: { email: body.email, role: "admin" } } });
});

test("many requests at once: a single request makes the admin", async () => {
  const { request, link, service } = await invited();
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, n) => request("POST", link, { body: { ...body, email: `n${n}@example.com` } })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 404, 404, 404, 404]);
  expect((await service.auth.users.search({ limit: 10, offset: 0 })).total).toBe(1);
});

test("another token, a missing token, and a bad body make no admin; the link still works", async () => {
  const { request, link, token, service } = await invited();
  const half = token.slice(0, -1);
  for (const [where, sent, status] of [
    [`${path}?token=${half}`, body, 401],
    [`${path}?token=`, body, 401],
    [path, body, 401],
    [path, { ...body, token: half }, 401],
    [path, { ...body, token: 1 }, 401],
    [link, { email: "x", password: "y" }, 400],
    [link, {}, 400],
    [link, "{", 400],
  ] as const)
    expect([where, sent, (await request("POST", where, { body: sent })).status]).toEqual([where, sent, status]);
  expect((await service.auth.users.search({ limit: 10, offset: 0 })).total).toBe(0);
  expect((await request("POST", path, { body: { ...body, token } })).status).toBe(201);
});

test("the link ends when an admin exists otherwise, and after 30 minutes", async () => {
  const other = await invited();
  await other.admin();
  expect((await other.request("POST", other.link, { body })).status).toBe(404);
  expect(await other.parts.admin.firstAdmin.invite()).toBeNull();

  const late = await invited();
  setSystemTime(Date.now() + 29 * 60_000);
  expect((await late.request("GET", late.link)).status).toBe(200);
  setSystemTime(Date.now() + 2 * 60_000);
  expect((await late.request("GET", late.link)).status).toBe(404);
  expect((await late.request("POST", late.link, { body })).status).toBe(404);
  setSystemTime();
  expect((await late.service.auth.users.search({ limit: 10, offset: 0 })).total).toBe(0);
});

test("a link that expires or is replaced while the password is hashed makes no admin", async () => {
  for (const [change, status] of [
    [async () => void setSystemTime(Date.now() + 31 * 60_000), 404],
    [(firstAdmin: FirstAdmin) => firstAdmin.invite(), 401],
  ] as const) {
    const { request, link, service, parts } = await invited();
    const { users } = service.auth;
    const prepare = users.prepare.bind(users);
    const hashing = spyOn(users, "prepare").mockImplementation(async (...args) => {
      const values = await prepare(...args);
      await change(parts.admin.firstAdmin);
      return values;
    });
    expect((await request("POST", link, { body })).status).toBe(status);
    hashing.mockRestore();
    setSystemTime();
    expect((await service.auth.users.search({ limit: 10, offset: 0 })).total).toBe(0);
  }
});

test("a link that has made an admin works no more, also when that admin is gone", async () => {
  const { request, link, service } = await invited();
  expect((await request("POST", link, { body })).status).toBe(201);
  await service.database.transact((tx) => tx.run("DELETE FROM _users"));
  expect((await request("POST", link, { body })).status).toBe(404);
  expect((await service.auth.users.search({ limit: 10, offset: 0 })).total).toBe(0);
});

test("without an invitation the set-up is closed", async () => {
  const { request } = await openApi({});
  expect((await request("POST", `${path}?token=`, { body })).status).toBe(404);
  expect((await request("POST", `${path}?token=null`, { body })).status).toBe(404);
});
