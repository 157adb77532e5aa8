/** Tests of challenges: each counts for one purpose of one service, and for five minutes. */
import { afterEach, expect, setSystemTime, test } from "bun:test";
import { type ChallengePurpose, Challenges } from "./challenges.ts";

const challenges = new Challenges(() => "a key");
const purpose: ChallengePurpose = { step: "register", subject: "usr_1" };
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
afterEach(() => void setSystemTime());

test("a challenge counts for the step and the subject, with the key", () => {
  const challenge = textOf(challenges.make(purpose));
  expect(challenges.read(challenge, purpose)).toEqual({ hash: expect.any(String), expiresAt: expect.any(Number) });
  for (const step of ["sign in", "second factor"] as const)
    expect(challenges.read(challenge, { ...purpose, step })).toBeNull();
  for (const subject of ["usr_2", "", "usr_1\0"])
    expect(challenges.read(challenge, { ...purpose, subject })).toBeNull();
  expect(new Challenges(() => "another key").read(challenge, purpose)).toBeNull();
  expect(textOf(challenges.make(purpose))).not.toBe(challenge);
});

test("a changed, cut or longer challenge does not count", () => {
  const bytes = challenges.make(purpose);
  for (const i of bytes.keys()) {
    const changed = bytes.slice();
    changed[i] = (changed[i] ?? 0) ^ 1;
    expect(challenges.read(textOf(changed), purpose)).toBeNull();
  }
  for (const text of ["", textOf(bytes.slice(1)), textOf(bytes.slice(0, -1)), `${textOf(bytes)}AA`])
    expect(challenges.read(text, purpose)).toBeNull();
});

test("a challenge lasts five minutes, also when the clock is set back", () => {
  const challenge = textOf(challenges.make(purpose));
  const now = Date.now();
  setSystemTime(now + 299_000);
  expect(challenges.read(challenge, purpose)).not.toBeNull();
  for (const time of [now + 301_000, now - 60_000]) {
    setSystemTime(time);
    expect(challenges.read(challenge, purpose)).toBeNull();
  }
});
