/** The outbox: a mail is written in the transaction of the cause, within the bound, with the texts of the kind. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const settings = {
  SERVICE_MAIL_FROM: "The Shop <shop@example.com>",
  SERVICE_PUBLIC_URL: "https://shop.example.com/base/",
  SERVICE_LIMITS_MAILS: "10",
};

interface StoredMail {
  messageId: string;
  subject: string;
  text: string;
  html: string;
  status: string;
}

test("a mail has the texts of the kind, and is gone if the transaction of the cause fails", async () => {
  const { service } = await openApi({ settings });
  const { database, mails } = service;
  const link = mails.link("/_/auth/verify?token=a&b='");
  expect([mails.isOn, link]).toEqual([true, "https://shop.example.com/base/_/auth/verify?token=a&b='"]);
  await database.transact((tx) => mails.add(tx, { kind: "verify", to: "ann@example.com", values: { link } }));
  const failing = database.transact((tx) => {
    mails.add(tx, { kind: "notice", to: "ann@example.com", values: { change: "x", origin: "y" } });
    throw new Error("The cause has failed");
  });
  await expect(failing).rejects.toThrow("The cause has failed");
  const [stored, ...others] = database.reader.all<StoredMail>("SELECT * FROM _mails");
  expect(others).toEqual([]);
  expect(stored).toMatchObject({ subject: "Confirm your email address", status: "kept" });
  expect(stored?.messageId).toMatch(/^<mai_[0-9a-f-]{36}@example\.com>$/);
  expect(stored?.text).toContain(`of The Shop. Open this link to confirm the address:\n\n${link}\n`);
  expect(stored?.html).toContain('<a href="https://shop.example.com/base/_/auth/verify?token=a&amp;b=&#39;">');
});

test("without publicUrl a mail has no link, and without mail.from no mail is sent", async () => {
  const { service, log } = await openApi({});
  const { database, mails } = service;
  expect(mails.isOn).toBe(false);
  expect(() => mails.link("/x")).toThrow("cannot send links");
  expect(log.filter((line) => /^(?:WARN|ERROR) A mail/.test(line))).toEqual([
    "WARN A mail with a link cannot be sent: set publicUrl to the address of this service",
  ]);
  const adding = database.transact((tx) => mails.add(tx, { kind: "taken", to: "ann@example.com", values: {} }));
  await expect(adding).rejects.toThrow("mail.from is not set");
});
