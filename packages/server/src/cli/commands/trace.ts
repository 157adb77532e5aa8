/** `socle trace`: prints all that followed from a request, a run, an import or an undo, as a waterfall. */
import type { Trace, TraceSpan } from "@socle/protocol";
import { doServiceWork, openService, traceAlone } from "../../app/index.ts";
import { printable } from "../../base/kernel/index.ts";
import { type Command, needDatabase } from "../command.ts";

/** The characters of the time of the whole trace. */
const width = 24;

/** A trace as lines: the start and the length of each span in milliseconds, a bar on the time of the whole trace, and the span below the cause. */
export function waterfallOf({ root, truncated, trimmed }: Trace): string {
  const rows = rowsOf(root, 0);
  const begin = Math.min(...rows.map(({ span }) => Date.parse(span.startedAt)));
  const whole = Math.max(1, ...rows.map(({ span }) => Date.parse(span.endedAt ?? span.startedAt) - begin));
  const lines = rows.map(({ span, depth }) => {
    const start = Date.parse(span.startedAt) - begin;
    const length = span.endedAt === null ? null : Date.parse(span.endedAt) - Date.parse(span.startedAt);
    const from = Math.min(width - 1, Math.floor((start / whole) * width));
    const until = Math.max(from + 1, Math.ceil(((start + (length ?? 0)) / whole) * width));
    const bar = `${"·".repeat(from)}${"█".repeat(until - from)}${"·".repeat(Math.max(0, width - until))}`;
    const times = `${`+${start} ms`.padStart(10)} ${(length === null ? "" : `${length} ms`).padStart(9)}`;
    return `${times}  ${bar}  ${"  ".repeat(depth)}${printable(textOf(span))}\n`;
  });
  if (truncated) lines.push("The trace has more parts than are shown.\n");
  if (trimmed) lines.push("The event log has lost events of the time of this trace (events.retention).\n");
  return lines.join("");
}

function rowsOf(span: TraceSpan, depth: number): { span: TraceSpan; depth: number }[] {
  return [{ span, depth }, ...span.children.flatMap((child) => rowsOf(child, depth + 1))];
}

function textOf({ kind, id, name, status, details }: TraceSpan): string {
  const { error } = details;
  const end = status === "completed" ? "" : `, ${status}${typeof error === "string" ? `: ${error}` : ""}`;
  const shown = kind === "transaction" ? kind : `${kind} ${name}`;
  return kind === "log" || kind === "transaction" ? `${shown}${end}` : `${shown} (${id})${end}`;
}

export const trace: Command = {
  name: "trace",
  args: ["ID"],
  summary: "Show all that followed from a request, an event, a run, an import, an undo or a mail, by its id",
  options: { json: { summary: "print JSON" } },
  async run({ args: [id = ""], options, terminal, load }) {
    const settings = await load();
    needDatabase(settings);
    const found = await doServiceWork<Trace>({
      ...settings,
      open: openService,
      request: { kind: "trace", id },
      alone: (service) => traceAlone({ ...settings, service }, id),
    });
    terminal.out(options["json"] === true ? `${JSON.stringify(found, null, 2)}\n` : waterfallOf(found));
    return 0;
  },
};
