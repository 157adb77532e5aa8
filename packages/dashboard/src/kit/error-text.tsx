/** Errors of scripts, with their places in the code: in a line of a table, as a block with the stack, and the list of the files that do not load. */
import { Text } from "@mantine/core";
import type { ScriptFileEntry } from "@socle/protocol";
import { text } from "../texts/index.ts";
import { TextLink } from "./action.tsx";
import { CodeBlock } from "./code-block.tsx";
import { partsOf, splitPlace } from "./code-places.ts";
import classes from "./error-text.module.css";
import { visible } from "./format.ts";
import { Notice } from "./states.tsx";
import { RelativeTime } from "./time.tsx";

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

/** The most files in the list; the log names further files. */
const most = 5;

export function ScriptProblems({ files }: { files: readonly ScriptFileEntry[] | undefined }) {
  const broken = (files ?? []).filter(({ problem }) => problem !== null);
  if (broken.length === 0) return null;
  return (
    <Notice tone="bad" radius={0} px="md" py={10} flex="none" title={text.scripts.broken(broken.length)}>
      <ul className={`plain ${classes["list"]}`}>
        {broken.slice(0, most).map(({ filePath, loadedAt, problem }) => (
          <li key={filePath}>
            <strong className="mono">{filePath}</strong>
            <span className="breaks">
              <ErrorText value={problem?.message ?? ""} />
            </span>
            <Text span size="xs" c="dimmed">
              {loadedAt === null ? (
                text.scripts.neverLoaded
              ) : (
                <>
                  {text.scripts.oldRuns} <RelativeTime at={loadedAt} />.
                </>
              )}
            </Text>
          </li>
        ))}
      </ul>
      {broken.length > most && (
        <TextLink to="/logs" search={{ levels: "ERROR" }}>
          {text.scripts.moreBroken(broken.length - most)}
        </TextLink>
      )}
    </Notice>
  );
}
