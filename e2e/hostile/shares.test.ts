/**
 * `npm run test:hostile`: the attacks on the shares of callers in the long form, each beside a control of equal load. The test asserts
 * the counters, and prints the bystander's p99: on a quiet machine at most three times that of the control, 50 ms for a read and 250 ms for a
 * write. `HOSTILE_ONLY` names a part of a name.
 */
import { expect, test } from "bun:test";
import { quantile } from "./measure.ts";
import { shareCases, suffer } from "./shares.ts";

const size = { seconds: 6, share: 1 };
const names = Object.keys(shareCases).filter((name) => name.includes(process.env["HOSTILE_ONLY"] ?? ""));

test.each(names)(
  "%s",
  async (name) => {
    const control = await suffer(name, "control", size);
    const attack = await suffer(name, "attack", size);
    const [before, during] = [control, attack].map(({ outcome }) =>
      [0.5, 0.99].map((part) => quantile(outcome.times, part).toFixed(1)).join(", "),
    );
    const counted = JSON.stringify({ attack: [...attack.outcome.attacked], bystander: [...attack.outcome.statuses] });
    console.log(`| ${name} | p50, p99 ms: control ${before}, attack ${during} | ${counted} |`);
    expect([...control.faults, ...attack.faults]).toEqual([]);
  },
  300_000,
);
