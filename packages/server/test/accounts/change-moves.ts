/** Moves of the model of accounts that prove addresses and change credentials. */
import type { PasskeyCreation } from "@socle/protocol";
import { codeOf } from "../authenticator.ts";
import type { Answer } from "../kit.ts";
import { publicUrl } from "../sign-in-world.ts";
import { SoftPasskey } from "../soft-authenticator.ts";
import { type Account, clearFactors, type Expected, type Person } from "./account-state.ts";
import type { SecretOf } from "./person-secrets.ts";
import type { World } from "./world.ts";

export function askMail(world: World, by: Person): Promise<void> {
  return askMailOf(world, by, {
    email: world.addressFor(by),
    purpose: world.pick(["verify", "reset", "code"] as const),
  });
}

export async function askMailOf(
  world: World,
  by: Person,
  { email, purpose }: { email: string; purpose: "verify" | "reset" | "code" },
): Promise<void> {
  const path = { verify: "verify/request", reset: "password/forgot", code: "code/request" }[purpose];
  const expected = world.model.requestMail(purpose, email);
  world.note(`${by} asks for a mail ${purpose} to ${email}`);
  await world.settle(expected, await world.post(path, { email }), { by, secrets: [] });
}

export async function moveEmail(world: World, by: Person): Promise<void> {
  const bearer = world.pockets.pick(by, "access")?.text;
  const password = world.pockets.pick(by, "password")?.text ?? "no password";
  if (bearer === undefined) return;
  const account = world.model.sessionOf(bearer)?.account;
  const email = world.addressFor(by);
  const expected = world.model.requestEmail(bearer, email, password);
  world.note(`${by} moves ${account?.email} to ${email}: ${expected.status}`);
  const answer = await world.post("email", { email, password }, bearer);
  await world.settle(expected, answer, { by, secrets: [bearer, password], account });
}

export async function useProof(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, world.pick(["verify", "verify", "reset", "email", "invitation"] as const));
  if (secret !== undefined) await useProofOf(world, by, secret);
}

type ProofSecret = SecretOf<"verify" | "reset" | "email" | "invitation">;

/** Whether a person would use a mail: people move an account only if they have asked for the move. */
export function isUsed(by: Person, { kind, asker }: ProofSecret): boolean {
  return kind !== "email" || by === "eve" || asker === by;
}

export async function useProofOf(world: World, by: Person, secret: ProofSecret): Promise<void> {
  if (!isUsed(by, secret)) return;
  await consume(world, by, { purpose: secret.kind, text: secret.text });
}

type TokenPurpose = ProofSecret["kind"];

/** Sends a token to the route of a purpose, sometimes with a session or a password beside the token. */
export async function consume(
  world: World,
  by: Person,
  { purpose, text }: { purpose: TokenPurpose; text: string },
): Promise<void> {
  const { model } = world;
  const takesCredentials = purpose === "verify" || purpose === "email";
  const bearer = takesCredentials && world.chance(0.3) ? world.pockets.pick(by, "access")?.text : undefined;
  const shown = takesCredentials && world.chance(0.3) ? world.pockets.pick(by, "password")?.text : undefined;
  const password = takesCredentials ? shown : world.newPassword();
  const beside = { bearer, password: shown };
  const account = model.sessionOf(bearer)?.account;
  const path = { verify: "verify", reset: "password/reset", email: "email/confirm", invitation: "invitation" }[purpose];
  const expectations: Record<TokenPurpose, () => Expected> = {
    verify: () => model.verify(text, beside),
    reset: () => model.reset(text, password ?? ""),
    email: () => model.confirmEmail(text, beside),
    invitation: () => model.accept(text, password ?? ""),
  };
  const owner = model.proofs.ownerOf(text);
  const expected = expectations[purpose]();
  world.note(
    `${by} uses a mail ${purpose}, session ${account?.email}, password ${shown !== undefined}: ${expected.status}`,
  );
  if (!takesCredentials && password !== undefined && expected.status < 300)
    world.pockets.keep(by, { kind: "password", email: owner.email, text: password });
  const answer = await world.post(path, { token: text, ...(password !== undefined && { password }) }, bearer);
  await world.settle(expected, answer, { by, secrets: [text, bearer, shown], account: owner.account ?? account });
}

