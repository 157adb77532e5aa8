/** Mails in the outbox, in the form for admins. */

/** `kept`: no SMTP server was configured, so the mail stays in the outbox. */
export const MAIL_STATUSES = ["waiting", "sent", "failed", "kept"] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];

/** A mail of the outbox (`GET /api/admin/mails`). */
export interface MailEntry {
  id: string;
  /** The name of a built-in text; `custom` for a mail of the code. */
  kind: string;
  to: string;
  subject: string;
  status: MailStatus;
  createdAt: string;
  /** Attempts that were made. */
  attempts: number;
  /** The next attempt of a waiting mail is not made before this time; null for another mail. */
  dueAt: string | null;
  /** The time at which the mail was sent, has failed for good, or was kept. */
  endedAt: string | null;
  /** The last failure: an answer of the SMTP server, for example. */
  error: string | null;
}

/** The sending of mails (`GET /api/admin/mails/settings`). */
export interface MailSettings {
  /** `mail.from`; null while mail is off. */
  from: string | null;
  /** The SMTP server without user and password; null when mails stay in the outbox. */
  server: string | null;
  /** `publicUrl`, which mails with a link need; null when not set. */
  publicUrl: string | null;
  /** Mails that wait now. */
  waiting: number;
  /** Mails that were sent, and that have failed for good, since the start. */
  sent: number;
  failed: number;
}

/** The outcome of a test mail (`POST /api/admin/mails/test`). */
export interface MailTest {
  /** Whether the SMTP server has taken the mail. */
  isTaken: boolean;
  /** The last line of the SMTP server, or the failure. */
  answer: string;
}

/** A mail with the texts (`GET /api/admin/mails/{id}`). If an SMTP server is configured, the texts are without links and codes. */
export interface MailDetail extends MailEntry {
  messageId: string;
  text: string;
  html: string | null;
}
