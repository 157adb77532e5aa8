/** Mail: the outbox in the database, the texts of mails, sending by SMTP, and addresses. */
export { maxEmail, normaliseEmail } from "./address.ts";
export { type GivenMail, readMail, readMails } from "./given-mail.ts";
export type { EndedMail, MailHead } from "./mail-table.ts";
export { Mails, sendTestMail } from "./mails.ts";
export { mailSchema } from "./schema.ts";
