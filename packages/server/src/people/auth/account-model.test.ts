/** Random sequences of operations on accounts by three people and an attacker, against a pure model: see `test/accounts/world.ts`. */
import { test } from "bun:test";
import { runSequences } from "../../../test/accounts/sequence.ts";
import { openStages } from "../../../test/accounts/stage.ts";
import { randomSeed } from "../../../test/random.ts";

/** The long form is in `e2e/long`. */
const runs = Number(process.env["RUNS"] ?? 12);

const stages = await openStages();

test("no caller gets a session without a proof of the identity, and an ended credential never works again", async () => {
  await runSequences(stages, randomSeed("accounts"), runs);
}, 600_000);
