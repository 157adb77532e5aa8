/** Errors of scripts, with their places in the code: in a line of a table, and as a block with the stack. */
import { text } from "../texts/index.ts";
import { CodeBlock } from "./code-block.tsx";
import { partsOf, splitPlace } from "./code-places.ts";
import classes from "./error-text.module.css";
import { visible } from "./format.ts";

/** The most characters of a message in a row. */
const longest = 400;

/**
 * An error in a line: a narrow line cuts the message first and keeps the place.
 * @param props.isPast whether the error is repaired: the text then has no colour.
 */
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

/** The error of a script, with its stack: the places in files stand out. */
export function ErrorBlock({ value }: { value: string }) {
  return (
    <CodeBlock
      value={value}
      label={text.runs.error}
      render={(shown) =>
        partsOf(shown).map(({ at, value: part, isPlace }) =>
          isPlace ? (
            <mark key={at} className={classes["mark"]}>
              {part}
            </mark>
          ) : (
            part
          ),
        )
      }
    />
  );
}
