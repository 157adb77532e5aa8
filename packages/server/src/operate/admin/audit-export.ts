/** Export of the audit: the entries in the order of time, as JSON lines or as lines of syslog (RFC 5424), in pages. */
import { hostname } from "node:os";
import type { AuditRange, LoggedEvent } from "../../store/events/index.ts";

export const auditFormats = ["jsonl", "syslog"] as const;
export type AuditFormat = (typeof auditFormats)[number];

/** Entries of a page: an entry about a collection may have two definitions of a megabyte. */
const pageSize = 50;

/** The facility "log audit" of RFC 5424, with the severities "notice" and "warning". */
const [notice, warning] = [13 * 8 + 5, 13 * 8 + 4];
/** The characters of a MSGID and of a HOSTNAME in RFC 5424. */
const [longestId, longestHost] = [32, 255];

/** Reads the next entries of a range. */
export type AuditReader = (range: AuditRange) => Promise<LoggedEvent[]>;

/** The entries of a time, the oldest first: the lines of a page together. */
export async function* auditPages(
  read: AuditReader,
  { format, ...times }: Pick<AuditRange, "from" | "to"> & { readonly format: AuditFormat },
): AsyncGenerator<string, void, void> {
  const host = printable(hostname());
  const lineOf = format === "jsonl" ? jsonLine : (event: LoggedEvent) => syslogLine(event, host);
  let after = 0;
  for (;;) {
    const events = await read({ ...times, after, limit: pageSize });
    if (events.length > 0) yield events.map((event) => `${lineOf(event)}\n`).join("");
    if (events.length < pageSize) return;
    after = events.at(-1)?.seq ?? after;
  }
}

function jsonLine({ id, seq, timestamp, type, source, actor, payload }: LoggedEvent): string {
  return JSON.stringify({ id, seq, timestamp, type, source, actor, payload });
}

/** The message is the entry as JSON: JSON has no line breaks. The service has no number of IANA for structured data. */
function syslogLine(event: LoggedEvent, host: string): string {
  const priority = event.source === "admin" ? notice : warning;
  return `<${priority}>1 ${event.timestamp} ${host} socle - ${event.type.slice(0, longestId)} - ${jsonLine(event)}`;
}

/** A name as HOSTNAME. */
function printable(name: string): string {
  return name.replaceAll(/[^\x21-\x7e]/g, "").slice(0, longestHost) || "-";
}
