/**
 * The hostile suite in the short form: a tenth of an attack on sockets, filters and user code, for half a second. The service stays the same process,
 * answers a bystander, and keeps within the bounds. `npm run test:hostile` runs every attack in the long form, and measures.
 */
// Promises: B2.
import { expect, test } from "bun:test";
import { suffer as sufferShare } from "./hostile/shares.ts";
import { allowedMiB, suffer } from "./hostile/suite.ts";
import { errorOfLoop } from "./hostile/user-code.ts";

const size = { seconds: 0.5, share: 0.1, big: 1, pages: 200, rest: 0, recovery: 0 };

const attacks = ["sockets that do not read", "slow filters", "loops in user code of eight users"];

test.each(attacks)("%s", async (name) => {
  const { idle, peak, bystander, output, attackCode, exitCode } = await (await suffer(name, size)).outcome;
  expect(bystander.failures).toEqual([]);
  expect(exitCode).toBe(0);
  expect(attackCode).not.toBe(1);
  expect(peak.memory - idle.memory).toBeLessThan(allowedMiB.memory);
  expect(peak.log).toBeLessThan(allowedMiB.log);
  expect(output.split("\n").filter((line) => line.includes(" ERROR ") && !errorOfLoop.test(line))).toEqual([]);
});

test("the share of a caller: live queries of one record", async () => {
  const { faults } = await sufferShare("live queries of one record", "attack", { seconds: 1, share: 0.25 });
  expect(faults).toEqual([]);
});
