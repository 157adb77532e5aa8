/**
 * The image of deploy/Dockerfile without Docker: folders, variables, commands and user, in a bare root; and deploy/compose.yaml.
 * The image of a release, which has the same configuration, is tested in e2e/long/image.test.ts.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { containerConfig } from "../scripts/release/image.ts";
import { serveBare } from "./bare-root.ts";
import { containerProject, expectLife, type RunConfig, variablesOf } from "./container-life.ts";
import { root } from "./kit.ts";

const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
/** The part that makes the image. */
const image = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));

/** The text after an instruction, for each line of the image with this instruction. */
function instruction(name: string): string[] {
  return [...image.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest = ""]) => rest);
}

function wordsOf(name: string): string[] {
  const text = instruction(name)[0] ?? "";
  const words: string[] = JSON.parse(text.slice(text.indexOf("[")));
  return words;
}

/** A time of the health check, in nanoseconds. */
function timeOf(name: string): number {
  const [line = ""] = instruction("HEALTHCHECK");
  return Number(new RegExp(`--${name}=(\\d+)s\\b`).exec(line)?.[1]) * 1e9;
}

const asObject = (names: string[]): Record<string, object> => Object.fromEntries(names.map((name) => [name, {}]));

const config: RunConfig = {
  User: instruction("USER").join(),
  WorkingDir: instruction("WORKDIR").join(),
  Env: instruction("ENV"),
  Volumes: asObject(instruction("VOLUME")),
  ExposedPorts: asObject(instruction("EXPOSE").map((port) => `${port}/tcp`)),
  Entrypoint: wordsOf("ENTRYPOINT"),
  Cmd: wordsOf("CMD"),
  Healthcheck: {
    Test: ["CMD", ...wordsOf("HEALTHCHECK")],
    Interval: timeOf("interval"),
    Timeout: timeOf("timeout"),
    StartPeriod: timeOf("start-period"),
  },
};

test("deploy/Dockerfile makes an image with the configuration of a release's image", () => {
  expect(instruction("FROM")).toEqual(["scratch"]);
  const { Labels, ...released } = containerConfig({ version: "1.2.3" });
  expect(config).toEqual(released);
  expect(Labels).toEqual({ "org.opencontainers.image.version": "1.2.3" });
});

test("the service of the image: a user without a name, a root that cannot be written, process 1, an end within 10 s", async () => {
  await expectLife(config);
});

test("a missing volume, and a volume of another user, are reported in a line", async () => {
  const app = await containerProject();
  const failure = await serveBare({ data: "/proc/sys", app, words: config.Cmd }, variablesOf(config)).catch(String);
  expect(failure).toMatch(/"level":"ERROR"[^\n]*\/data/);
  expect(failure).not.toMatch(/\n\s+at .*socle/);
});

test("deploy/compose.yaml runs the image without rights, on a root that cannot be written, with a volume that has a name", () => {
  const text = readFileSync(join(root, "deploy/compose.yaml"), "utf8");
  const { services, volumes } = Bun.YAML.parse(text) as {
    services: Record<string, Record<string, unknown>>;
    volumes: Record<string, unknown>;
  };
  expect(services["socle"]).toMatchObject({
    image: `socle:${packageJson.version}`,
    pull_policy: "never",
    init: true,
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    // Longer than the 10 s that a stop takes at most.
    stop_grace_period: "20s",
    healthcheck: { test: ["CMD", "/socle", "health"], interval: "30s", timeout: "6s", start_period: "30s" },
    volumes: [expect.stringMatching(/^\$\{PROJECT:\?[^}]+\}:\/app:ro$/), "data:/data"],
  });
  expect(services["socle"]).not.toHaveProperty("privileged");
  expect(services["socle"]).not.toHaveProperty("user");
  expect(Object.keys(volumes)).toContain("data");
  // Nobody reaches the service but by the proxy.
  expect(services["socle"]).not.toHaveProperty("ports");
  expect(services["caddy"]).toMatchObject({ depends_on: { socle: { condition: "service_healthy" } } });
});
