/** Which build of the dashboard is served, by the configuration. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../test/kit.ts";
import { loadConfig } from "../base/config/index.ts";
import type { Dashboard } from "../edge/http/index.ts";
import { openDashboard, openStaticFiles } from "./http-parts.ts";

describe("the dashboard", () => {
  async function open(settings: object): Promise<{ dashboard: Dashboard | null; log: string[] }> {
    const place = temporaryFolder();
    writeFileSync(join(place, "config.json"), JSON.stringify({ dashboard: settings }));
    mkdirSync(join(place, "build"));
    writeFileSync(join(place, "build", "index.html"), "<!doctype html>");
    mkdirSync(join(place, "empty"));
    mkdirSync(join(place, "linked"));
    symlinkSync("/etc/hostname", join(place, "linked", "index.html"));
    const { config } = await loadConfig({ file: join(place, "config.json"), environment: {} });
    const log: string[] = [];
    return { dashboard: await openDashboard(config, quietLogger(log)), log };
  }

  test.each<[name: string, settings: object, isServed: boolean, warning: RegExp | null]>([
    ["a folder", { path: "build" }, true, null],
    ["switched off", { enabled: false }, false, null],
    ["switched off, with a folder", { enabled: false, path: "build" }, false, null],
    ["a folder without a page", { path: "./empty" }, false, /dashboard\.path .*empty: has no index\.html/],
    ["no folder", { path: "none" }, false, /dashboard\.path .*none: has no index\.html/],
    ["a page that is elsewhere", { path: "linked" }, false, /has no index\.html/],
    ["the source tree's build, which is none", {}, false, /no dashboard/],
  ])("%s", async (_name, settings, isServed, warning) => {
    const { dashboard, log } = await open(settings);
    expect(dashboard !== null).toBe(isServed);
    expect(log).toEqual(warning === null ? [] : [expect.stringMatching(warning)]);
  });

  test.each([".", "build/index.html"])("%s stops the start", async (path) => {
    await expect(open({ path })).rejects.toThrow(/^dashboard\.path /);
  });
});

test("the key of HTTPS cannot be served", async () => {
  const place = temporaryFolder();
  mkdirSync(join(place, "site"));
  writeFileSync(join(place, "site", "key.pem"), "a key");
  const file = join(place, "config.json");
  writeFileSync(file, JSON.stringify({ public: "site", tls: { cert: "cert.pem", key: "site/key.pem" } }));
  const { config } = await loadConfig({ file, environment: {} });
  expect(() => openStaticFiles(config)).toThrow(/^public /);
});
