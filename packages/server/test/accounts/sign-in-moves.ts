/** Moves of the model of accounts that make accounts, sign in, and use sessions. */
import type { PasskeyRequest } from "@socle/protocol";
import { codeOf } from "../authenticator.ts";
import type { Answer } from "../kit.ts";
import { fragmentOf, passProvider, publicUrl, TestApp, TestBrowser } from "../sign-in-world.ts";
import type { SoftPasskey } from "../soft-authenticator.ts";
import type { Expected, Identity, Person } from "./account-state.ts";
import type { World } from "./world.ts";

/** The outcome in the app of an error at the provider: 302 in the model. */
const failed = { status: 302, body: {}, bytes: new Uint8Array(), headers: new Headers() };

export function register(world: World, by: Person): Promise<void> {
  return registerAs(world, by, world.addressFor(by));
}

export async function registerAs(world: World, by: Person, email: string): Promise<void> {
  const password = world.newPassword();
  const expected = world.model.register(email, password);
  world.note(`${by} registers ${email}: ${expected.status}`);
  if (expected.mail !== undefined) world.pockets.keep(by, { kind: "password", email, text: password });
  await world.settle(expected, await world.post("register", { email, password }), { by, secrets: [] });
}

export async function login(world: World, by: Person): Promise<void> {
  const before = world.attempts;
  const secret = world.pockets.pick(by, "password");
  if (secret === undefined) return;
  await loginWith(world, by, secret);
  if (world.attempts > before && world.chance(0.8)) await secondFactor(world, by);
}

export async function loginWith(
  world: World,
  by: Person,
  { email, text }: { email: string; text: string },
): Promise<void> {
  const expected = world.model.login(email, text);
  world.note(`${by} logs in as ${email}: ${show(expected)}`);
  await world.settle(expected, await world.post("login", { email, password: text }), { by, secrets: [text] });
}

export async function useCode(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, "code");
  if (secret !== undefined) await useCodeOf(world, by, secret);
}

export async function useCodeOf(world: World, by: Person, secret: { text: string; code: string }): Promise<void> {
  const expected = world.model.signInWithCode(secret.text, secret.code);
  world.note(`${by} uses a code: ${show(expected)}`);
  const answer = await world.post("code", { attempt: secret.text, code: secret.code });
  await world.settle(expected, answer, { by, secrets: [secret.text] });
}

export async function secondFactor(world: World, by: Person): Promise<void> {
  const attempt = world.pockets.pick(by, "attempt");
  const kind = world.pick(["totp", "totp", "recovery", "passkey"] as const);
  const factor = world.pockets.pick(by, kind);
  if (attempt === undefined || factor === undefined) return;
  const { text } = attempt;
  let given: { code: string } | { recoveryCode: string } | { passkey: string };
  let body: object;
  if (factor.kind === "passkey") {
    // An attempt that has ended has no options: the answer to those of a sign-in is for another purpose.
    const options = await world.post("passkeys/login/options", { attempt: text });
    if (options.status !== 200) return;
    given = { passkey: factor.passkey.id };
    body = { passkey: signed(factor.passkey, options.body) };
  } else if (factor.kind === "totp") {
    given = { code: world.chance(0.2) ? "000000" : codeOf(factor.text, world.below(3) - 1) };
    body = given;
  } else {
    given = { recoveryCode: factor.text };
    body = given;
  }
  const expected = world.model.secondFactor(text, given);
  world.note(`${by} shows ${kind}: ${show(expected)}`);
  const answer = await world.post("second-factor", { attempt: text, ...body });
  await world.settle(expected, answer, { by, secrets: [text, factor.text] });
}

function signed(passkey: SoftPasskey, asked: Answer["body"]): object {
  const options: PasskeyRequest = JSON.parse(JSON.stringify(asked));
  return passkey.sign(options, { origin: publicUrl });
}

export async function signInWithPasskey(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, "passkey");
  if (secret !== undefined) await usePasskey(world, by, secret.passkey);
}

/** Signs in with a passkey, and sends the same answer again. */
export async function usePasskey(world: World, by: Person, passkey: SoftPasskey): Promise<void> {
  const options = await world.post("passkeys/login/options", {});
  const body = { passkey: signed(passkey, options.body) };
  const expected = world.model.signInWithPasskey(passkey.id);
  world.note(`${by} signs in with a passkey: ${show(expected)}`);
  const deed = { by, secrets: [passkey.id] };
  await world.settle(expected, await world.post("passkeys/login", body), deed);
  // Before the proof of the address, a refused sign-in leaves the answer unused.
  const again = { status: expected.status === 403 ? 403 : 401 };
  if (world.chance(0.3)) await world.settle(again, await world.post("passkeys/login", body), deed);
}

export function signInAtProvider(world: World, by: Person): Promise<void> {
  return signInAs(world, by, world.identityOf(by));
}

