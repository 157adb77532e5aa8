/**
 * Markdown as elements of React. No text becomes HTML: HTML in the Markdown is shown as written. A link leads to the web or to a
 * mail address. A picture of another host is a link, because a loaded picture would tell that host who reads.
 */
import { Anchor } from "@mantine/core";
import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { createElement, Fragment, type ReactNode, useMemo } from "react";
import { text } from "../../texts/index.ts";
import { formatNumber } from "../format.ts";
import { Dim } from "../words.tsx";
import classes from "./rendered.module.css";

const words = text.markdown;

/** Characters that are rendered. Some texts cost the square of their length: about a second at this length. */
const most = 30_000;
/** Blocks and emphases inside of each other; deeper text is shown as written. */
const deepest = 40;

export interface RenderedProps {
  value: string;
  label: string;
}

export function Rendered({ value, label }: RenderedProps) {
  const content = useMemo(() => rendered(value.slice(0, most)), [value]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls.
    <section className={classes["text"]} aria-label={label} tabIndex={0}>
      {value.trim() === "" ? <Dim>{words.empty}</Dim> : content}
      {value.length > most && <Dim mt={8}>{words.cut(formatNumber(most))}</Dim>}
    </section>
  );
}

function rendered(value: string): ReactNode {
  try {
    return within(lexer(value), { depth: 0, outline: { level: firstLevel - 1 } });
  } catch (thrown) {
    // Blocks inside of each other by the thousand are more than the stack of the reader holds.
    if (!(thrown instanceof RangeError)) throw thrown;
    return (
      <>
        <Dim>{words.tooDeep}</Dim>
        <pre>{value}</pre>
      </>
    );
  }
}

/** The level of a first heading: the headings of the page and of the drawer stand above. */
const firstLevel = 3;

interface Place {
  readonly depth: number;
  /** The level of the last heading: a heading is at most one level deeper, whatever the text says. */
  readonly outline: { level: number };
  /** Whether a link is around: a link holds no other link. */
  readonly isLinked?: boolean;
}

function within(tokens: readonly Token[], place: Place): ReactNode {
  // The reader has no extension, and so makes no other tokens.
  return createElement(Fragment, null, ...(tokens as MarkedToken[]).map((token) => nodeOf(token, place)));
}

function nodeOf(token: MarkedToken, place: Place): ReactNode {
  const { depth, outline } = place;
  if (depth > deepest) return token.raw;
  const inside = (tokens: readonly Token[]): ReactNode => within(tokens, { ...place, depth: depth + 1 });
  switch (token.type) {
    case "heading":
      outline.level = Math.min(token.depth + firstLevel - 1, outline.level + 1, 6);
      return createElement(`h${outline.level}`, { "data-depth": token.depth }, inside(token.tokens));
    case "paragraph":
      return <p>{inside(token.tokens)}</p>;
    case "blockquote":
      return <blockquote>{inside(token.tokens)}</blockquote>;
    case "list":
      return token.ordered ? (
        <ol start={token.start === "" ? 1 : token.start}>{inside(token.items)}</ol>
      ) : (
        <ul>{inside(token.items)}</ul>
      );
    case "list_item":
      return <li data-is-task={token.task || undefined}>{inside(token.tokens)}</li>;
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "code":
      return (
        <pre>
          <code>{token.text}</code>
        </pre>
      );
    case "codespan":
      return <code>{token.text}</code>;
    case "table":
      return tableOf(token, inside);
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "strong":
    case "em":
    case "del":
      return createElement(token.type, null, inside(token.tokens));
    case "link":
      return token.autolink === true
        ? linkOf(token.href, token.text)
        : linkOf(decoded(token.href), within(token.tokens, { depth: depth + 1, outline, isLinked: true }));
    case "image":
      return pictureOf(decoded(token.href), decoded(token.text), place);
    case "text":
      return token.tokens === undefined ? decoded(token.text) : inside(token.tokens);
    case "escape":
      return token.text;
    case "html":
      return token.block ? <p className={classes["html"]}>{token.text}</p> : token.text;
    case "space":
    case "def":
      return null;
  }
}

function tableOf({ header, rows, align }: Tokens.Table, inside: (tokens: readonly Token[]) => ReactNode): ReactNode {
  const rowOf = (tag: "th" | "td", row: readonly Tokens.TableCell[]): ReactNode =>
    createElement(
      "tr",
      null,
      ...row.map(({ tokens }, i) => createElement(tag, { style: { textAlign: align[i] ?? "left" } }, inside(tokens))),
    );
  return (
    <table>
      <thead>{rowOf("th", header)}</thead>
      {createElement("tbody", null, ...rows.map((row) => rowOf("td", row)))}
    </table>
  );
}

/** Writes character references as their characters: `&amp;` is "&". */
function decoded(written: string): string {
  if (!written.includes("&")) return written;
  // The reader of HTML drops spaces at the beginning.
  const { body } = new DOMParser().parseFromString(`.${written.replaceAll("<", "&lt;")}`, "text/html");
  return body.textContent.slice(1);
}

const linked = new Set(["http:", "https:", "mailto:"]);

/** A link; for an address that is relative, of a script or of data, the text with the address as written. */
function linkOf(href: string, content: ReactNode): ReactNode {
  const url = URL.canParse(href) ? new URL(href) : null;
  if (url === null || !linked.has(url.protocol))
    return (
      <>
        {content} <span className="quiet">({href})</span>
      </>
    );
  return (
    <Anchor inherit underline="always" href={url.href} title={url.href} target="_blank" rel="noreferrer">
      {content}
    </Anchor>
  );
}

/** A picture of this service's storage; any other picture is a link, or a word in the link around. */
function pictureOf(href: string, alt: string, { isLinked }: Place): ReactNode {
  const { origin } = location;
  const url = URL.canParse(href, origin) ? new URL(href, origin) : null;
  if (url?.origin === origin && url.pathname.startsWith("/api/storage/"))
    return <img src={url.href} alt={alt} loading="lazy" />;
  return isLinked === true ? words.picture(alt) : linkOf(href, words.picture(alt));
}
