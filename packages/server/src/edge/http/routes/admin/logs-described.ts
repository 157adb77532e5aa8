/** Descriptions of the admin routes of the overview, the configuration, the log and the event log. */
import { LOG_LEVELS } from "@socle/protocol";
import { arrayOf, type DescribedRoutes, enumOf, json, parameter, ref, textOf } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

const levels = parameter("Levels with commas.", arrayOf(enumOf(LOG_LEVELS)));

export const logsDescribed: DescribedRoutes = {
  tag: "Admin: operation",
  routes: {
    "/api/admin/overview": {
      GET: { summary: "The state of the service", access: "admin", answers: { 200: json(ref("Overview")) } },
    },
    "/api/admin/config": {
      GET: { summary: "The configuration in force", access: "admin", answers: { 200: json(ref("EffectiveConfig")) } },
    },
    "/api/admin/providers": { GET: paging("The providers of sign-ins, and the presets", "ProviderSetup") },
    "/api/admin/logs": {
      GET: paging("The newest entries of the log, oldest first", "LogEntry", { level: levels, search: "A text." }),
    },
    "/api/admin/logs/stream": {
      GET: {
        summary: "New entries of the log, as server-sent events",
        access: "admin",
        query: { level: levels },
        answers: { 200: textOf("text/event-stream", "The entries.") },
      },
    },
    "/api/admin/events": {
      GET: paging("The event log, newest first", "EventEntry", {
        type: "Event types with commas, such as posts.created or admin.*.",
        from: "A time.",
        to: "A time.",
        actor: "The user behind the event.",
        about: "The record, user or file of the event.",
      }),
    },
    "/api/admin/events/stream": {
      GET: {
        summary: "New events, as server-sent events",
        access: "admin",
        answers: { 200: textOf("text/event-stream", "The events.") },
      },
    },
  },
};
