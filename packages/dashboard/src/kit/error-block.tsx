/** The error of a script, with its stack: the places in files stand out. */
import { text } from "../texts/index.ts";
import { CodeBlock } from "./code-block.tsx";
import { partsOf } from "./code-places.ts";
import classes from "./error-block.module.css";

export function ErrorBlock({ value }: { value: string }) {
  return (
    <CodeBlock
      value={value}
      label={text.runs.error}
      render={(shown) =>
        partsOf(shown).map(({ at, value: part, isPlace }) =>
          isPlace ? (
            <mark key={at} className={classes["place"]}>
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
