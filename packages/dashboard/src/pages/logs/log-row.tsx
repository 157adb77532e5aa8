/** A row of the log. */
import { Highlight } from "@mantine/core";
import { formatClock, visible } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { LevelMark } from "./level-mark.tsx";
import { fieldsLine, type LogLine } from "./log-lines.ts";
import classes from "./logs.module.css";

/** Most characters of a message in a row. */
const longest = 400;

export function LogRow({ line: { entry }, search }: { line: LogLine; search: string }) {
  const { timestamp, level, source, message, requestId, fields } = entry;
  const more = fieldsLine(requestId === undefined ? fields : { requestId, ...fields });
  return (
    <span className={classes["line"]} data-level={level}>
      <time className={classes["time"]} dateTime={timestamp}>
        {formatClock(timestamp)}
      </time>
      <span className={classes["level"]}>
        <LevelMark level={level} />
      </span>
      <Highlight component="span" inherit highlight={search} className={classes["source"] ?? ""}>
        {source}
      </Highlight>
      <span className={classes["message"]}>
        <Highlight component="span" inherit highlight={search}>
          {visible(message.slice(0, longest))}
        </Highlight>
        {more !== "" && (
          <Highlight component="span" inherit highlight={search} className={classes["fields"] ?? ""}>
            {more}
          </Highlight>
        )}
      </span>
    </span>
  );
}

/** The names of the columns, above the list. Hidden from screen readers, because each row names its own values. */
export function LogHead() {
  return (
    <div className={`${classes["line"]} ${classes["head"]}`} aria-hidden>
      <span>{text.logs.time}</span>
      <span>{text.logs.level}</span>
      <span>{text.logs.source}</span>
      <span>{text.logs.message}</span>
    </div>
  );
}
