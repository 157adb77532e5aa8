/** An error in one line of a table: the message gives way first, the place in the code stays. */
import { splitPlace } from "./code-places.ts";
import classes from "./error-text.module.css";

/** Characters of a message in a row. */
const longest = 400;

export function ErrorText({ value, isOneLine = false }: { value: string; isOneLine?: boolean }) {
  const { message, place } = splitPlace(value);
  return (
    <span
      className={classes["error"]}
      data-is-line={isOneLine || undefined}
      title={isOneLine ? value.slice(0, longest) : undefined}
    >
      <span className={classes["message"]}>{message.slice(0, longest)}</span>
      {place !== null && (
        <span className={`mono ${classes["place"]}`}>{isOneLine ? (place.split("/").at(-1) ?? place) : place}</span>
      )}
    </span>
  );
}
