/** Mails that the user's code sends: reads and checks the mail that the code gives. */
import { AppError, isObject, oneOf, quote } from "../../base/kernel/index.ts";
import { normaliseEmail } from "./address.ts";
import { maxSubject, plain } from "./templates.ts";

/** Bytes of text and HTML together, at most. */
const maxBody = 256 * 1024;
const members = ["to", "subject", "text", "html"];

export interface GivenMail {
  readonly recipient: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
}

/** @throws AppError `bad_request`, or `payload_too_large`. */
export function readMail(value: unknown): GivenMail {
  if (!isObject(value))
    throw new AppError("bad_request", `A mail must be an object such as { to, subject, text }, not ${quote(value)}.`);
  const other = Object.keys(value).find((name) => !members.includes(name));
  if (other !== undefined)
    throw new AppError("bad_request", `${quote(other)} is no part of a mail; allowed: ${oneOf(members)}.`);
  const { to, subject, text, html = null } = value;
  const recipient = typeof to === "string" ? normaliseEmail(to) : null;
  if (recipient === null) throw new AppError("bad_request", `"to" must be an email address, not ${quote(to)}.`);
  const title = plain(filled("subject", subject)).trim();
  if (title === "" || title.length > maxSubject)
    throw new AppError(
      "bad_request",
      `"subject" must have 1 to ${maxSubject} characters; this one has ${title.length}.`,
    );
  const mail = {
    recipient,
    subject: title,
    text: filled("text", text),
    html: html === null ? null : filled("html", html),
  };
  const size = Buffer.byteLength(mail.text) + Buffer.byteLength(mail.html ?? "");
  if (size > maxBody)
    throw new AppError(
      "payload_too_large",
      `Text and HTML of a mail have ${size} bytes; at most ${maxBody} are possible.`,
    );
  return mail;
}

function filled(name: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && value.isWellFormed() && !value.includes("\0")) return value;
  const form = "a text that is not empty, without NUL characters and unpaired surrogates";
  throw new AppError("bad_request", `"${name}" of a mail must be ${form}, not ${quote(value)}.`);
}

/** The mails that a transaction of the code sends. @throws AppError as `readMail`. */
export function readMails(value: unknown): GivenMail[] {
  if (Array.isArray(value)) return value.map(readMail);
  throw new AppError("bad_request", `"mails" must be an array, not ${quote(value)}.`);
}
