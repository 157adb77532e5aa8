/** Tests of the factors of users in the hands of admins: seen, and removed with an entry in the audit. */
import { describe, expect, test } from "bun:test";
import type { PasskeyCreation } from "@socle/protocol";
import { codeOf } from "../../../../test/authenticator.ts";
import { eventsSince, lastSeq, openApi } from "../../../../test/kit.ts";
import { SoftPasskey } from "../../../../test/soft-authenticator.ts";

const origin = "https://app.example.com";
const api = await openApi({ settings: { SERVICE_PUBLIC_URL: origin } });

/** A user with an app and a passkey. */
async function enrol(email: string) {
  const { accessToken: token, user } = await api.register(email);
  const { body } = await api.request("POST", "/api/auth/totp", { token });
  const confirmed = { token, body: { code: codeOf(String(body["secret"])) } };
  expect((await api.request("POST", "/api/auth/totp/confirm", confirmed)).status).toBe(200);
  const options = await api.request<PasskeyCreation>("POST", "/api/auth/passkeys/options", { token });
  const passkey = new SoftPasskey().register(options.body, { origin });
  const made = await api.request("POST", "/api/auth/passkeys", { token, body: { passkey, name: "Key" } });
  expect(made.status).toBe(201);
  return { email, id: user.id, token, factors: { totp: true, recoveryCodes: 10, passkeys: [made.body] } };
}

async function factorsOf(token: string): Promise<unknown> {
  return (await api.request("GET", "/api/auth/factors", { token })).body;
}

describe("an admin", () => {
  test("sees the factors of a user, and removes the factors that the user has lost, with an entry in the audit", async () => {
    const ann = await enrol("lost@example.com");
    const other = await enrol("has-it@example.com");
    const token = await api.admin();
    const path = `/api/admin/users/${ann.id}/factors`;
    expect<unknown>((await api.request("GET", path, { token })).body).toEqual(ann.factors);
    const seq = await lastSeq(api.service);
    expect((await api.request("DELETE", path, { token })).status).toBe(204);
    const payload = {
      userId: expect.any(String),
      target: ann.id,
      before: ann.factors,
      after: { totp: false, recoveryCodes: 0, passkeys: [] },
    };
    expect(await eventsSince(api.service, seq)).toEqual([{ type: "admin.user.factors", payload }]);
    await api.login(ann.email);
    expect<unknown>(await factorsOf(other.token)).toEqual(other.factors);
  });

  test("removes a single factor: the others stay, and so do the factors of other users", async () => {
    const ann = await enrol("one-lost@example.com");
    const other = await enrol("keeps-all@example.com");
    const token = await api.admin();
    const [passkey] = ann.factors.passkeys;
    const [foreign] = other.factors.passkeys;
    const remove = async (factor: unknown): Promise<number> => {
      const path = `/api/admin/users/${ann.id}/factors/${factor}`;
      return (await api.request("DELETE", path, { token })).status;
    };
    const seq = await lastSeq(api.service);
    for (const unknown of [foreign?.["id"], "recoveryCodes", "psk_x"]) expect(await remove(unknown)).toBe(404);
    expect(await eventsSince(api.service, seq)).toEqual([]);
    expect(await remove(passkey?.["id"])).toBe(204);
    const appAlone = { ...ann.factors, passkeys: [] };
    expect(await factorsOf(ann.token)).toEqual(appAlone);
    expect((await eventsSince(api.service, seq))[0]?.payload).toMatchObject({ before: ann.factors, after: appAlone });
    expect(await remove("totp")).toBe(204);
    expect(await remove("totp")).toBe(404);
    expect(await factorsOf(ann.token)).toEqual({ totp: false, recoveryCodes: 0, passkeys: [] });
    expect<unknown>(await factorsOf(other.token)).toEqual(other.factors);
    await api.login(ann.email);
  });

  test("only may do so, for a user that exists", async () => {
    const ann = await enrol("mine@example.com");
    for (const method of ["GET", "DELETE"]) {
      const path = `/api/admin/users/${ann.id}/factors`;
      expect((await api.request(method, path, { token: ann.token })).status).toBe(403);
      expect((await api.request(method, path)).status).toBe(401);
      if (method === "DELETE")
        expect((await api.request(method, `${path}/totp`, { token: ann.token })).status).toBe(403);
      const unknown = await api.request(method, "/api/admin/users/usr_x/factors", { token: await api.admin() });
      expect(unknown.status).toBe(404);
    }
    expect(await factorsOf(ann.token)).toEqual(ann.factors);
  });
});
