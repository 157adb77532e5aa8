/** A text of the dashboard with names between backticks. */
import { Fragment } from "react";

export function CodeText({ text }: { text: string }) {
  return text.split("`").map((part, i) =>
    i % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places.
      <span key={i} className="mono">
        {part}
      </span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places.
      <Fragment key={i}>{part}</Fragment>
    ),
  );
}
