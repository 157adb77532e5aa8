/** The items of a multiple field in their order: each with its content, a button up and a button to remove the item. */
import { Group } from "@mantine/core";
import type { ReactNode } from "react";
import { IconArrowUp, IconX } from "../../../../icons/index.ts";
import { IconAction } from "../../../../kit/icon-action.tsx";
import { text } from "../../../../texts/index.ts";
import classes from "./controls.module.css";
import { raised } from "./items.ts";

export function ItemList(props: {
  /** The name of the field. */
  name: string;
  items: readonly string[];
  onChange: (items: readonly string[]) => void;
  /** Draws an item. */
  content: (item: string) => ReactNode;
}) {
  const { name, items, onChange, content } = props;
  if (items.length === 0) return null;
  return (
    <ol className={`plain ${classes["items"]}`} aria-label={text.editor.itemsOf(name)}>
      {items.map((item, at) => (
        <li key={item} className={classes["item"]}>
          <div className={classes["itemContent"]}>{content(item)}</div>
          <Group gap={0} wrap="nowrap">
            <IconAction
              icon={IconArrowUp}
              label={text.editor.raiseItem(at + 1, name)}
              disabled={at === 0}
              onClick={() => onChange(raised(items, item))}
            />
            <IconAction
              icon={IconX}
              label={text.editor.removeItem(at + 1, name)}
              onClick={() => onChange(items.filter((each) => each !== item))}
            />
          </Group>
        </li>
      ))}
    </ol>
  );
}
