/** The property of rules, over hundreds of random schemas: see `packages/server/test/rules/world.ts`. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { randomSeed } from "../../packages/server/test/random.ts";
import { openCast } from "../../packages/server/test/rules/cast.ts";
import { World } from "../../packages/server/test/rules/world.ts";
import { openServer } from "../../packages/server/test/sockets.ts";

test("over many schemas, every caller gets, receives and changes what the rules allow, and nothing more", async () => {
  const cast = await openCast(openServer);
  const property = fc.asyncProperty(fc.gen(), async (draw) => {
    await new World(cast, (bound) => draw(fc.nat, { max: bound - 1 })).run();
  });
  await fc.assert(property, { seed: randomSeed("rules"), numRuns: 300, endOnFailure: true });
  expect(cast.server.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
}, 1_800_000);
