/** `/api/admin/logs`: the most recent entries (spec, "Log entry"), and a live stream. */
import { LOG_LEVELS, type LogLevel } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import { AppError, containsText, oneOf, quote } from "../../../../base/kernel/index.ts";
import { levelOf, type LogEntry as RingEntry, toWire } from "../../../../base/logging/index.ts";
import type { Admin } from "../../../../operate/admin/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { LiveStreams } from "../../live-streams.ts";
import { admins, parameter, type Routes, route, textAnswer } from "../../route.ts";
import { pageRoute } from "./paging.ts";

/** Characters of a text that is looked for. */
const maxSearch = 200;

const level = parameter("Levels with commas.", wire.arrayOf(wire.enumOf(LOG_LEVELS)));

export function logRoutes(api: { admin: Admin; liveStreams: LiveStreams }): Routes {
  return {
    "/api/admin/logs": {
      GET: pageRoute({
        summary: "The newest entries of the log, oldest first",
        item: wire.logEntry,
        keys: true,
        query: { level, search: parameter("A text.") },
        defaultLimit: 100,
        find({ limit, offset }, exchange) {
          const levels = levelsOf(exchange);
          const wanted = searchOf(exchange);
          const ofLevels = api.admin.log.entries().filter((entry) => levels.includes(entry.level));
          const entries = wanted === null ? ofLevels : ofLevels.filter((entry) => contains(entry, wanted));
          // The newest entries, in the order of time.
          const end = Math.max(0, entries.length - offset);
          const items = entries.slice(Math.max(0, end - limit), end).map(toWire);
          return { items, total: entries.length };
        },
      }),
    },
    "/api/admin/logs/level": {
      GET: route({
        summary: "The lowest level that is logged",
        access: admins,
        keys: true,
        answers: { 200: wire.logLevelState },
        handle: () => api.admin.logLevel.state,
      }),
      PUT: route({
        summary: "Log from another level on, until the next start",
        access: admins,
        keys: true,
        body: wire.logLevelChange,
        answers: { 200: wire.logLevelState },
        handle: (_exchange, admin, asked) => api.admin.logLevel.set(asked, admin),
      }),
    },
    "/api/admin/logs/stream": {
      GET: route({
        summary: "New entries of the log, as server-sent events",
        access: admins,
        keys: true,
        query: { level },
        answers: { 200: textAnswer("text/event-stream", "The entries.") },
        handle(exchange, admin) {
          const levels = levelsOf(exchange);
          return api.liveStreams.open(exchange, admin, (tell) =>
            api.admin.log.listen((entry) => {
              if (levels.includes(entry.level)) tell(toWire(entry));
            }),
          );
        },
      }),
    },
  };
}

/** The searched text; null for no search. @throws AppError `bad_request` for a text that is too long. */
function searchOf(exchange: Exchange): string | null {
  const text = exchange.query("search");
  if (text === null || text === "") return null;
  if (text.length <= maxSearch) return text;
  throw new AppError("bad_request", `"search" must be at most ${maxSearch} characters, not ${text.length}.`);
}

/** Whether a text is part of an entry in the shape of the answer: of the message, source, request or fields. */
function contains(entry: RingEntry, wanted: string): boolean {
  if (containsText(entry.message, wanted) || containsText(entry.source, wanted)) return true;
  if (entry.fields === undefined) return false;
  const { requestId, fields } = toWire(entry);
  return (
    containsText(requestId ?? "", wanted) || (fields !== undefined && containsText(JSON.stringify(fields), wanted))
  );
}

/** The levels that are asked for: exactly these levels; without any, all. @throws AppError `bad_request`. */
function levelsOf(exchange: Exchange): readonly LogLevel[] {
  const text = exchange.query("level");
  if (text === null) return LOG_LEVELS;
  return text.split(",").map((word) => {
    const level = levelOf(word);
    if (level !== null) return level;
    const known = oneOf(LOG_LEVELS);
    throw new AppError("bad_request", `"level" must be ${known}, or several with commas, not ${quote(text)}.`);
  });
}
