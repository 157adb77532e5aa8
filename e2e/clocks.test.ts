/**
 * The clocks suite in the short form: whatever the machine's clock does, records and events keep the order, times of a record
 * do not fall, the log is not emptied, and jobs, throttle and tokens go on. `npm run test:clocks` makes some hundred steps.
 */
// Promises: T1.
import { test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { singleService } from "./kit.ts";
import { hourBack, repeatedSecond, steps, yearAhead } from "./reliability/clocks-cases.ts";

singleService("faults");

const random = randomNumbers(randomSeed("clocks"));

test("a year ahead at a start, and right at the next", () => yearAhead(500).then(() => undefined), 60_000);
test("set back by an hour", () => hourBack().then(() => undefined), 60_000);
test("a second that repeats", () => repeatedSecond(10).then(() => undefined), 60_000);
test("steps to and fro under load", () => steps(random, 21).then(() => undefined), 60_000);
