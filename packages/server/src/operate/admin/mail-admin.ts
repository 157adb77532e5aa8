/** Admin API of mails: lists the outbox, shows a mail, and makes a mail wait again. */
import { MAIL_STATUSES, type MailDetail, type MailEntry } from "@socle/protocol";
import { readChoice, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import type { MailHead, Mails } from "../../people/mail/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

export class MailAdmin {
  readonly #options: { changes: AdminChanges; mails: Mails };

  constructor(options: { changes: AdminChanges; mails: Mails }) {
    this.#options = options;
  }

  /** Newest first. @throws AppError `bad_request` for an unknown status. */
  list(status: string | null, page: { limit: number; offset: number }): { items: MailEntry[]; total: number } {
    const wanted = status === null ? null : readChoice("status", status, MAIL_STATUSES);
    const { items, total } = this.#options.mails.list(wanted, page);
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
