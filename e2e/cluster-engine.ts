/** Engine of a cluster that goes back to an earlier moment, as after a restore of PostgreSQL. */
import { rmSync } from "node:fs";
import type { TestPostgres } from "../packages/server/test/test-postgres.ts";

async function copy(from: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true });
  if ((await Bun.spawn(["cp", "-a", from, to]).exited) !== 0) throw new Error(`${from} cannot be copied`);
}

/** Copies the data of the engine, which stands still meanwhile. */
export async function copyData(engine: TestPostgres): Promise<void> {
  await engine.stop();
  await copy(engine.data, `${engine.data}-copy`);
  await engine.start();
}

/** Puts the copy in the place of the data of the engine: the engine is at the moment of the copy again. */
export async function setBack(engine: TestPostgres): Promise<void> {
  await engine.stop();
  await copy(`${engine.data}-copy`, engine.data);
  await engine.start();
}
