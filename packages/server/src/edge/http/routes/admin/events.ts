/** `/api/admin/events`: the event log with the audit of admins, and a live stream. */
import * as wire from "@socle/protocol/wire";
import { AppError, parseDatetime, quote } from "../../../../base/kernel/index.ts";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { LiveStreams } from "../../live-streams.ts";
import { admins, parameter, type Routes, route, textAnswer } from "../../route.ts";
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
