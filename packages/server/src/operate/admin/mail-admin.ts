/** Admin API of mails: lists the outbox, shows a mail, makes a mail wait again, and tests the sending of mails. */
import { MAIL_STATUSES, type MailDetail, type MailEntry, type MailSettings, type MailTest } from "@socle/protocol";
import { AppError, quote, readChoice, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import { type MailHead, type Mails, normaliseEmail } from "../../people/mail/index.ts";
import { type AdminChanges, refuseOthers } from "./admin-changes.ts";

export class MailAdmin {
  readonly #options: { changes: AdminChanges; mails: Mails };

  constructor(options: { changes: AdminChanges; mails: Mails }) {
    this.#options = options;
  }

  /**
   * Newest first. `to` is the address of a recipient, `search` a part of the address; null for any.
   * @throws AppError `bad_request` for an unknown status, and for a recipient that is no address.
   */
  list(
    filter: { status: string | null; to: string | null; search: string | null },
    page: { limit: number; offset: number },
  ): { items: MailEntry[]; total: number } {
    const status = filter.status === null ? null : readChoice("status", filter.status, MAIL_STATUSES);
    const to = filter.to === null ? null : readRecipient(filter.to);
    const { items, total } = this.#options.mails.list({ status, to, search: filter.search }, page);
    return { items: items.map(entryOf), total };
  }

  /** A mail with the texts. The audit notes each reader. @throws AppError `not_found`. */
  get(id: string, admin: SignedIn): Promise<MailDetail> {
    return this.#options.changes.transact(admin, (tx, audit) => {
      const mail = this.#options.mails.get(tx, id);
      const { messageId, text, html } = mail;
      audit({ action: "mail.read", target: id, before: { kind: mail.kind, to: mail.recipient } });
      return { ...entryOf(mail), messageId, text, html };
    });
  }

  /** @throws AppError as `Mails.retry`. */
  retry(id: string, admin: SignedIn): Promise<MailEntry> {
    return this.#options.changes.transact(admin, (tx, audit) => {
      const mail = this.#options.mails.retry(tx, id);
      audit({ action: "mail.retried", target: id, after: { kind: mail.kind, to: mail.recipient } });
      return entryOf(mail);
    });
  }

  /** The sending of mails, without secrets. */
  settings(): MailSettings {
    return this.#options.mails.overview();
  }

  /**
   * Hands a test mail to the SMTP server, and waits for the outcome.
   * @param body `to`, an address.
   * @throws AppError as `Mails.checkSending` and `Mails.test`; `bad_request` for a recipient that is no address.
   */
  async test(body: Record<string, unknown>, admin: SignedIn, signal: AbortSignal): Promise<MailTest> {
    refuseOthers(body, ["to"]);
    const to = readRecipient(body["to"]);
    this.#options.mails.checkSending();
    await this.#options.changes.transact(admin, (_tx, audit) => audit({ action: "mail.tested", target: to }));
    return this.#options.mails.test(to, signal);
  }
}

function readRecipient(value: unknown): string {
  const address = typeof value === "string" ? normaliseEmail(value) : null;
  if (address !== null) return address;
  throw new AppError("bad_request", `"to" must be an email address, not ${quote(value)}.`);
}

function entryOf(mail: MailHead): MailEntry {
  const { id, kind, recipient, subject, status, createdAt, attempts, notBefore, endedAt, error } = mail;
  return {
    id,
    kind,
    to: recipient,
    subject,
    status,
    createdAt: toTimestamp(createdAt),
    attempts,
    dueAt: status === "waiting" ? toTimestamp(notBefore) : null,
    endedAt: endedAt === null ? null : toTimestamp(endedAt),
    error,
  };
}
