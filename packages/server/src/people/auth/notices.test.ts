/** Tests of notices: the text with address and browser, the address of the recipient, and a full outbox. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openApi, temporaryFolder } from "../../../test/kit.ts";
import { until } from "../../../test/sockets.ts";
import { Notices } from "./notices.ts";
import type { PasswordCaller } from "./passwords.ts";

const user = { id: "usr_1", email: "ann@example.com" };
const change = "The password was changed.";
const phone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1";
const edge =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0";

async function open(settings: Record<string, string> = {}, folder = temporaryFolder()) {
  const api = await openApi({ folder, settings: { SERVICE_MAIL_FROM: "shop@example.com", ...settings } });
  const { database, mails } = api.service;
  const notices = new Notices({ config: api.config, mails, logger: api.parts.logger });
  const mailed = (): { recipient: string; text: string }[] =>
    database.reader.all("SELECT recipient, text FROM _mails ORDER BY seq");
  return { ...api, database, notices, mailed };
}

describe("a notice", () => {
  const origins: [by: PasswordCaller | "an administrator", origin: string][] = [
    [{ key: "192.0.2.1", headers: new Headers({ "User-Agent": phone }) }, "192.0.2.1, Safari on iOS"],
    [{ key: "2001:db8::/64", headers: new Headers({ "User-Agent": edge }) }, "2001:db8::/64, Edge on Windows"],
    [{ key: "192.0.2.1", headers: new Headers({ "User-Agent": "curl/8.0" }) }, "192.0.2.1, an unknown program"],
    [{ key: "192.0.2.1" }, "192.0.2.1, an unknown program"],
    ["an administrator", "an administrator"],
    // A caller cannot write into the mail.
    [
      { key: "call +1 555", headers: new Headers({ "User-Agent": "visit https://evil.example" }) },
      "an unknown address, an unknown program",
    ],
  ];
  test.each(origins)("about %j comes from %s", async (by, origin) => {
    const { database, notices, mailed } = await open();
    await database.transact((tx) => notices.tell(tx, user, { change, by }));
    const [mail, ...others] = mailed();
    expect(others).toEqual([]);
    expect(mail?.recipient).toBe("ann@example.com");
    expect(mail?.text).toContain(`\n${change}\n\nThe change came from: ${origin}\n`);
  });

  test("is not sent without mail.from", async () => {
    const { database, notices, mailed } = await open({ SERVICE_MAIL_FROM: "" });
    await database.transact((tx) => notices.tell(tx, user, { change, by: "the service" }));
    expect(mailed()).toEqual([]);
  });

  test("is left out with a warning when the outbox is full, and the change is made", async () => {
    const { database, notices, mailed, entries } = await open({
      SERVICE_LIMITS_MAILS: "10",
      SERVICE_MAIL_SMTP: "smtp://127.0.0.1:1",
      SERVICE_LIMITS_RATE_RECIPIENT: "off",
    });
    await database.transact((tx) => {
      for (let i = 0; i < 12; i++) notices.tell(tx, user, { change, by: "the service" });
    });
    expect(mailed()).toHaveLength(10);
    await until(() => entries("A notice was left out: the outbox is full").length > 0);
    const left = entries("A notice was left out: the outbox is full");
    // One line a minute, with the number of the others: a user who makes and removes keys does not fill the log.
    expect(left.map(({ level, fields }) => ({ level, fields }))).toEqual([
      { level: "WARN", fields: { userId: user.id, change } },
    ]);
  });

  test("is left out with a warning when many notices go to the address, and other users still get notices", async () => {
    const { database, notices, mailed, entries } = await open({ SERVICE_LIMITS_RATE_RECIPIENT: "3/h" });
    const other = { id: "usr_2", email: "bob@example.com" };
    await database.transact((tx) => {
      for (let i = 0; i < 5; i++) notices.tell(tx, user, { change, by: "the service" });
      notices.tell(tx, other, { change, by: "the service" });
    });
    expect(mailed().map(({ recipient }) => recipient)).toEqual([...Array(3).fill(user.email), other.email]);
    // The line comes when the change is durable.
    await until(() => entries("A notice was left out: too many notices go to the address").length > 0);
    expect(entries("A notice was left out: too many notices go to the address")).toHaveLength(1);
  });

  test("has the text of the caller's language", async () => {
    const folder = temporaryFolder();
    await Bun.write(join(folder, "mails/notice.de.txt"), "Subject: Neues\n\nÄnderung: {{change}} ({{origin}})\n");
    const { database, notices, mailed } = await open({}, folder);
    const by = { key: "192.0.2.1", headers: new Headers({ "Accept-Language": "de-CH,de;q=0.9" }) };
    await database.transact((tx) => notices.tell(tx, user, { change, by }));
    expect(mailed()[0]?.text).toBe(`Änderung: ${change} (192.0.2.1, an unknown program)\n`);
  });
});
