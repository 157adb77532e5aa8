/** The configuration in force, and live settings, over HTTP. */
import { describe, expect, setSystemTime, spyOn, test } from "bun:test";
import type { EffectiveConfig } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../../../test/kit.ts";
import { system } from "../../../../base/kernel/index.ts";

const secret = "a-signing-secret-that-nobody-may-see";
const notes = { name: "notes", fields: [{ name: "n", type: "integer" }], permissions: { create: "public" } };
const { request, admin, config, entries, service, parts } = await openApi({
  collections: [notes],
  settings: {
    SERVICE_AUTH_JWT_SECRET: secret,
    SERVICE_LIMITS_BODY: "2MiB",
    SERVICE_AUDIT_MAX_COUNT: "7",
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_MAIL_FROM: "app@example.com",
    SERVICE_PUBLIC_URL: "https://app.example.com",
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
    parts.admin.settings.stored.load();
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
      ["limits.rate.login", "1/h", 409, "has a value from the environment, which wins"],
      ["limits.rate.records", "many", 400, 'a rate like \\"10/s\\"'],
      ["backup.keep", "0s", 400, "allowed: a whole number from 0 to 100000, or a time"],
      ["backup.target", "/tmp/elsewhere", 404, "is no setting"],
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

  test("is read at each use: a rate counts from the change on, with full buckets, and ends with `off`", async () => {
    const created = async (): Promise<number> => (await request("POST", "/api/notes", { body: {} })).status;
    const three = async (): Promise<number[]> => [await created(), await created(), await created()];
    expect(await three()).toEqual([201, 201, 201]);
    expect(await put("limits.rate.records", "2/h")).toMatchObject({ status: 200, body: { value: "2/h" } });
    expect(await three()).toEqual([201, 201, 429]);
    expect(await put("limits.rate.records", "3/h")).toMatchObject({ status: 200 });
    expect(await three()).toEqual([201, 201, 201]);
    expect(await created()).toBe(429);
    expect(await put("limits.rate.records", "off")).toMatchObject({ body: { value: "off", source: "settings" } });
    expect(await three()).toEqual([201, 201, 201]);
    await put("limits.rate.records", null);
  });

  test("is read at each use: mails to a recipient count by the rate of the moment", async () => {
    const mails = (): number => service.database.reader.all("SELECT id FROM _mails WHERE recipient = 'b@x.org'").length;
    const ask = async (): Promise<void> => {
      const path = "/api/auth/password/forgot";
      expect((await request("POST", path, { body: { email: "b@x.org" } })).status).toBe(202);
      await service.auth.proofs.close();
    };
    await service.auth.makeAdmin({ email: "b@x.org", password: "correct horse" });
    expect(await put("limits.rate.recipient", "1/h")).toMatchObject({ status: 200 });
    await ask();
    await ask();
    expect(mails()).toBe(1);
    expect(await put("limits.rate.recipient", "off")).toMatchObject({ status: 200 });
    await ask();
    expect(mails()).toBe(2);
    await put("limits.rate.recipient", null);
  });

  test("is read at each use: a query is slow by the bound of the moment", async () => {
    // An equal list would have a kept answer.
    let n = 0;
    const list = async (): Promise<number> => {
      expect((await request("GET", `/api/notes?filter=n%20%3D%20${++n}`, { token: await admin() })).status).toBe(200);
      return entries("A query was slow").length;
    };
    await put("log.slowQuery", "1d");
    const before = await list();
    expect(await put("log.slowQuery", 0)).toMatchObject({ status: 200, body: { value: 0, source: "settings" } });
    expect(await list()).toBe(before + 1);
    await put("log.slowQuery", "1d");
    expect(await list()).toBe(before + 1);
    await put("log.slowQuery", null);
  });

  test("is read at each use: old backups go by the number of the moment", async () => {
    const { backups } = parts.admin;
    const states = async (): Promise<string[]> => (await backups.list()).map(({ state }) => state);
    const make = async (): Promise<number> => {
      backups.begin(system);
      while ((await states()).includes("running")) await Bun.sleep(5);
      return (await states()).length;
    };
    expect([await make(), await make(), await make()]).toEqual([1, 2, 3]);
    expect(await put("backup.keep", 2)).toMatchObject({ status: 200, body: { value: 2, source: "settings" } });
    await make();
    while ((await states()).length > 2) await Bun.sleep(5);
    expect(await put("backup.keep", "36h")).toMatchObject({ status: 200, body: { value: "36h" } });
    expect([await make(), await make()]).toEqual([3, 4]);
    await put("backup.keep", null);
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
    parts.admin.settings.stored.load();
    expect(config["dropped.keep"]).toBe(usual);
  });
});
