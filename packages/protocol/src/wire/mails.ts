/** Mails in the outbox, in the form for admins. */
import { MAIL_STATUSES } from "../mail.ts";
import { boolean, count, enumOf, named, object, orNull, string, type TypeOf, time } from "./shape.ts";

const mailMembers = {
  id: string,
  /** The name of a built-in text; `custom` for a mail of the code. */
  kind: string,
  to: string,
  subject: string,
  status: enumOf(MAIL_STATUSES),
  createdAt: time,
  /** Attempts that were made. */
  attempts: count,
  /** The next attempt of a waiting mail is not made before this time; null for another mail. */
  dueAt: orNull(time),
  /** The time at which the mail was sent, has failed for good, or was kept. */
  endedAt: orNull(time),
  /** The last failure: an answer of the SMTP server, for example. */
  error: orNull(string),
};

/** A mail of the outbox (`GET /api/admin/mails`). */
export const mailEntry = named("MailEntry", () => object(mailMembers));
export type MailEntry = TypeOf<typeof mailEntry>;

/** The sending of mails (`GET /api/admin/mails/settings`). */
export const mailSettings = named("MailSettings", () =>
  object({
    /** `mail.from`; null while mail is off. */
    from: orNull(string),
    /** The SMTP server without user and password; null when mails stay in the outbox. */
    server: orNull(string),
    /** `publicUrl`, which mails with a link need; null when not set. */
    publicUrl: orNull(string),
    /** Mails that wait now. */
    waiting: count,
    /** Mails that were sent, and that have failed for good, since the start. */
    sent: count,
    failed: count,
  }),
);
export type MailSettings = TypeOf<typeof mailSettings>;

/** The outcome of a test mail (`POST /api/admin/mails/test`). */
export const mailTest = named("MailTest", () =>
  object({
    /** Whether the SMTP server has taken the mail. */
    isTaken: boolean,
    /** The last line of the SMTP server, or the failure. */
    answer: string,
  }),
);
export type MailTest = TypeOf<typeof mailTest>;

/** A mail with the texts (`GET /api/admin/mails/{id}`). If an SMTP server is configured, the texts are without links and codes. */
export const mailDetail = named("MailDetail", () =>
  object({ ...mailMembers, messageId: string, text: string, html: orNull(string) }),
);
export type MailDetail = TypeOf<typeof mailDetail>;
