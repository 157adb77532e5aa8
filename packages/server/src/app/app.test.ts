/** The start of the whole service: what fails in it leaves nothing open. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { loadConfig } from "../config/index.ts";
import { Logger, LogRing, type LogSink } from "../logging/index.ts";
import { App } from "./index.ts";

test("a start that fails after the port is open closes it, and the database", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ port: 0, host: "127.0.0.1" }));
  const { config, effective } = await loadConfig({ file, environment: {} });
  let url = "";
  let isBroken = true;
  const tellsOfPort: LogSink = ({ message }) => {
    url = /Listening on (\S+)/.exec(message)?.[1] ?? url;
    if (isBroken && url !== "") throw new Error("The terminal is gone");
  };
  const logger = new Logger({ level: "DEBUG", sinks: [tellsOfPort] });
  const log = new LogRing();
  const start = App.start({
    config,
    effective,
    logger,
    log,
    environment: {},
    onFatal: () => undefined,
    adminCommand: "socle admin create",
  });
  await expect(start).rejects.toThrow("The terminal is gone");
  expect(url).not.toBe("");
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  // The database's lock is free again.
  isBroken = false;
  const again = await App.start({
    config,
    effective,
    logger,
    log,
    environment: {},
    onFatal: () => undefined,
    adminCommand: "socle admin create",
  });
  expect((await fetch(`${again.url}/health`)).status).toBe(200);
  await again.stop();
});
