/** Text in a fixed-width font with a copy button: JSON, an error, an example. Long text is cut, and shown whole on demand. */
import { Anchor } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { text } from "../texts/index.ts";
import classes from "./code-block.module.css";
import { CopyAction } from "./copy.tsx";
import { formatNumber, visible } from "./format.ts";

/** The most characters to show at first, and on demand. */
const firstPart = 4_000;
const most = 200_000;

interface CodeBlockProps {
  value: string;
  label: string;
  /** Shows the text in another way, with marked parts. */
  render?: (value: string) => ReactNode;
  /** Whether long lines stay unbroken. */
  isUnbroken?: boolean;
}

export function CodeBlock({ value, label, render, isUnbroken = false }: CodeBlockProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = value.slice(0, isWhole ? most : firstPart);
  return (
    <section className={classes["block"]} aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
      <pre className={classes["text"]} data-is-unbroken={isUnbroken || undefined} tabIndex={0}>
        {render === undefined ? visible(shown) : render(visible(shown))}
        {shown.length < value.length && "…"}
      </pre>
      <span className={classes["copy"]}>
        <CopyAction value={value} label={text.table.copyNamed(label)} />
      </span>
      {!isWhole && shown.length < value.length && (
        <Anchor
          component="button"
          type="button"
          size="xs"
          display="block"
          px={12}
          pt={6}
          pb={8}
          onClick={() => setWhole(true)}
        >
          {text.table.showAll(formatNumber(value.length))}
        </Anchor>
      )}
    </section>
  );
}

/** A value as JSON on several lines. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "undefined";
}
