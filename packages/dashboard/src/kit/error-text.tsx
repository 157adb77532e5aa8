/** An error in a line of a table: a narrow line cuts the message first and keeps the place in the code. */
import { splitPlace } from "./code-places.ts";
import classes from "./error-text.module.css";
import { visible } from "./format.ts";

/** The most characters of a message in a row. */
const longest = 400;

/** @param props.isPast whether the error is repaired: the text then has no colour. */
export function ErrorText(props: { value: string; isOneLine?: boolean; isPast?: boolean }) {
  const { value, isOneLine = false, isPast = false } = props;
  const { message, place } = splitPlace(value);
  return (
    <span
      className={classes["error"]}
      data-is-line={isOneLine || undefined}
      data-is-past={isPast || undefined}
      title={isOneLine ? value.slice(0, longest) : undefined}
    >
      <span className={classes["message"]}>{visible(message.slice(0, longest))}</span>
      {place !== null && (
        <span className={`mono ${classes["place"]}`}>{isOneLine ? (place.split("/").at(-1) ?? place) : place}</span>
      )}
    </span>
  );
}
