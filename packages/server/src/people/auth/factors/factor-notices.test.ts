/** Tests of the notices of changes of factors: each change is mailed once, a refused change never. */
import { expect, test } from "bun:test";
import type { PasskeyCreation } from "@socle/protocol";
import { codeOf, wrongCodeOf } from "../../../../test/authenticator.ts";
import { openApi } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";
import { SoftPasskey } from "../../../../test/soft-authenticator.ts";

const origin = "https://app.example.com";
const api = await openApi({ settings: { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: origin } });
const mailbox = new Mailbox(api.service);
const email = "ann@example.com";

/** The sentences of the notices since the last call. */
let told = 0;
async function news(): Promise<string[]> {
  const notices = (await mailbox.to(email)).filter(({ kind }) => kind === "notice").slice(told);
  told += notices.length;
  const sentence = /(?:An|The|New|A|Second) [^\n]*(?:factor|codes|passkey|left|removed)[^\n]*\./;
  return notices.map(({ text }) => sentence.exec(text)?.[0] ?? text);
}

test("each change of a factor is mailed to the user, and no refused change", async () => {
  const { accessToken: token, user } = await api.register(email);
  const send = async (method: string, route: string, body: object = {}) =>
    api.request(method, `/api/auth/${route}`, { token, ...(method !== "DELETE" && { body }) });
  const secret = String((await send("POST", "totp")).body["secret"]);
  await send("POST", "totp/confirm", { code: wrongCodeOf(secret) });
  await send("POST", "recovery-codes");
  expect(await news()).toEqual([]);
  await send("POST", "totp/confirm", { code: codeOf(secret) });
  expect(await news()).toEqual(["An authenticator app was set up as the second factor."]);
  const codes: unknown = (await send("POST", "recovery-codes")).body["recoveryCodes"];
  expect(await news()).toEqual(["New recovery codes were made."]);

  const login = await send("POST", "login", { email, password: "correct horse" });
  const { attempt } = login.body;
  await send("POST", "second-factor", { attempt, recoveryCode: "x" });
  expect(await news()).toEqual([]);
  await send("POST", "second-factor", { attempt, recoveryCode: (codes as string[])[0] });
  expect(await news()).toEqual(["A recovery code was used for a sign-in; 9 recovery codes are left."]);

  const options = await api.request<PasskeyCreation>("POST", "/api/auth/passkeys/options", { token });
  const passkey = new SoftPasskey().register(options.body, { origin });
  const made = await send("POST", "passkeys", { passkey });
  await send("POST", "passkeys", { passkey });
  expect(await news()).toEqual(["A passkey was added."]);
  await send("DELETE", `passkeys/${made.body["id"]}`);
  await send("DELETE", `passkeys/${made.body["id"]}`);
  expect(await news()).toEqual(["A passkey was deleted."]);
  await send("DELETE", "totp");
  await send("DELETE", "totp");
  expect(await news()).toEqual(["The second factor was turned off."]);
  await api.request("DELETE", `/api/admin/users/${user.id}/factors`, { token: await api.admin() });
  expect(await news()).toEqual(["Second factor and passkeys were removed."]);
});
