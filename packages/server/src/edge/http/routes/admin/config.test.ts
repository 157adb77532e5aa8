/** The configuration in force, and live settings, over HTTP. */
import { describe, expect, test } from "bun:test";
import type { EffectiveConfig } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../../../test/kit.ts";

const secret = "a-signing-secret-that-nobody-may-see";
const { request, admin, config, service } = await openApi({
  settings: { SERVICE_AUTH_JWT_SECRET: secret, SERVICE_LIMITS_BODY: "2MiB", SERVICE_AUDIT_MAX_COUNT: "7" },
});

test("an admin sees each value and its origin, and no secret", async () => {
  const { status, body, bytes, headers } = await request<EffectiveConfig>("GET", "/api/admin/config", {
    token: await admin(),
  });
  expect([status, body.fileExists, body.file.startsWith(config.folder)]).toEqual([200, true, true]);
  const of = (name: string) => body.keys.find(({ key }) => key === name);
  expect(of("limits.body")).toEqual({
    key: "limits.body",
    value: 2_097_152,
    default: 1_048_576,
    source: "environment",
    isSecret: false,
    isSet: true,
    unit: "bytes",
    variable: "SERVICE_LIMITS_BODY",
    description: expect.stringContaining("largest JSON body"),
    isLive: false,
  });
  expect(of("auth.jwtSecret")).toMatchObject({ value: null, default: null, isSecret: true, isSet: true });
  expect(of("metrics.token")).toMatchObject({ value: null, isSecret: true, isSet: false });
  expect(new TextDecoder().decode(bytes)).not.toContain(secret);
  expect(headers.get("content-type")).toBe("application/json");
});

describe("a live setting", () => {
  const put = async (key: string, value: unknown) => {
    const { status, body } = await request("PUT", `/api/admin/config/${key}`, {
      token: await admin(),
      body: { value },
    });
    return { status, body, text: JSON.stringify(body) };
  };

  test("is in force at once, stands in the audit, and ends with null", async () => {
    const usual = config["mail.keep"];
    await put("mail.keep", null);
    const seq = await lastSeq(service);
    const { status, body } = await put("mail.keep", "7d");
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ key: "mail.keep", value: 604_800_000, source: "settings", isLive: true }),
    ]);
    expect(config["mail.keep"]).toBe(604_800_000);
    const [event] = (await eventsSince(service, seq)).filter(({ type }) => type.startsWith("admin."));
    expect(event).toMatchObject({
      type: "admin.setting.changed",
      payload: { target: "mail.keep", before: { value: usual }, after: { value: "7d" } },
    });
    // A number as text, as a form has the number.
    expect(await put("events.maxCount", "5000")).toMatchObject({ status: 200, body: { value: 5_000 } });
    expect(await put("mail.keep", null)).toMatchObject({ status: 200, body: { value: usual, source: "default" } });
    expect(config["mail.keep"]).toBe(usual);
  });

  test("is refused with the reason, and changes nothing", async () => {
    const before = await service.database.reader.all("SELECT * FROM _settings");
    const cases = [
      ["mail.keep", "soon", 400, 'is not valid for \\"mail.keep\\"; allowed: a time like'],
      ["events.maxCount", -1, 400, "allowed: a whole number"],
      ["backup.schedule", "every night", 400, "backup.schedule"],
      ["mail.keep", ["7d"], 400, "is not valid"],
      ["port", 80, 404, "is no setting that changes while the service runs"],
      ["auth.jwtSecret", "x".repeat(32), 404, "is no setting"],
      ["database", "/tmp/other.db", 404, "is no setting"],
      ["__proto__", 1, 404, "is no setting"],
      ["audit.maxCount", 9, 409, "has a value from the environment, which wins"],
    ] as const;
    for (const [key, value, status, reason] of cases)
      expect([key, await put(key, value)]).toEqual([
        key,
        expect.objectContaining({ status, text: expect.stringContaining(reason) }),
      ]);
    expect(config["audit.maxCount"]).toBe(7);
    expect(await service.database.reader.all("SELECT * FROM _settings")).toEqual(before);
  });
});
