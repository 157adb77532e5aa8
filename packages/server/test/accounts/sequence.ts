/** A random sequence of moves of the model of accounts, and the look at every secret at the end. */
import { expect } from "bun:test";
import { codeOf } from "../authenticator.ts";
import { type Person, people } from "./account-state.ts";
import {
  addPasskey,
  adminActs,
  askMail,
  askMailOf,
  changePassword,
  consume,
  deleteKey,
  deleteOwn,
  isUsed,
  makeKey,
  moveEmail,
  removeLink,
  removePasskey,
  removeTotp,
  renewRecoveryCodes,
  setUpTotp,
  useProof,
  useProofOf,
} from "./change-moves.ts";
import type { Secret } from "./person-secrets.ts";
import {
  addLink,
  askWho,
  login,
  loginWith,
  logout,
  refresh,
  refreshWith,
  register,
  registerAs,
  secondFactor,
  signInAs,
  signInAtProvider,
  signInWithPasskey,
  useCode,
  useCodeOf,
  usePasskey,
  useToken,
} from "./sign-in-moves.ts";
import { type Stage, World } from "./world.ts";

type Move = (world: World, by: Person) => Promise<void> | void;

/** Each move with its weight. */
const moves: readonly [weight: number, move: Move][] = [
  [3, register],
  [10, login],
  [5, askMail],
  [9, useProof],
  [4, useCode],
  [14, secondFactor],
  [2, signInAtProvider],
  [5, signInWithPasskey],
  [3, refresh],
  [3, useToken],
  [2, logout],
  [3, changePassword],
  [4, moveEmail],
  [2, deleteOwn],
  [2, addLink],
  [1, removeLink],
  [7, setUpTotp],
  [2, removeTotp],
  [1, renewRecoveryCodes],
  [5, addPasskey],
  [2, removePasskey],
  [4, makeKey],
  [2, deleteKey],
  [2, adminActs],
  [4, timePasses],
  [5, theft],
  [5, swap],
];
const deck = moves.flatMap(([weight, move]) => Array.from({ length: weight }, () => move));

const minuteMs = 60_000;

function timePasses(world: World): void {
  const milliseconds = world.pick([31_000, 31_000, 11 * minuteMs, 61 * minuteMs, 25 * 60 * minuteMs]);
  world.note(`${milliseconds / minuteMs} minutes pass`);
  world.tick(milliseconds);
}

/** The attacker copies a secret of a person. */
function theft(world: World): void {
  if (!world.hasThief) return;
  const victim = world.pick(["ann", "ben", "cat"] as const);
  const secret = world.pockets.pickAny(victim);
  if (secret === undefined) return;
  world.note(`eve steals a ${secret.kind} of ${victim}`);
  world.pockets.steal(secret);
}

/** The attacker sends a secret to a route that is for another secret. */
async function swap(world: World): Promise<void> {
  const secret = world.pockets.pickAny("eve");
  if (secret === undefined || secret.kind === "passkey") return;
  const { text } = secret;
  const routes: readonly [Secret["kind"], () => Promise<void>][] = [
    ["verify", () => consume(world, "eve", { purpose: "verify", text })],
    ["reset", () => consume(world, "eve", { purpose: "reset", text })],
    ["email", () => consume(world, "eve", { purpose: "email", text })],
    ["invitation", () => consume(world, "eve", { purpose: "invitation", text })],
    ["code", () => useCodeOf(world, "eve", { text, code: "123456" })],
    ["refresh", () => refreshWith(world, "eve", text)],
    ["access", () => askWho(world, "eve", text)],
  ];
  const others = routes.filter(([kind]) => kind !== secret.kind);
  world.note(`eve sends a ${secret.kind} to another route`);
  await world.pick(others)[1]();
}

/** Every secret once more: an ended secret is refused, a secret in force works. */
async function lookAtAll(world: World, most: number): Promise<void> {
  const all = people.flatMap((by) => world.pockets.all(by).map((secret) => ({ by, secret })));
  for (let i = 0; i < most && all.length > 0; i++) {
    const [picked] = all.splice(world.below(all.length), 1);
    if (picked === undefined) break;
    world.tick();
    await look(world, picked.by, picked.secret);
  }
  for (const { by, identity } of world.identities) if (world.chance(0.5)) await signInAs(world, by, identity);
}

