/** The spans of the parts of a trace: of a request, an event, the steps of a run, a run that is not over, a mail and a line of the log. */
import type { SpanStatus, UndoStatus } from "@socle/protocol";
import type { Cause } from "../../base/kernel/index.ts";
import type { LogEntry } from "../../base/logging/index.ts";
import type { OpenRun } from "../../code/runs/index.ts";
import type { MailHead } from "../../people/mail/index.ts";
import { causeIn, type LoggedEvent, type LoggedRequest } from "../../store/events/index.ts";
import type { Span, SpanTree } from "./span-tree.ts";

/** Characters of a message of the log. */
const maxMessage = 300;

export function requestSpan({ id, method, path, status, at, ms, caller, link }: LoggedRequest): Span {
  return {
    kind: "request",
    id,
    name: `${method} ${path}`,
    startedAt: at,
    endedAt: at + Math.round(ms),
    status: status >= 500 ? "failed" : "completed",
    details: { status, ms, by: caller, traceparent: link },
  };
}

export function eventSpan({ id, type, seq, subject, actor, cause, timestamp }: LoggedEvent): Span {
  const at = Date.parse(timestamp);
  const details = { seq, about: subject, by: actor, code: cause?.name ?? null };
  return { kind: "event", id, name: type, startedAt: at, endedAt: at, status: "completed", details };
}

export function mailSpan({ id, kind, recipient, status, createdAt, endedAt, attempts, error }: MailHead): Span {
  const isOver = status === "sent" || status === "kept";
  return {
    kind: "mail",
    id,
    name: `${kind} to ${recipient}`,
    startedAt: createdAt,
    endedAt,
    status: isOver ? "completed" : status,
    details: { status, attempts, error },
  };
}

/** The payload of a step of a run, which the service has written. */
type StepPayload = {
  runId: string;
  filePath: string;
  trigger?: string;
  eventId?: string;
  durationMs?: number;
  error?: string;
};

/** A step of a run. */
export interface RunStep extends Pick<Span, "kind" | "id" | "name"> {
  readonly filePath: string;
  /** The event of the run; empty for a run without an event. */
  readonly eventId: string;
  readonly startedAt: number;
  readonly isEnd: boolean;
  /** Null without a failure. */
  readonly error: string | null;
}

/** The step of a run that an event tells; null for another event. */
export function stepOf(event: LoggedEvent): RunStep | null {
  const { source, type, payload } = event;
  if (source !== "functions" && source !== "jobs") return null;
  const { runId: id, filePath, trigger, eventId = "", durationMs = 0, error = null } = payload as StepPayload;
  const kind = source === "jobs" ? "job" : "function";
  const name = trigger === undefined ? filePath : `${filePath}:${trigger}`;
  const startedAt = timeOf(event) - durationMs;
  return { kind, id, name, filePath, eventId, startedAt, isEnd: !type.endsWith(".started"), error };
}

/** The time of an event, in milliseconds since 1970. */
export function timeOf({ timestamp }: Pick<LoggedEvent, "timestamp">): number {
  return Date.parse(timestamp);
}

/**
 * Adds an event: the step of a run changes the span of the run; another event stands below the transaction, which stands below the cause.
 * @param eventOfRun the id of the event of a run.
 */
export function addEvent(tree: SpanTree, event: LoggedEvent, eventOfRun: (runId: string) => string): void {
  const { cause, first } = event;
  const at = timeOf(event);
  const step = stepOf(event);
  if (step !== null) {
    const { kind, id, name, eventId, startedAt, isEnd, error } = step;
    const begun = { kind, id, name, startedAt, endedAt: null, status: "running", details: {} } as const;
    const span = tree.add(begun, [eventId, cause?.id ?? ""]);
    if (span === null || !isEnd) return;
    const status = error === null ? "completed" : "failed";
    Object.assign(span, { name, endedAt: at, status, details: error === null ? {} : { error } });
    return;
  }
  // Of a long trace, the begin of the run may be missing.
  if (cause !== null && (cause.kind === "function" || cause.kind === "job")) {
    const { kind, id, name = kind } = cause;
    tree.add({ kind, id, name, startedAt: at, endedAt: null, status: "unknown", details: {} }, [eventOfRun(id)]);
  }
  const id = String(first);
  const begun = {
    kind: "transaction",
    id,
    name: "transaction",
    startedAt: at,
    endedAt: at,
    status: "completed",
  } as const;
  const transaction = tree.add({ ...begun, details: {} }, [cause?.id ?? ""]);
  if (transaction !== null) transaction.endedAt = at;
  tree.add(eventSpan(event), [id]);
}

/** Adds a run that is not over, or has failed for good; or tells more of the span of the run. @param cause the id of the cause. */
export function addOpenRun(
  tree: SpanTree,
  kind: "function" | "job",
  { run, cause }: { run: OpenRun; cause: string },
): void {
  const { runId: id, name, at, isUnderWay, failures, notBefore, failedAt, error } = run;
  const status: SpanStatus = failedAt !== null ? "failed" : isUnderWay ? "running" : "waiting";
  const span = tree.add({ kind, id, name, startedAt: at, endedAt: null, status, details: {} }, [cause]);
  if (span === null) return;
  const due = status === "waiting" && notBefore > 0 && { dueAt: new Date(notBefore).toISOString() };
  const details = { ...due, ...(failures > 0 && { failures }), ...(error !== null && { error }) };
  Object.assign(span, { name, endedAt: failedAt, status, details });
}

export function addMail(tree: SpanTree, mail: MailHead): void {
  tree.add(mailSpan(mail), mail.cause === null ? [] : [causeIn(mail.cause).id]);
}

/** Adds a line of the log about the request. */
export function addLine(tree: SpanTree, { timestamp, level, message, source }: LogEntry, i: number): void {
  const at = Date.parse(timestamp);
  const name = message.slice(0, maxMessage);
  const status = level === "ERROR" ? "failed" : "completed";
  tree.add({ kind: "log", id: `log-${i}`, name, startedAt: at, endedAt: at, status, details: { level, source } }, []);
}

/** The first cause of a trace, of which only the consequences are kept. @param known `line`: the first line of the log about a request. */
export function causeSpan(
  { kind, id, name }: Pick<Cause, "kind" | "id" | "name">,
  { startedAt, line, undo }: { startedAt: number; line: LogEntry | undefined; undo: UndoStatus | null },
): Span {
  const { method, path } = line?.fields ?? {};
  const shown = path === undefined ? (name ?? kind) : `${String(method)} ${String(path)}`;
  return { kind, id, name: shown, startedAt, endedAt: null, status: undo ?? "unknown", details: {} };
}