export async function changePassword(world: World, by: Person): Promise<void> {
  const bearer = world.pockets.pick(by, "access")?.text;
  const current = world.pockets.pick(by, "password")?.text ?? "no password";
  if (bearer === undefined) return;
  const account = world.model.sessionOf(bearer)?.account;
  const password = world.newPassword();
  const expected = world.model.changePassword(bearer, current, password);
  world.note(`${by} changes the password of ${account?.email}: ${expected.status}`);
  if (expected.status === 204)
    world.pockets.keep(by, { kind: "password", email: account?.email ?? "", text: password });
  const answer = await world.send("PUT", "/api/auth/password", { token: bearer, body: { current, password } });
  await world.settle(expected, answer, { by, secrets: [bearer, current], account });
}

export async function deleteOwn(world: World, by: Person): Promise<void> {
  const bearer = world.pockets.pick(by, "access")?.text;
  const password = world.pockets.pick(by, "password")?.text ?? "no password";
  if (bearer === undefined) return;
  const expected = world.model.deleteOwn(bearer, password);
  world.note(`${by} deletes an account: ${expected.status}`);
  const answer = await world.send("DELETE", "/api/auth/me", { token: bearer, body: { password } });
  await world.settle(expected, answer, { by, secrets: [bearer, password] });
}

/** A change of the account of a session. */
interface OwnChange {
  readonly title: string;
  readonly status: number;
  readonly work: (account: Account) => number | undefined;
  readonly send: (bearer: string) => Promise<Answer>;
}

/** @returns the answer of a change that was made. */
async function change(world: World, by: Person, { title, status, work, send }: OwnChange) {
  const bearer = world.pockets.pick(by, "access")?.text;
  if (bearer === undefined) return null;
  const account = world.model.sessionOf(bearer)?.account;
  const expected = world.model.change(bearer, status, work);
  world.note(`${by} ${title} (${account?.email}): ${expected.status}`);
  const answer = await send(bearer);
  await world.settle(expected, answer, { by, secrets: [bearer], account });
  return account === undefined || answer.status !== status ? null : { account, bearer, body: answer.body };
}

export async function setUpTotp(world: World, by: Person): Promise<void> {
  const begun = await change(world, by, {
    title: "asks for an app",
    status: 200,
    work: () => undefined,
    send: (bearer) => world.post("totp", {}, bearer),
  });
  if (begun === null) return;
  const text = String(begun.body["secret"]);
  begun.account.pending = text;
  world.pockets.keep(by, { kind: "totp", text });
  if (world.chance(0.15)) return;
  const code = codeOf(text, world.below(3) - 1);
  const expected = world.model.confirmTotp(begun.bearer, code);
  world.note(`${by} confirms the app of ${begun.account.email}: ${expected.status}`);
  const answer = await world.post("totp/confirm", { code }, begun.bearer);
  await world.settle(expected, answer, { by, secrets: [begun.bearer], account: begun.account });
  keepRecoveryCodes(world, by, { account: begun.account, answer });
}

function keepRecoveryCodes(
  world: World,
  by: Person,
  { account, answer }: { account: Account; answer: Pick<Answer, "body"> },
): void {
  const recoveryCodes = Object.values(answer.body["recoveryCodes"] ?? {}).map(String);
  account.recoveryCodes.clear();
  for (const text of recoveryCodes) account.recoveryCodes.add(text);
  for (const text of recoveryCodes.slice(0, 3)) world.pockets.keep(by, { kind: "recovery", text });
}

export async function renewRecoveryCodes(world: World, by: Person): Promise<void> {
  const made = await change(world, by, {
    title: "renews the recovery codes",
    status: 200,
    work: ({ totp }) => (totp === null ? 409 : undefined),
    send: (bearer) => world.post("recovery-codes", {}, bearer),
  });
  if (made !== null) keepRecoveryCodes(world, by, { account: made.account, answer: made });
}

