/** `/api/admin/events`: the event log with the audit of admins, and a live stream. */
import * as wire from "@socle/protocol/wire";
import { AppError, oneOf, parseDatetime, quote } from "../../../../base/kernel/index.ts";
import { type Admin, type AuditFormat, auditFormats } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import { disposition } from "../../file-response.ts";
import type { LiveStreams } from "../../live-streams.ts";
import { admins, ownRoute, parameter, type Routes, route, textAnswer } from "../../route.ts";
import { pageRoute, waiterOf } from "./paging.ts";

/** Types that a request may name. */
const maxTypes = 20;

export function eventRoutes(api: { admin: Admin; liveStreams: LiveStreams }): Routes {
  return {
    "/api/admin/events": {
      GET: pageRoute({
        summary: "The event log, newest first",
        item: wire.eventEntry,
        keys: true,
        query: {
          type: parameter("Event types with commas, such as posts.created or admin.*."),
          from: parameter("A time."),
          to: parameter("A time."),
          actor: parameter("The user behind the event."),
          about: parameter("The record, user or file of the event."),
        },
        find(page, exchange, admin) {
          const filter = {
            types: typesOf(exchange),
            from: timeOf(exchange, "from"),
            to: timeOf(exchange, "to"),
            actor: exchange.query("actor") || null,
            about: exchange.query("about") || null,
          };
          return api.admin.events(filter, { ...page, waiter: waiterOf(exchange, admin) });
        },
      }),
    },
    "/api/admin/audit/export": {
      GET: ownRoute({
        summary: "The audit, oldest first, as a file",
        access: "admin",
        query: {
          format: parameter("jsonl by default; syslog are lines of RFC 5424.", wire.enumOf(auditFormats)),
          since: parameter("A time."),
          until: parameter("A time."),
        },
        answers: {
          200: {
            description: "The entries, each in a line.",
            content: { "application/x-ndjson": wire.string.schema, "text/plain": wire.string.schema },
            headers: ["Content-Disposition"],
          },
        },
        async handle(exchange) {
          const admin = await exchange.admin();
          const format = formatOf(exchange);
          const from = timeOf(exchange, "since") ?? 0;
          const to = timeOf(exchange, "until") ?? Number.MAX_SAFE_INTEGER;
          const pages = api.admin.audit({ format, from, to }, waiterOf(exchange, admin));
          const headers = {
            "Content-Type": format === "jsonl" ? "application/x-ndjson" : "text/plain; charset=utf-8",
            "Content-Disposition": disposition(
              "application/octet-stream",
              `audit.${format === "jsonl" ? "jsonl" : "log"}`,
            ),
            "Cache-Control": "private, no-store",
          };
          return exchange.stream(200, bytesOf(pages), { headers });
        },
      }),
    },
    "/api/admin/trace/:id": {
      GET: route({
        summary: "All that followed from a request, a run, an import or an undo, found by any part",
        access: admins,
        answers: { 200: wire.trace },
        handle: (exchange, admin) => api.admin.traces.find(exchange.param("id"), waiterOf(exchange, admin)),
      }),
    },
    "/api/admin/events/stream": {
      GET: route({
        summary: "New events, as server-sent events",
        access: admins,
        keys: true,
        answers: { 200: textAnswer("text/event-stream", "The events.") },
        handle: (exchange, admin) => api.liveStreams.open(exchange, admin, (tell) => api.admin.listen(tell)),
      }),
    },
  };
}

/** @throws AppError `bad_request`. */
function formatOf(exchange: Exchange): AuditFormat {
  const asked = exchange.query("format") ?? "jsonl";
  const format = auditFormats.find((each) => each === asked);
  if (format !== undefined) return format;
  throw new AppError("bad_request", `"format" must be ${oneOf(auditFormats)}, not ${quote(asked)}.`);
}

async function* bytesOf(pages: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  for await (const page of pages) yield encoder.encode(page);
}

/** @throws AppError `bad_request`. */
function typesOf(exchange: Exchange): string[] | null {
  const text = exchange.query("type");
  if (text === null || text === "") return null;
  const types = text.split(",").map((type) => type.trim());
  const isGood = types.length <= maxTypes && types.every((type) => /^[A-Za-z][\w.]*\*?$|^\*$/.test(type));
  if (isGood) return types;
  const wanted = `event types such as "posts.created" or "admin.*", at most ${maxTypes} with commas`;
  throw new AppError("bad_request", `"type" must be ${wanted}, not ${quote(text)}.`);
}

/** @throws AppError `bad_request`. */
function timeOf(exchange: Exchange, name: string): number | null {
  const text = exchange.query(name);
  if (text === null || text === "") return null;
  const time = parseDatetime(text);
  if (time === null)
    throw new AppError("bad_request", `"${name}" must be a time such as "2026-03-01T09:30:00Z", not ${quote(text)}.`);
  return Date.parse(time);
}
