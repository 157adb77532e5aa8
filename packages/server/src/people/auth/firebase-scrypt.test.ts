/** Hashes of Firebase: the published test vector of `firebase/scrypt`, and texts that are no hash. */
import { expect, test } from "bun:test";
import { firebaseHash, isFirebasePassword } from "./firebase-scrypt.ts";
import { isForeignHash, kindOf } from "./foreign-hash-table.ts";

const project = {
  base64_signer_key: "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
  base64_salt_separator: "Bw==",
  rounds: 8,
  mem_cost: 14,
};
const user = {
  salt: "42xEC+ixf3L2lw==",
  hash: "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
};

test("the published vector: the password of the user, and no other password", async () => {
  const hash = firebaseHash(project, user);
  expect([isForeignHash(hash), kindOf(hash)]).toEqual([true, "$firebase-scrypt$14$8"]);
  expect(await isFirebasePassword("user1password", hash)).toBe(true);
  for (const other of ["user1Password", "user1password ", "", "user1passwor"])
    expect([other, await isFirebasePassword(other, hash)]).toEqual([other, false]);
  for (const change of [{ base64_salt_separator: "CA==" }, { rounds: 7 }, { mem_cost: 13 }])
    expect(await isFirebasePassword("user1password", firebaseHash({ ...project, ...change }, user))).toBe(false);
});

test.each([
  ["a cost above 14", { mem_cost: 15 }, {}],
  ["a cost of 0", { mem_cost: 0 }, {}],
  ["a block size above 8", { rounds: 9 }, {}],
  ["a cost that is no whole number", { mem_cost: 1.5 }, {}],
  ["a key that is no base64", { base64_signer_key: "?".repeat(88) }, {}],
  ["no key", { base64_signer_key: "" }, { hash: "" }],
  ["a hash of another length than the key", {}, { hash: "lSrfV15cpx95" }],
  ["a dollar in the salt", {}, { salt: "a$b" }],
])("%s is no hash", async (_, parameters, ofUser) => {
  const text = firebaseHash({ ...project, ...parameters }, { ...user, ...ofUser });
  expect([isForeignHash(text), kindOf(text)]).toEqual([false, ""]);
  await expect(isFirebasePassword("user1password", text)).rejects.toThrow("no hash of Firebase");
});