export async function removeTotp(world: World, by: Person): Promise<void> {
  await change(world, by, {
    title: "removes the app",
    status: 204,
    work(account) {
      if (account.totp === null && account.pending === null) return 404;
      account.totp = null;
      account.pending = null;
      account.recoveryCodes.clear();
      return undefined;
    },
    send: (token) => world.send("DELETE", "/api/auth/totp", { token }),
  });
}

export async function addPasskey(world: World, by: Person): Promise<void> {
  const passkey = new SoftPasskey();
  const asked = await change(world, by, {
    title: "asks for a passkey",
    status: 200,
    work: () => undefined,
    send: (bearer) => world.post("passkeys/options", {}, bearer),
  });
  if (asked === null) return;
  const options: PasskeyCreation = JSON.parse(JSON.stringify(asked.body));
  const registration = passkey.register(options, { origin: publicUrl });
  const made = await world.post("passkeys", { passkey: registration }, asked.bearer);
  await world.settle({ status: 201 }, made, { by, secrets: [asked.bearer], account: asked.account });
  asked.account.passkeys.add(passkey.id);
  world.pockets.keep(by, { kind: "passkey", text: String(made.body["id"]), passkey });
}

export async function removePasskey(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, "passkey");
  if (secret === undefined) return;
  await change(world, by, {
    title: "deletes a passkey",
    status: 204,
    work: ({ passkeys }) => (passkeys.delete(secret.passkey.id) ? undefined : 404),
    send: (token) => world.send("DELETE", `/api/auth/passkeys/${secret.text}`, { token }),
  });
}

export async function makeKey(world: World, by: Person): Promise<void> {
  const made = await change(world, by, {
    title: "makes a key",
    status: 201,
    work: () => undefined,
    send: (bearer) => world.post("keys", { name: "a key", scopes: ["*:read"] }, bearer),
  });
  if (made === null) return;
  const text = String(made.body["key"]);
  made.account.keys.add(text);
  world.pockets.keep(by, { kind: "key", text, id: String(made.body["id"]) });
}

export async function deleteKey(world: World, by: Person): Promise<void> {
  const secret = world.pockets.pick(by, "key");
  if (secret === undefined) return;
  await change(world, by, {
    title: "deletes a key",
    status: 204,
    work: ({ keys }) => (keys.delete(secret.text) ? undefined : 404),
    send: (token) => world.send("DELETE", `/api/auth/keys/${secret.id}`, { token }),
  });
}

export async function removeLink(world: World, by: Person): Promise<void> {
  await change(world, by, {
    title: "removes the link",
    status: 204,
    work(account) {
      if (account.links.size === 0) return 404;
      account.links.clear();
      return undefined;
    },
    send: (token) => world.send("DELETE", "/api/auth/links/one", { token }),
  });
}

/** An admin acts on a user, or invites an address. */
export async function adminActs(world: World): Promise<void> {
  const by = "ann";
  const token = await world.admin();
  if (world.chance(0.4)) {
    const email = world.addressFor("eve");
    const expected = world.model.invite(email);
    world.note(`an admin invites ${email}: ${expected.status}`);
    return world.settle(expected, await world.send("POST", "/api/admin/invitations", { token, body: { email } }), {
      by,
      secrets: [],
    });
  }
  if (world.model.accounts.length === 0) return;
  const account = world.pick(world.model.accounts);
  const user = `/api/admin/users/${world.idOf(account)}`;
  const act = world.pick(["removes the factors", "sets the password", "deletes"] as const);
  world.note(`an admin ${act} of ${account.email}`);
  if (act === "removes the factors") {
    clearFactors(account);
    await world.settle({ status: 204 }, await world.send("DELETE", `${user}/factors`, { token }), { by, secrets: [] });
  } else if (act === "sets the password") {
    const password = world.newPassword();
    world.model.givePassword(account, password);
    world.pockets.keep(world.ownerOf(account.email), { kind: "password", email: account.email, text: password });
    const answer = await world.send("POST", `${user}/password`, { token, body: { password } });
    await world.settle({ status: 200 }, answer, { by, secrets: [] });
  } else {
    world.model.delete(account);
    await world.settle({ status: 204 }, await world.send("DELETE", user, { token }), { by, secrets: [] });
  }
}
