/** Links and codes in stored mails. */
import { escapeHtml } from "../../base/kernel/index.ts";

const removed = "[removed]";

/** The links and codes of a mail, by name. @param secrets JSON of the table. */
export function secretsOf(secrets: string): Record<string, string> {
  // The service wrote the text.
  return JSON.parse(secrets) as Record<string, string>;
}

/** A text of a mail without the links and codes of the mail, in plain text and in HTML. */
export function withoutSecrets(secrets: string, text: string): string {
  // A code may be a part of a link.
  const values = Object.values(secretsOf(secrets)).toSorted((a, b) => b.length - a.length);
  return values.reduce((left, value) => left.replaceAll(value, removed).replaceAll(escapeHtml(value), removed), text);
}
