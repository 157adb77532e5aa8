/** The account of a user, with the executable: sessions, a new password, notices, the deletion, and a restart in between. */
import { describe, expect, test } from "bun:test";
import { SocleClient, SocleError } from "../packages/client/src/index.ts";
import { project, serve } from "./kit.ts";

const password = "correct horse";
const next = "battery staple";
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

async function refusal(promise: Promise<unknown>): Promise<unknown[]> {
  const thrown = await promise.then(() => null).catch((error: unknown) => error);
  if (!(thrown instanceof SocleError)) throw new Error(`expected a SocleError, not ${String(thrown)}`);
  return [thrown.status, ...thrown.details.map(({ field, rule }) => `${field} ${rule}`)];
}

describe("an account", () => {
  test("shows and ends its sessions, gets another password, and is deleted", async () => {
    const cwd = await project({
      config: {
        "mail.from": "shop@example.com",
        "admin.email": "boss@example.com",
        "admin.password": "the boss is here",
        "auth.commonPasswords": "refuse",
        "limits.rate.login": "off",
      },
    });
    let server = await serve(cwd);
    const client = (tokens?: ReturnType<typeof tokensOf>): SocleClient =>
      new SocleClient({ baseUrl: server.url, ...(tokens && { tokens }) });
    const credentials = { email: "ann@example.com", password };
    const phone = client();
    await phone.register(credentials);
    const answer = await fetch(`${server.url}/api/auth/login`, {
      method: "POST",
      headers: { "User-Agent": firefox },
      body: JSON.stringify(credentials),
    });
    const tokens = tokensOf(await answer.json());
    const laptop = client(tokens);
    const [own, other] = await laptop.auth.sessions.list();
    expect(own).toMatchObject({ current: true, userAgent: firefox, address: "127.0.0.1" });
    expect(other).toMatchObject({ current: false });

    await server.stop();
    server = await serve(cwd);
    const again = client(tokens);
    expect(await again.auth.sessions.list()).toEqual([own, other].flatMap((session) => session ?? []));

    // The list of common passwords is in the executable, in the thread of passwords.
    expect(await refusal(again.auth.changePassword(password, "iloveyou1"))).toEqual([400, "password common"]);
    expect(await refusal(again.auth.changePassword("wrong one", next))).toEqual([403]);
    await again.auth.changePassword(password, next);
    const phoneAgain = client();
    expect(await refusal(phoneAgain.login(credentials))).toEqual([401]);
    await phoneAgain.login({ ...credentials, password: next });
    expect(await again.auth.sessions.list()).toHaveLength(2);
    await again.auth.sessions.endOthers();
    expect(await refusal(phoneAgain.me())).toEqual([401]);

    expect(await refusal(again.auth.deleteAccount(null))).toEqual([400, "password required"]);
    expect(await refusal(again.auth.deleteAccount("wrong one"))).toEqual([403]);
    expect((await again.me()).email).toBe("ann@example.com");
    await again.auth.deleteAccount(next);
    expect(again.accessToken).toBeNull();
    expect(await refusal(client().login({ ...credentials, password: next }))).toEqual([401]);

    const boss = client();
    await boss.login({ email: "boss@example.com", password: "the boss is here" });
    const mails = await fetch(`${server.url}/api/admin/mails`, {
      headers: { Authorization: `Bearer ${boss.accessToken}` },
    });
    const { items } = (await mails.json()) as { items: { kind: string; to: string }[] };
    const notices = items.filter(({ kind }) => kind === "notice");
    expect(notices).toHaveLength(2);
    expect(JSON.stringify(notices)).not.toContain("boss@example.com");
    expect(await refusal(boss.auth.deleteAccount("the boss is here"))).toEqual([400]);
    await server.stop();
  });

  test("is deleted by a body in pieces, and stays without the body", async () => {
    const server = await serve(await project());
    const client = new SocleClient({ baseUrl: server.url });
    await client.register({ email: "bob@example.com", password });
    const remove = (body: ReadableStream | null): Promise<Response> =>
      fetch(`${server.url}/api/auth/me`, {
        method: "DELETE",
        headers: { Authorization: `Bearer ${client.accessToken}` },
        body,
      });
    expect((await remove(null)).status).toBe(400);
    const pieces = new Blob([JSON.stringify({ password })]).stream();
    expect((await remove(pieces)).status).toBe(204);
    expect((await client.me().catch((error: SocleError) => error)) instanceof SocleError).toBe(true);
    await server.stop();
  });
});

function tokensOf(answer: unknown): { accessToken: string; refreshToken: string } {
  const { accessToken, refreshToken } = answer as { accessToken: string; refreshToken: string };
  return { accessToken, refreshToken };
}
