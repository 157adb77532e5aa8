/** A row of the list of events. */
import type { EventEntry } from "@socle/protocol";
import { formatClock, formatDateTime } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { Actor } from "./actor.tsx";
import classes from "./events.module.css";
import { Subject } from "./subject.tsx";

export function EventRow({ event }: { event: EventEntry }) {
  const isToday = new Date(event.timestamp).toDateString() === new Date().toDateString();
  return (
    <span className={classes["line"]}>
      <time className={classes["time"]} dateTime={event.timestamp}>
        {isToday ? formatClock(event.timestamp) : formatDateTime(event.timestamp)}
      </time>
      <span className={classes["type"]}>{event.type}</span>
      <span className={classes["subject"]}>
        <Subject event={event} />
      </span>
      <span className={classes["actor"]}>
        <Actor id={event.actor} />
      </span>
    </span>
  );
}

/** The names of the columns, above the list. Hidden from screen readers, because each row names its own values. */
export function EventHead() {
  return (
    <div className={`${classes["line"]} ${classes["head"]}`} aria-hidden>
      <span>{text.events.time}</span>
      <span>{text.events.type}</span>
      <span>{text.events.subject}</span>
      <span>{text.events.actor}</span>
    </div>
  );
}
