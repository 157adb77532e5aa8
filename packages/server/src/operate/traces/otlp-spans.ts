/**
 * The spans of traces as OTLP/JSON (opentelemetry-proto 1.x, trace/v1/trace.proto; the JSON mapping of the OTLP specification: ids as hexadecimal digits,
 * 64-bit numbers as texts, enumerations as numbers). Beside the message of a run that has failed, a span has nothing that people have entered: no value of a
 * record, no address of a mail, no user.
 */
import { type Cause, originOf } from "../../base/kernel/index.ts";
import type { EndedMail } from "../../people/mail/index.ts";
import {
  callerSpanOf,
  causeIn,
  type LoggedEvent,
  type LoggedRequest,
  spanIdOf,
  type TraceOf,
  traceIdOf,
} from "../../store/events/index.ts";
import { stepOf, timeOf } from "./spans.ts";

/** The kinds of spans of the protocol that the service has. */
const kinds = { internal: 1, server: 2, client: 3, consumer: 5 } as const;
/** The status of a failed span. */
const failed = 2;
/** Characters of a name, a value and a message. */
const maxText = 300;
/** The kinds of causes that have a span. */
const spanned: readonly string[] = ["request", "function", "job"];

/** A span with the cause that decides the trace. */
export interface TracedSpan {
  readonly of: TraceOf;
  readonly span: OtlpSpan;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for a span without a parent. */
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: (typeof kinds)[keyof typeof kinds];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: typeof failed; readonly message?: string };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

/** A span before the form of the protocol. Times are milliseconds since 1970. */
interface Given {
  readonly of: TraceOf;
  readonly id: string;
  readonly parent: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof kinds;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The message of a failure, which may be empty; null without a failure. */
  readonly error: string | null;
  readonly attributes?: { readonly [key: string]: string | number };
}

export function requestSpan({ id, method, path, status, at, ms, link }: LoggedRequest): TracedSpan {
  return spanOf({
    of: { id, ...(link !== null && { link }) },
    id,
    parent: callerSpanOf(link),
    // A collector groups spans by name.
    name: `${method} ${path.replace(/\/[a-z]{3}_[0-9a-f-]{20,}/g, "/{id}")}`,
    kind: "server",
    startedAt: at,
    endedAt: at + ms,
    error: status >= 500 ? "" : null,
    attributes: { "http.request.method": method, "url.path": path, "http.response.status_code": status },
  });
}

/** The span of a transaction for the first event of the transaction, and of a run for the end of the run; null for another event. */
export function eventSpan(event: LoggedEvent): TracedSpan | null {
  const { type, cause, origin } = event;
  const at = timeOf(event);
  const parent = parentOf(cause);
  const step = stepOf(event);
  if (step === null) {
    if (event.first !== event.seq) return null;
    const id = String(event.seq);
    const span = { id, parent, name: `transaction ${type}`, startedAt: at, endedAt: at, error: null };
    return spanOf({ of: { ...origin, id }, kind: "internal", ...span });
  }
  const { id, name, filePath, startedAt, isEnd, error } = step;
  if (!isEnd) return null;
  const span = { id, parent, name, startedAt, endedAt: at, error };
  return spanOf({ of: { ...origin, id }, kind: "consumer", ...span, attributes: { "code.file.path": filePath } });
}

/** The span of a mail that was sent or has failed for good. */
export function mailSpan({ id, kind, cause, createdAt, endedAt, hasFailed }: EndedMail): TracedSpan {
  const by = cause === null ? null : causeIn(cause);
  const span = { id, parent: parentOf(by), name: `mail ${kind}`, startedAt: createdAt, endedAt };
  return spanOf({
    of: { ...(by !== null && originOf(by)), id },
    kind: "client",
    ...span,
    error: hasFailed ? "" : null,
  });
}

function parentOf(cause: Cause | null): string | undefined {
  return cause !== null && spanned.includes(cause.kind) ? spanIdOf(cause.id) : undefined;
}

function spanOf({ of, id, parent, name, kind, startedAt, endedAt, error, attributes = {} }: Given): TracedSpan {
  const all = { ...attributes, "socle.id": id, "socle.trace": of.trace ?? of.id };
  const span: OtlpSpan = {
    traceId: traceIdOf(of),
    spanId: spanIdOf(id),
    parentSpanId: parent,
    name: name.slice(0, maxText),
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: Object.entries(all).map(([key, value]) => ({ key, value: anyValue(value) })),
    status: error === null ? {} : { code: failed, ...(error !== "" && { message: error.slice(0, maxText) }) },
  };
  return { of, span };
}

function anyValue(value: string | number): Attribute["value"] {
  return typeof value === "number" ? { intValue: String(value) } : { stringValue: value.slice(0, maxText) };
}

/** Milliseconds with fractions as a text of nanoseconds: more digits than a number has. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.round((ms - whole) * 1_000_000)).padStart(6, "0")}`;
}