async function look(world: World, by: Person, secret: Secret): Promise<void> {
  switch (secret.kind) {
    case "password":
      return loginWith(world, by, secret);
    case "access":
    case "key":
      return askWho(world, by, secret.text);
    case "refresh":
      return refreshWith(world, by, secret.text);
    case "code":
      return useCodeOf(world, by, secret);
    case "passkey":
      return usePasskey(world, by, secret.passkey);
    case "attempt":
    case "recovery":
    case "totp":
      return lookAtFactor(world, by, secret);
    default:
      if (isUsed(by, secret)) await useProofOf(world, by, secret);
  }
}

/** Shows an attempt, a recovery code or an app, with the newest other half. */
async function lookAtFactor(world: World, by: Person, secret: Secret): Promise<void> {
  const attempt = secret.kind === "attempt" ? secret.text : world.pockets.pick(by, "attempt")?.text;
  if (attempt === undefined) return;
  const recoveryCode = secret.kind === "recovery" ? secret.text : world.pockets.pick(by, "recovery")?.text;
  const factor = secret.kind === "totp" ? { code: codeOf(secret.text) } : { recoveryCode: recoveryCode ?? "none" };
  const expected = world.model.secondFactor(attempt, factor);
  world.note(`${by} shows a ${secret.kind} at the end: ${expected.status}`);
  const answer = await world.post("second-factor", { attempt, ...factor });
  await world.settle(expected, answer, { by, secrets: [attempt, secret.text] });
}

/** The attacker takes the address of a person, makes credentials, and waits until the owner proves the address. */
async function ambush(world: World): Promise<void> {
  const owner = world.pick(["ann", "ben", "cat"] as const);
  const [email] = world.addressesOf(owner);
  if (world.chance(0.5)) await registerAs(world, "eve", email);
  else await signInAs(world, "eve", { sub: `eve-${email}`, email, isVerified: false });
  for (let i = 1 + world.below(4); i > 0; i--) {
    world.tick();
    await world.pick([setUpTotp, addPasskey, makeKey, addLink])(world, "eve");
  }
  world.tick();
  const proof = world.pick(["link", "mail", "code", "provider"] as const);
  if (proof === "provider") return signInAs(world, owner, { sub: `${owner}-${email}`, email, isVerified: true });
  await askMailOf(world, owner, {
    email,
    purpose: proof === "code" ? "code" : world.pick(["verify", "reset"] as const),
  });
  await (proof === "code" ? useCode(world, owner) : useProof(world, owner));
}

/** Makes moves: most begin with accounts, and a person often goes on with the next move. */
async function moveAll(world: World, length: number): Promise<void> {
  if (world.chance(0.3)) await ambush(world);
  for (const person of people) if (world.chance(0.6)) await register(world, person);
  let by = world.pick(people);
  // A move that has no secret to show does not count.
  for (let tries = 0; world.trace.length < length && tries < 20 * length; tries++) {
    world.tick();
    if (world.chance(0.35)) by = world.pick(people);
    await world.pick(deck)(world, by);
  }
}

/** Runs sequences of following seeds on each stage, and looks at the logs. @throws with the moves of a sequence that fails. */
export async function runSequences(stages: readonly Stage[], seed: number, runs: number): Promise<void> {
  for (let run = 0; run < runs; run++) for (const stage of stages) await runSequence(stage, seed + run);
  for (const { api } of stages) expect(api.log.filter((line) => /^(ERROR|FATAL)/.test(line))).toEqual([]);
}

async function runSequence(stage: Stage, seed: number): Promise<void> {
  const world = new World(stage, seed);
  try {
    await moveAll(world, 15 + world.below(20));
    await lookAtAll(world, 10);
  } catch (error) {
    throw new Error(
      [`The sequence SEED=${seed} of ${stage.needsProof ? "requireVerified" : "default"} failed`, ...world.trace].join(
        "\n  ",
      ),
      {
        cause: error,
      },
    );
  }
}
