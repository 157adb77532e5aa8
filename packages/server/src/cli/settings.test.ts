/** Settings of a command: secrets of the environment do not outlive the reading. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { loadSettings, type Terminal } from "./command.ts";

test("secrets are removed from the environment after the reading", async () => {
  const environment: Record<string, string | undefined> = {
    SERVICE_AUTH_JWT_SECRET: "j".repeat(32),
    SERVICE_ADMIN_EMAIL: "a@example.com",
    SERVICE_ADMIN_PASSWORD: "a password",
    SERVICE_METRICS_TOKEN: "hush",
    SERVICE_S3_SECRET_ACCESS_KEY: "hush",
    SERVICE_PORT: "1",
    PATH: "/bin",
  };
  const nothing = async (): Promise<string> => "";
  const terminal: Terminal = {
    program: "socle",
    environment,
    forget: (name) => {
      delete environment[name];
    },
    out: () => undefined,
    openLog: () => () => undefined,
    err: () => undefined,
    progress: () => null,
    isAnswered: () => false,
    ask: nothing,
    askSecret: nothing,
    untilSignal: nothing,
    untilDefect: nothing,
    onHangup: () => undefined,
  };
  const file = join(temporaryFolder(), "config.json");
  await Bun.write(file, "{}");
  const { config } = await loadSettings({ config: file }, terminal);
  expect(config["admin.password"]?.reveal()).toBe("a password");
  expect(config["metrics.token"]?.reveal()).toBe("hush");
  expect(Object.keys(environment)).toEqual(["SERVICE_ADMIN_EMAIL", "SERVICE_PORT", "PATH"]);
});
