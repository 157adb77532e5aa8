/** Changes of fields, below each other: the name, the old value, the new value. Long values are folded. */
import { Anchor } from "@mantine/core";
import { useState } from "react";
import { IconArrowRight, IconMinus, IconPencil, IconPlus } from "../icons/index.ts";
import { text } from "../texts/index.ts";
import type { FieldChange } from "./diff.ts";
import classes from "./diff-view.module.css";
import { formatNumber, visible } from "./format.ts";
import { Dim } from "./words.tsx";

/** The most characters of a folded value, and of an unfolded value. */
const folded = 200;
const most = 100_000;
const shownAtFirst = 12;
/** The most changes to show. */
const maxChanges = 500;

const icons = { added: IconPlus, removed: IconMinus, changed: IconPencil } as const;

export function DiffView({ changes, isPlain = false }: { changes: readonly FieldChange[]; isPlain?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const shown = changes.slice(0, isWhole ? maxChanges : shownAtFirst);
  const rest = changes.length - shown.length;
  return (
    <>
      <ul className="plain">
        {shown.map((change) => (
          <Change key={change.field} change={change} isPlain={isPlain} />
        ))}
      </ul>
      {rest > 0 && !isWhole && (
        <Anchor component="button" type="button" size="xs" onClick={() => setWhole(true)}>
          {text.diff.more(rest)}
        </Anchor>
      )}
      {rest > 0 && isWhole && <Dim>{text.diff.tooMany(rest)}</Dim>}
    </>
  );
}

function Change({ change, isPlain }: { change: FieldChange; isPlain: boolean }) {
  const { field, kind, before, after } = change;
  const Icon = icons[kind];
  return (
    <li className={classes["change"]}>
      <span className={classes["field"]}>
        {!isPlain && <Icon size={13} role="img" aria-label={text.diff.kinds[kind]} className={classes["icon"]} />}
        <span>{field}</span>
      </span>
      <span className={classes["values"]}>
        {kind !== "added" && <Value value={before} place="before" />}
        {kind === "changed" && <IconArrowRight size={13} aria-hidden className={`quiet ${classes["icon"]}`} />}
        {kind !== "removed" && <Value value={after} place="after" />}
      </span>
    </li>
  );
}

/** A value as a text: a string unchanged, any other value as JSON. */
function written(value: unknown, isLong: boolean): string {
  if (value === undefined) return text.diff.unknown;
  if (typeof value === "string" && value !== "") return visible(value);
  return visible(JSON.stringify(value, null, isLong ? 2 : undefined) ?? text.diff.unknown);
}

function Value({ value, place }: { value: unknown; place: "before" | "after" }) {
  const [isOpen, setOpen] = useState(false);
  const line = written(value, false);
  const isLong = line.length > folded;
  const content = isOpen ? written(value, true).slice(0, most) : line.slice(0, folded);
  const Element = place === "before" ? "del" : "ins";
  return (
    <span className={classes["value"]}>
      <Element className={classes[place]} data-is-open={isOpen || undefined}>
        {content}
        {isLong && content.length < line.length && "…"}
      </Element>
      {isLong && (
        <Anchor component="button" type="button" size="xs" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
          {isOpen ? text.diff.fold : text.diff.unfold(formatNumber(line.length))}
        </Anchor>
      )}
    </span>
  );
}
