/** The cells of a row of the log. */
import { Highlight } from "@mantine/core";
import { formatClock, visible } from "../../kit/index.ts";
import { LevelMark } from "./level-mark.tsx";
import { fieldsLine, type LogLine } from "./log-lines.ts";
import classes from "./logs.module.css";

/** Most characters of a message in a row. */
const longest = 400;

export function LogRow({ line: { entry }, search }: { line: LogLine; search: string }) {
  const { timestamp, level, source, message, requestId, fields } = entry;
  const more = fieldsLine(requestId === undefined ? fields : { requestId, ...fields });
  return (
    <>
      <time className="numbers quiet" dateTime={timestamp}>
        {formatClock(timestamp)}
      </time>
      <span>
        <LevelMark level={level} />
      </span>
      <Highlight component="span" inherit highlight={search} className={`quiet ${classes["source"]}`}>
        {source}
      </Highlight>
      <span className={classes["message"]}>
        <Highlight component="span" inherit highlight={search}>
          {visible(message.slice(0, longest))}
        </Highlight>
        {more !== "" && (
          <Highlight component="span" inherit highlight={search} className={`quiet ${classes["fields"]}`}>
            {more}
          </Highlight>
        )}
      </span>
    </>
  );
}
