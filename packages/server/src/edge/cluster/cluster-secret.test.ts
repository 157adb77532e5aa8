/** The bound on guesses of the secret of a cluster. */
import { expect, test } from "bun:test";
import { ClusterSecret } from "./cluster-secret.ts";

const right = "a secret of the instances";
const [stranger, instance] = ["203.0.113.7", "10.0.0.5"];

/** Whether each of `count` equal texts of an address counts as the secret. */
function answers(
  secret: ClusterSecret,
  given: string,
  from: { address: string; now?: number; count: number },
): Set<boolean> {
  const { address, now = 0, count } = from;
  return new Set(Array.from({ length: count }, () => secret.isRight(given, address, now)));
}

test("after ten wrong texts an address has to wait, also with the right text; other addresses go on", () => {
  const secret = new ClusterSecret(right);
  expect(answers(secret, "a guess", { address: stranger, count: 9 })).toEqual(new Set([false]));
  expect(secret.isRight(right, stranger, 0)).toBe(true);
  expect(secret.isRight("the tenth guess", stranger, 0)).toBe(false);
  expect(answers(secret, right, { address: stranger, count: 100 })).toEqual(new Set([false]));
  expect(answers(secret, right, { address: instance, count: 100 })).toEqual(new Set([true]));
  // A sixth of a second less than the time of one guess, and the whole time.
  expect(secret.isRight(right, stranger, 5_800)).toBe(false);
  expect(secret.isRight(right, stranger, 6_000)).toBe(true);
});

test("the right text never makes an address wait, also between wrong texts of others", () => {
  const secret = new ClusterSecret(right);
  for (let n = 0; n < 1_000; n++) {
    expect(secret.isRight(right, instance, n)).toBe(true);
    expect(secret.isRight("a guess", stranger, n)).toBe(false);
  }
});

test.each(["127.0.0.1", "127.8.0.1", "0:0:0:0::/64"])(
  "%s is this machine, whose wrong texts are not counted",
  (address) => {
    const secret = new ClusterSecret(right);
    expect(answers(secret, "a guess", { address, count: 1_000 })).toEqual(new Set([false]));
    expect(secret.isRight(right, address, 0)).toBe(true);
  },
);

test("the header has the secret", () => {
  expect(new ClusterSecret(right).header).toEqual({ "Socle-Instance-Secret": right });
});
