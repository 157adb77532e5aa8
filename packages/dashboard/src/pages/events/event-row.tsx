/** One event in the list. */
import type { EventEntry } from "@socle/protocol";
import { formatClock, formatDateTime } from "../../kit/index.ts";
import { Actor } from "./actor.tsx";
import { subjectOf } from "./event-list.ts";
import classes from "./events.module.css";

export function EventRow({ event }: { event: EventEntry }) {
  const isToday = new Date(event.timestamp).toDateString() === new Date().toDateString();
  return (
    <span className={classes["line"]}>
      <time className={classes["time"]} dateTime={event.timestamp}>
        {isToday ? formatClock(event.timestamp) : formatDateTime(event.timestamp)}
      </time>
      <span className={classes["type"]}>{event.type}</span>
      <span className={classes["subject"]}>{subjectOf(event)}</span>
      <span className={classes["actor"]}>
        <Actor id={event.actor} />
      </span>
    </span>
  );
}
