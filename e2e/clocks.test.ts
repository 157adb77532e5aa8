/**
 * The clocks suite in the short form: a clock that is set back, and a second that repeats. Records and events keep the order, times
 * of a record do not fall, and throttle and tokens go on. `npm run test:clocks` makes some hundred steps, also a year ahead.
 */
// Promises: T1.
import { test } from "bun:test";
import { singleService } from "./kit.ts";
import { hourBack, repeatedSecond } from "./reliability/clocks-cases.ts";

singleService("faults");

test("set back by an hour", () => hourBack().then(() => undefined));
test("a second that repeats", () => repeatedSecond(10).then(() => undefined));
