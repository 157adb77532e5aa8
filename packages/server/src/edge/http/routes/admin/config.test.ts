/** The configuration in force, and live settings, over HTTP. */
import { describe, expect, setSystemTime, spyOn, test } from "bun:test";
import type { EffectiveConfig } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../../../test/kit.ts";

const secret = "a-signing-secret-that-nobody-may-see";
const { request, admin, config, service, parts } = await openApi({
  settings: {
    SERVICE_AUTH_JWT_SECRET: secret,
    SERVICE_LIMITS_BODY: "2MiB",
    SERVICE_AUDIT_MAX_COUNT: "7",
    SERVICE_MAIL_FROM: "app@example.com",
  },
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
    // The next start finds the settings that were not ended.
    parts.admin.settings.load();
    expect([config["mail.keep"], config["events.maxCount"]]).toEqual([usual, 5_000]);
  });

  test("of the schedule is told to the backups when the schedule is in force", async () => {
    const told: unknown[] = [];
    const { backups } = parts.admin;
    const reschedule = spyOn(backups, "reschedule").mockImplementation(() => {
      told.push(config["backup.schedule"]);
    });
    expect(await put("backup.schedule", "0 3 * * *")).toMatchObject({ status: 200 });
    expect(await put("backup.schedule", null)).toMatchObject({ status: 200 });
    reschedule.mockRestore();
    expect(told).toEqual(["0 3 * * *", undefined]);
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

  test("is read at each use: the outbox keeps ended mails as long as the setting of the moment says", async () => {
    await service.database.transact((tx) =>
      tx.run(
        `INSERT INTO _mails (id, messageId, kind, recipient, subject, text, secrets, rank, status, createdAt, since, notBefore, endedAt)
         VALUES ('mai_a', '', 'code', 'a@example.com', '', '', '[]', 0, 'sent', 0, 0, 0, ?)`,
        Date.now() - 1_000,
      ),
    );
    const left = (): number => service.database.reader.all("SELECT id FROM _mails WHERE id = 'mai_a'").length;
    expect(await put("mail.keep", "500ms")).toMatchObject({ status: 200 });
    using stopping = Object.assign(new AbortController(), {
      [Symbol.dispose](this: AbortController) {
        this.abort();
      },
    });
    service.mails.start(stopping.signal);
    for (const end = performance.now() + 30_000; left() > 0 && performance.now() < end; ) await Bun.sleep(10);
    expect(left()).toBe(0);
  });

  test("needs a recent sign-in", async () => {
    const token = await admin();
    const before = config["dropped.keep"];
    setSystemTime(Date.now() + 11 * 60_000);
    const answer = await request("PUT", "/api/admin/config/dropped.keep", { token, body: { value: "1d" } });
    setSystemTime();
    expect(answer).toMatchObject({ status: 403, body: { error: { details: [{ rule: "recent_login" }] } } });
    expect(config["dropped.keep"]).toBe(before);
  });

  test("that another leader has ended is not in force when this instance leads again", async () => {
    const usual = config["dropped.keep"];
    expect(await put("dropped.keep", "1d")).toMatchObject({ status: 200 });
    await service.database.transact((tx) => tx.run("DELETE FROM _settings WHERE key = 'dropped.keep'"));
    parts.admin.settings.load();
    expect(config["dropped.keep"]).toBe(usual);
  });
});
