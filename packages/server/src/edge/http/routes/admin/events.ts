/** `/api/admin/events`: the event log with the audit of admins, and a live stream. */

import { AppError, parseDatetime, quote } from "../../../../base/kernel/index.ts";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { LiveStreams } from "../../live-streams.ts";
import { type AdminRoutes, answerPage, waiterOf } from "./for-admins.ts";

/** Types that a request may name. */
const maxTypes = 20;

export function eventRoutes(admin: Admin, streams: LiveStreams): AdminRoutes {
  return {
    "/api/admin/events": {
      GET: (exchange, caller) =>
        answerPage(exchange, (page) => {
          const filter = {
            types: typesOf(exchange),
            from: timeOf(exchange, "from"),
            to: timeOf(exchange, "to"),
            actor: exchange.query("actor") || null,
            about: exchange.query("about") || null,
          };
          return admin.events(filter, { ...page, waiter: waiterOf(exchange, caller) });
        }),
    },
    "/api/admin/events/stream": {
      GET: (exchange, caller) => streams.open(exchange, caller, (tell) => admin.listen(tell)),
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
