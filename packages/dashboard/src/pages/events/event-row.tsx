/** The cells of a row of the list of events. */
import type { EventEntry } from "@socle/protocol";
import { formatClock, formatDateTime, UserName } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { subjectOf } from "./event-list.ts";
import classes from "./events.module.css";
import { aboutUser, changeOf } from "./user-events.ts";

export function EventRow({ event }: { event: EventEntry }) {
  const { timestamp, type, actor } = event;
  const isToday = new Date(timestamp).toDateString() === new Date().toDateString();
  const user = aboutUser(event);
  const change = changeOf(event);
  return (
    <>
      <time className={`numbers quiet ${classes["right"]}`} dateTime={timestamp}>
        {isToday ? formatClock(timestamp) : formatDateTime(timestamp)}
      </time>
      <span className={classes["type"]}>{type}</span>
      <span className={`quiet ${classes["subject"]}`}>
        {user === null ? subjectOf(event) : <UserName id={user} nobody="" />}
        {change !== "" && ` · ${change}`}
      </span>
      <span className={`quiet ${classes["right"]}`}>
        <UserName id={actor} nobody={text.events.nobody} />
      </span>
    </>
  );
}
