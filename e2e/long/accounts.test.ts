/** Ten thousand random sequences of operations on accounts against the model: see `packages/server/test/accounts/world.ts`. */
import { test } from "bun:test";
import { runSequences } from "../../packages/server/test/accounts/sequence.ts";
import { openStages } from "../../packages/server/test/accounts/stage.ts";
import { randomSeed } from "../../packages/server/test/random.ts";

const stages = await openStages();

test("over ten thousand sequences, no caller gets a session without a proof, and an ended credential never works again", async () => {
  // Two services, so two sequences of each seed.
  await runSequences(stages, randomSeed("accounts"), 5_000);
}, 7_200_000);
