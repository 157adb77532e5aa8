/** Tests of the relying party: the name for which passkeys count, with and without `publicUrl`. */
import { describe, expect, test } from "bun:test";
import type { PasskeyCreation, PasskeyRequest } from "@socle/protocol";
import { type Answer, openApi, type TestApi } from "../../../../test/kit.ts";
import { SoftPasskey } from "../../../../test/soft-authenticator.ts";

interface PostOptions {
  token?: string;
  to: TestApi;
  from: string;
}

function post<T = Answer["body"]>(route: string, body: object, { token, to, from }: PostOptions) {
  return to.request<T>("POST", `/api/auth/${route}`, { body, headers: { Origin: from }, ...(token && { token }) });
}

describe("the relying party", () => {
  async function optionsOf(to: TestApi, from: string): Promise<{ status: number; rpId: unknown }> {
    const { status, body } = await post("passkeys/login/options", {}, { to, from });
    return { status, rpId: body["rpId"] };
  }

  test("is made from publicUrl, whatever the request has", async () => {
    const api = await openApi({ settings: { SERVICE_PUBLIC_URL: "https://app.example.com/base" } });
    for (const from of ["https://evil.test", "http://localhost:3000", ""])
      expect(await optionsOf(api, from)).toEqual({ status: 200, rpId: "app.example.com" });
  });

  test("is localhost for a page of localhost without publicUrl, and for no other page", async () => {
    const local = await openApi({});
    for (const from of ["http://localhost:5173", "https://localhost"])
      expect(await optionsOf(local, from)).toEqual({ status: 200, rpId: "localhost" });
    const others = [
      "",
      "null",
      "https://evil.test",
      "http://127.0.0.1:8080",
      "http://localhost.evil.test",
      "http://[::1]",
    ];
    for (const from of others) expect(await optionsOf(local, from)).toEqual({ status: 503, rpId: undefined });
    const complaints = local.log.filter((line) => line.startsWith("WARN Passkeys need publicUrl"));
    expect(complaints).toHaveLength(1);
    const { accessToken: token } = await local.register("dev@example.com");
    const page = "http://localhost:5173";
    const { body } = await post<PasskeyCreation>("passkeys/options", {}, { token, to: local, from: page });
    const passkey = new SoftPasskey();
    const registration = passkey.register(body, { origin: page });
    expect((await post("passkeys", { passkey: registration }, { token, to: local, from: page })).status).toBe(201);
    const asked = await post<PasskeyRequest>("passkeys/login/options", {}, { to: local, from: page });
    const signed = passkey.sign(asked.body, { origin: "https://evil.test" });
    expect((await post("passkeys/login", { passkey: signed }, { to: local, from: page })).status).toBe(401);
    expect((await post("passkeys/login", { passkey: signed }, { to: local, from: "https://evil.test" })).status).toBe(
      503,
    );
  });

  test("needs a name: an address of a machine is 503", async () => {
    const machine = await openApi({ settings: { SERVICE_PUBLIC_URL: "http://192.0.2.1:8080" } });
    expect(await optionsOf(machine, "http://192.0.2.1:8080")).toEqual({ status: 503, rpId: undefined });
  });
});
