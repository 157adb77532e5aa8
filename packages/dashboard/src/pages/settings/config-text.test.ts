import { expect, test } from "bun:test";
import type { ConfigEntry } from "@socle/protocol";
import { asJson, asVariable, groupsOf, readable, written } from "./config-text.ts";

function entry(key: string, value: ConfigEntry["value"], more: Partial<ConfigEntry> = {}): ConfigEntry {
  return {
    key,
    value,
    default: null,
    source: "default",
    isSecret: false,
    isSet: value !== null,
    isLive: false,
    unit: null,
    variable: `SERVICE_${key.toUpperCase().replaceAll(".", "_")}`,
    description: "largest JSON body",
    ...more,
  };
}

test("values in the units of people", () => {
  expect(readable({ value: 1_048_576, unit: "bytes" })).toBe("1 MiB");
  expect(readable({ value: 1_500_000, unit: "bytes" })).toBe("1.4 MiB");
  expect(readable({ value: 0, unit: "bytes" })).toBe("0 B");
  expect(readable({ value: 900_000, unit: "milliseconds" })).toBe("15 min");
  expect(readable({ value: 90_000, unit: "milliseconds" })).toBe("90 s");
  expect(readable({ value: 0, unit: "milliseconds" })).toBe("0 s");
  expect(readable({ value: 8080, unit: null })).toBe("8080");
  expect(readable({ value: 25_000, unit: null })).toBe("25000");
  expect(readable({ value: ["*"], unit: null })).toBe("*");
  expect(readable({ value: false, unit: null })).toBe("off");
  expect(readable({ value: null, unit: null })).toBe("not set");
});

test("values as the configuration is written", () => {
  expect(written({ value: 1_048_576, unit: "bytes" })).toBe("1MiB");
  expect(written({ value: 1_001, unit: "bytes" })).toBe(1_001);
  expect(written({ value: 2_592_000_000, unit: "milliseconds" })).toBe("30d");
  expect(written({ value: 0, unit: "milliseconds" })).toBe(0);
  expect(written({ value: 8080, unit: null })).toBe(8080);
});

test("a list of objects is JSON", () => {
  const limits = entry("limits.requests", [{ routes: "*", max: 5 }]);
  expect(readable(limits)).toBe('{"routes":"*","max":5}');
  expect(asVariable(limits)).toBe(`SERVICE_LIMITS_REQUESTS='[{"routes":"*","max":5}]'`);
  expect(asVariable(entry("limits.requests", []))).toBe("SERVICE_LIMITS_REQUESTS=");
});

test("a line of the environment and a piece of config.json", () => {
  const body = entry("limits.body", 2_097_152, { unit: "bytes" });
  expect(asVariable(body)).toBe("SERVICE_LIMITS_BODY=2MiB");
  expect(JSON.parse(asJson(body))).toEqual({ limits: { body: "2MiB" } });
  expect(asVariable(entry("cors.origins", ["https://a.example", "*"]))).toBe(
    "SERVICE_CORS_ORIGINS='https://a.example,*'",
  );
  expect(asVariable(entry("database", "/it's here/x.db"))).toBe(`SERVICE_DATABASE='/it'\\''s here/x.db'`);
  expect(JSON.parse(asJson(entry("port", 8080)))).toEqual({ port: 8080 });
});

test("a secret is never written", () => {
  const secret = entry("auth.jwtSecret", "hunter2", { isSecret: true, variable: "SERVICE_AUTH_JWT_SECRET" });
  expect(asVariable(secret)).toBe("SERVICE_AUTH_JWT_SECRET=");
  expect(asJson(secret)).not.toContain("hunter2");
});

test("keys are found by name, description and variable, and stand in groups", () => {
  const keys = [
    entry("port", 1, { description: "HTTP port" }),
    entry("limits.body", 1),
    entry("limits.rate.login", "1/s"),
  ];
  expect(groupsOf(keys, "").map(([name, found]) => [name, found.length])).toEqual([
    ["", 1],
    ["limits", 2],
  ]);
  expect(groupsOf(keys, "json LIMITS.body").flatMap(([, found]) => found.map(({ key }) => key))).toEqual([
    "limits.body",
  ]);
  expect(groupsOf(keys, "service_port")).toHaveLength(1);
  expect(groupsOf(keys, "nothing")).toEqual([]);
});
