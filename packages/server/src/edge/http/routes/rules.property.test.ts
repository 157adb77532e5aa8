/** Rules and rules of fields against a model that knows only the text: see `test/rules/world.ts`. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { randomSeed } from "../../../../test/random.ts";
import { openCast } from "../../../../test/rules/cast.ts";
import { World } from "../../../../test/rules/world.ts";
import { openServer } from "../../../../test/sockets.ts";

/** The long form is in `e2e/long`. */
const runs = Number(process.env["RUNS"] ?? 1);

test("every caller gets, receives and changes what the rules allow, and nothing more", async () => {
  const cast = await openCast(openServer);
  const property = fc.asyncProperty(fc.gen(), async (draw) => {
    await new World(cast, (bound) => draw(fc.nat, { max: bound - 1 })).run();
  });
  await fc.assert(property, { seed: randomSeed("rules"), numRuns: runs, endOnFailure: true });
  expect(cast.server.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
}, 600_000);
