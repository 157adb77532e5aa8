/** The configuration in force, over HTTP. */
import { expect, test } from "bun:test";
import type { EffectiveConfig } from "@socle/protocol";
import { openApi } from "../../../../../test/kit.ts";

const secret = "a-signing-secret-that-nobody-may-see";
const { request, admin, config } = await openApi({
  settings: { SERVICE_AUTH_JWT_SECRET: secret, SERVICE_LIMITS_BODY: "2MiB" },
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
  });
  expect(of("auth.jwtSecret")).toMatchObject({ value: null, default: null, isSecret: true, isSet: true });
  expect(of("metrics.token")).toMatchObject({ value: null, isSecret: true, isSet: false });
  expect(new TextDecoder().decode(bytes)).not.toContain(secret);
  expect(headers.get("content-type")).toBe("application/json");
});
