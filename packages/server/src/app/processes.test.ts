/** The part of the configuration of each process of a service. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { loadConfig } from "../base/config/index.ts";
import { leaderPart, readerPart } from "./processes.ts";

test("the bounds are divided among the processes, and a live setting stays live", async () => {
  const file = join(temporaryFolder(), "config.json");
  await Bun.write(file, "{}");
  const { config, live } = await loadConfig({ file, environment: {} });
  const [leader, reader] = [leaderPart(config, 3), readerPart(config, 3)];
  expect(leader["limits.connections"]).toBe(Math.ceil(config["limits.connections"] / 3));
  expect(leader["limits.connectionsPerAddress"]).toBe(config["limits.connectionsPerAddress"]);
  expect(reader["limits.connectionsPerAddress"]).toBe(Math.ceil(config["limits.connectionsPerAddress"] / 3));
  live.set("backup.schedule", "0 3 * * *");
  expect([leader["backup.schedule"], reader["backup.schedule"]]).toEqual(["0 3 * * *", "0 3 * * *"]);
});
