/** The statuses of mails in the outbox. */

/** `kept`: no SMTP server was configured, so the mail stays in the outbox. */
export const MAIL_STATUSES = ["waiting", "sent", "failed", "kept"] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];