export async function signInAs(world: World, by: Person, identity: Identity): Promise<void> {
  world.met(by, identity);
  const expected = world.model.signInAt(identity);
  world.note(`${by} signs in at the provider with ${identity.email} (${identity.isVerified}): ${show(expected)}`);
  const app = new TestApp();
  const back = await pass(world, app.begin("one"), identity);
  const { code } = fragmentOf(back);
  if (code === undefined) return world.settle(expected, failed, { by, secrets: [] });
  // The attacker has seen the code in an address, and has no verifier.
  if (world.chance(0.3)) await world.settle({ status: 400 }, await new TestApp().exchange(world.stage.api, code), EVE);
  await world.settle(expected, await app.exchange(world.stage.api, code), { by, secrets: [] });
  if (world.chance(0.3) && expected.status !== 403)
    await world.settle({ status: 400 }, await app.exchange(world.stage.api, code), EVE);
}

const EVE = { by: "eve", secrets: [] } as const;

/** A person goes through the provider; sometimes another browser tries the same answer first. */
async function pass(world: World, beginning: string, { sub, email, isVerified }: Identity): Promise<string> {
  const { api, fake } = world.stage;
  const person = { sub, email, email_verified: isVerified };
  if (!world.chance(0.2)) return passProvider({ api, fake }, beginning, person);
  const browser = new TestBrowser(api);
  const back = fake.approve(await browser.follow(beginning), person);
  const stranger = await new TestBrowser(api).open(back);
  if (stranger.status !== 400) throw new Error(`a state worked in another browser: ${stranger.status}`);
  return browser.follow(back);
}

export async function addLink(world: World, by: Person): Promise<void> {
  const bearer = world.pockets.pick(by, "access")?.text;
  if (bearer === undefined) return;
  const identity = world.identityOf(by);
  const account = world.model.sessionOf(bearer)?.account;
  world.met(by, identity);
  const expected = world.model.addLink(bearer, identity);
  world.note(`${by} links ${identity.email} (${identity.isVerified}) to ${account?.email}: ${expected.status}`);
  const app = new TestApp();
  const deed = { by, secrets: [bearer], account };
  const begun = await world.post("links/one", { redirect: `${publicUrl}/`, challenge: app.challenge }, bearer);
  if (begun.status !== 200) return world.settle(expected, begun, deed);
  const { code } = fragmentOf(await pass(world, String(begun.body["url"]), identity));
  if (code === undefined) return world.settle(expected, failed, deed);
  await world.settle(expected, await app.exchange(world.stage.api, code), deed);
}

export async function refresh(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, "refresh");
  if (secret !== undefined) await refreshWith(world, by, secret.text);
}

export async function refreshWith(world: World, by: Person, text: string): Promise<void> {
  const expected = world.model.refresh(text);
  world.note(`${by} refreshes: ${expected.status}`);
  const answer = await world.post("refresh", { refreshToken: text });
  if (answer.status !== expected.status) throw new Error(`expected ${expected.status}, got ${answer.status}`);
  const session = expected.of;
  if (session === undefined) return;
  const [accessToken, refreshToken] = [String(answer.body["accessToken"]), String(answer.body["refreshToken"])];
  if (String(answer.body["user"]?.["email"]) !== session.account.email) throw new Error("the user is another user");
  const isInForce = session.spent.every((token) => token.text !== refreshToken);
  if (!isInForce) throw new Error("a refresh answered a used token");
  session.refresh = refreshToken;
  session.access.push({ text: accessToken, endsAt: world.model.now + 3_600_000, of: refreshToken });
  if (world.pockets.isStolen(text) && by === "eve") session.account.isCompromised = true;
  world.keepTokens(by, answer.body);
}

/** Asks who a token or a key belongs to. */
export async function askWho(world: World, by: Person, text: string): Promise<void> {
  const account = world.model.sessionOf(text)?.account ?? world.model.ownerOf(text);
  world.note(`${by} asks who a token is of: ${account?.email ?? 401}`);
  const { status, body } = await world.send("GET", "/api/auth/me", { token: text });
  const got = status === 200 ? String(body["user"]?.["email"]) : status;
  if (got !== (account?.email ?? 401)) throw new Error(`a token of ${account?.email} is of ${got}`);
}

export async function useToken(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, world.chance(0.7) ? "access" : "key");
  if (secret !== undefined) await askWho(world, by, secret.text);
}

export async function logout(world: World, by: Person): Promise<void> {
  const bearer = world.pockets.pick(by, "access")?.text;
  if (bearer === undefined) return;
  const session = world.model.sessionOf(bearer);
  world.note(`${by} logs out of ${session?.account.email}`);
  const everywhere = world.chance(0.4);
  const expected = { status: session === null ? 401 : 204 };
  if (session !== null && everywhere) world.model.endSessions(session.account, session);
  if (session !== null && !everywhere) session.isOver = true;
  const answer = everywhere
    ? await world.send("DELETE", "/api/auth/sessions", { token: bearer })
    : await world.send("POST", "/api/auth/logout", { token: bearer });
  await world.settle(expected, answer, { by, secrets: [bearer] });
}

function show({ status, session, attempt }: Expected): string {
  if (session !== undefined) return `session of ${session.email}`;
  return attempt === undefined ? String(status) : `attempt of ${attempt.email}`;
}
