/**
 * Traces: finds the first cause of a request, an event, a run, an import, an undo or a mail, and makes the tree of all that followed from this cause.
 * The parts of the tree are in the tables of their modules: changes and steps of runs in the event log, runs that wait in the tables of runs, mails in the
 * outbox. Each part names the direct cause, and the first cause of the trace.
 */
import type { Trace } from "@socle/protocol";
import { AppError, quote } from "../../base/kernel/index.ts";
import type { LogEntry, LogRing } from "../../base/logging/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import type { Jobs } from "../../code/jobs/index.ts";
import type { Mails } from "../../people/mail/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import { causeIn, type EventLog, firstCausesOf, type LoggedEvent, traceIn } from "../../store/events/index.ts";
import type { Undos } from "../undo/index.ts";
import { type Span, SpanTree } from "./span-tree.ts";
import {
  addEvent,
  addLine,
  addMail,
  addOpenRun,
  causeSpan,
  eventSpan,
  mailSpan,
  requestSpan,
  timeOf,
} from "./spans.ts";

interface TracesOptions {
  readonly events: EventLog;
  readonly functions: Pick<Functions, "eventOf" | "openRuns">;
  readonly jobs: Pick<Jobs, "openRuns" | "traceOf">;
  readonly mails: Mails;
  readonly undos: Undos;
  readonly log: LogRing;
}

/** The spans of an answer. Events, with their transactions and runs, leave some of the places to mails and lines of the log. */
const maxSpans = 1_000;
const maxOfEvents = 900;
/** The events of a long trace that are read: the first, and the last, which tell the ends of runs. */
const bounds = { first: 900, last: 100 };

export class Traces {
  readonly #options: TracesOptions;

  constructor(options: TracesOptions) {
    this.#options = options;
  }

  /**
   * The trace to which something belongs.
   * @param id of a request, an event (also the seq), a run, an import, an undo or a mail; or the trace id of a `traceparent` of the service.
   * @throws AppError `not_found`.
   */
  async find(id: string, waiter: Waiter): Promise<Trace> {
    for (const first of firstCausesOf(id)) {
      try {
        return await this.#find(first, waiter);
      } catch (thrown) {
        if (!(thrown instanceof AppError) || thrown.code !== "not_found") throw thrown;
      }
    }
    return this.#find(id, waiter);
  }

  async #find(id: string, waiter: Waiter): Promise<Trace> {
    const { events, functions, jobs } = this.#options;
    const asked = await this.#eventOf(id, waiter);
    const key = asked?.origin.trace ?? this.#keyOf(id);
    const { events: caused, isWhole } = await events.trace(key, bounds, waiter);
    const first = this.#eventById(key);
    const logged = first === null ? caused : [first, ...caused];
    const tree = new SpanTree(this.#rootOf(key, logged), maxOfEvents);
    for (const event of logged) addEvent(tree, event, (runId) => functions.eventOf(runId)?.id ?? "");
    tree.maxSpans = maxSpans;
    // The log may have lost the event of a run that waits.
    const withRuns = asked === null ? logged : [...logged, asked];
    for (const { run, event } of functions.openRuns(withRuns)) addOpenRun(tree, "function", { run, cause: event.id });
    for (const run of jobs.openRuns(key, maxSpans)) addOpenRun(tree, "job", run);
    for (const mail of this.#options.mails.ofTrace(key, maxSpans)) addMail(tree, mail);
    for (const [i, line] of this.#linesOf(key).entries()) addLine(tree, line, i);
    const trimmed = tree.root.startedAt <= events.trimmedUntil;
    return { id: key, root: tree.toWire(), truncated: !isWhole || tree.isFull, trimmed };
  }

  /** The event with the id, or an event of the request, run, import or undo; null without an event. */
  async #eventOf(id: string, waiter: Waiter): Promise<LoggedEvent | null> {
    const { events, functions } = this.#options;
    if (/^(?:rec|usr|fil)_/.test(id)) throw noTrace(id);
    const found = /^\d{1,15}$/.test(id) ? events.at(Number(id)) : (this.#eventById(id) ?? functions.eventOf(id));
    if (found !== null) return found;
    const [event = null] = await events.about({ key: id, before: Number.MAX_SAFE_INTEGER, limit: 1 }, waiter);
    return event;
  }

  #eventById(id: string): LoggedEvent | null {
    const { events } = this.#options;
    const seq = events.seqOf(id);
    return seq === null ? null : events.at(seq);
  }

  /** The first cause of something without an event. @throws AppError `not_found`. */
  #keyOf(id: string): string {
    const { events, jobs, mails, undos } = this.#options;
    const mail = mails.head(id);
    if (mail !== null && mail.cause !== null) return traceIn(mail.cause);
    const isKnown =
      mail !== null ||
      events.requests.find(id) !== null ||
      undos.statusOf(id) !== null ||
      mails.ofTrace(id, 1).length + jobs.openRuns(id, 1).length + this.#linesOf(id).length > 0;
    const key = jobs.traceOf(id) ?? (isKnown ? id : null);
    if (key !== null) return key;
    throw noTrace(id);
  }

  #rootOf(key: string, events: readonly LoggedEvent[]): Span {
    const { events: log, jobs, mails, undos } = this.#options;
    const request = log.requests.find(key);
    if (request !== null) return requestSpan(request);
    const mail = mails.head(key);
    if (mail !== null) return mailSpan(mail);
    const [event] = events;
    if (event?.id === key) return eventSpan(event);
    const [sent, run, line] = [mails.ofTrace(key, 1)[0], jobs.openRuns(key, 1)[0]?.run, this.#linesOf(key)[0]];
    const times = [event && timeOf(event), sent?.createdAt, run?.at, line && timeOf(line)];
    const ofMail = sent === undefined || sent.cause === null ? null : causeIn(sent.cause);
    const cause = [...events.map((each) => each.cause), ofMail].find((each) => each?.id === key) ?? null;
    const startedAt = Math.min(...times.filter((time) => time !== undefined));
    return causeSpan(cause ?? { kind: kindOf(key), id: key }, { startedAt, line, undo: undos.statusOf(key) });
  }

  /** The lines of the log about a request. */
  #linesOf(key: string): LogEntry[] {
    return this.#options.log.entries().filter(({ fields }) => fields?.["requestId"] === key);
  }
}

/** The kind of a first cause that no event and no mail names. */
function kindOf(key: string): "undo" | "job" | "request" {
  if (key.startsWith("und_")) return "undo";
  return key.startsWith("run_") ? "job" : "request";
}

function noTrace(id: string): AppError {
  return new AppError(
    "not_found",
    `No trace has the part ${quote(id)}, or the event log has lost the part (events.retention). Allowed: the id of a request, an event, a run, an import, an undo or a mail, or the trace id of a traceparent of the service.`,
  );
}
