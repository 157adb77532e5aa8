/** Values to copy: a block of code (long text is cut, and shown whole on demand), a button beside a value, and an id. */
import { Anchor, CopyButton, Tooltip, UnstyledButton } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { IconCheck, IconCopy } from "../icons/index.ts";
import { text } from "../texts/index.ts";
import classes from "./code-block.module.css";
import { formatNumber, visible } from "./format.ts";
import { IconAction } from "./icon-action.tsx";

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

export function CopyAction({ value, label = text.common.copy }: { value: string; label?: string }) {
  return (
    <CopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <IconAction
          tip={copied ? text.common.copied : label}
          icon={copied ? IconCheck : IconCopy}
          iconSize={14}
          label={label}
          onClick={copy}
        />
      )}
    </CopyButton>
  );
}

/** An id in a fixed-width font, shortened to its end: ids of the same minute begin alike. */
export function IdText({ id, length = 8 }: { id: string; length?: number }) {
  // The name contains the visible text as a word of its own: people who control the browser by voice say that text (WCAG 2.2, 2.5.3).
  const name = id.length <= length ? text.common.copyValue(id) : `${text.common.copyValue(id)}, ${id.slice(-length)}`;
  return (
    <CopyButton value={id} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? text.common.copied : text.common.copyValue(id)}>
          <UnstyledButton onClick={copy} className="mono" aria-label={name}>
            {id.length <= length ? id : `…${id.slice(-length)}`}
          </UnstyledButton>
        </Tooltip>
      )}
    </CopyButton>
  );
}
