/** `socle audit export`: prints the audit from the database, also while a service writes the database. */
import { readAudit } from "../../app/index.ts";
import { oneOf, parseDatetime, quote } from "../../base/kernel/index.ts";
import { auditFormats } from "../../operate/admin/index.ts";
import { type Command, needDatabase, type OptionValues, textOption, UsageError } from "../command.ts";

export const auditExport: Command = {
  name: "audit export",
  args: [],
  summary: "Print the changes of admins and the failed sign-ins, oldest first; also while the service runs",
  options: {
    format: { value: "jsonl|syslog", summary: "lines of JSON (default), or of syslog (RFC 5424)" },
    since: { value: "TIME", summary: "entries from this time on, such as 2026-03-01T09:30:00Z" },
    until: { value: "TIME", summary: "entries up to this time" },
  },
  async run({ options, terminal, load }) {
    const asked = textOption(options, "format") ?? "jsonl";
    const format = auditFormats.find((each) => each === asked);
    if (format === undefined) throw new UsageError(`--format must be ${oneOf(auditFormats)}, not ${quote(asked)}`);
    const [from, to] = [timeOf(options, "since") ?? 0, timeOf(options, "until") ?? Number.MAX_SAFE_INTEGER];
    const settings = await load();
    needDatabase(settings);
    for await (const page of readAudit(settings.config.database, { format, from, to })) terminal.out(page);
    return 0;
  },
};

/** Milliseconds since 1970; null without the option. @throws UsageError. */
function timeOf(options: OptionValues, name: string): number | null {
  const text = textOption(options, name);
  if (text === undefined) return null;
  const time = parseDatetime(text);
  if (time === null) throw new UsageError(`--${name} must be a time such as 2026-03-01T09:30:00Z, not ${quote(text)}`);
  return Date.parse(time);
}
