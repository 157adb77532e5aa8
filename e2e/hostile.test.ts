/**
 * The hostile suite in the short form: a tenth of each attack, for a second. The service stays the same process, answers a
 * bystander, and keeps within the bounds. `npm run test:hostile` runs the long form, and measures.
 */
// Promises: B2.
import { expect, test } from "bun:test";
import { attacks } from "./hostile/attacks.ts";
import { shareCases, suffer as sufferShare } from "./hostile/shares.ts";
import { allowedMiB, suffer } from "./hostile/suite.ts";
import { errorOfLoop } from "./hostile/user-code.ts";

const size = { seconds: 1, share: 0.1, big: 16, pages: 200, rest: 0, recovery: 0 };

test.each(Object.keys(attacks))("%s", async (name) => {
  const { idle, peak, bystander, output, attackCode, exitCode } = await (await suffer(name, size)).outcome;
  expect(bystander.failures).toEqual([]);
  expect(exitCode).toBe(0);
  expect(attackCode).not.toBe(1);
  expect(peak.memory - idle.memory).toBeLessThan(allowedMiB.memory);
  expect(peak.log).toBeLessThan(allowedMiB.log);
  expect(output.split("\n").filter((line) => line.includes(" ERROR ") && !errorOfLoop.test(line))).toEqual([]);
});

test.each(Object.keys(shareCases))("the share of a caller: %s", async (name) => {
  const { faults } = await sufferShare(name, "attack", { seconds: 1, share: 0.25 });
  expect(faults).toEqual([]);
});
