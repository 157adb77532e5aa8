/** The items of a multiple field in their order: each with its content, a way up and a way out. */
import { ActionIcon, Group } from "@mantine/core";
import { IconArrowUp, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { text } from "../../../../texts/index.ts";
import classes from "./controls.module.css";
import { raised } from "./items.ts";

export function ItemList(props: {
  /** Of the field. */
  name: string;
  items: readonly string[];
  onChange: (items: readonly string[]) => void;
  /** Draws one. */
  content: (item: string) => ReactNode;
}) {
  const { name, items, onChange, content } = props;
  if (items.length === 0) return null;
  return (
    <ol className={classes["items"]} aria-label={text.editor.itemsOf(name)}>
      {items.map((item, at) => (
        <li key={item} className={classes["item"]}>
          <div className={classes["itemContent"]}>{content(item)}</div>
          <Group gap={0} wrap="nowrap">
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={text.editor.raiseItem(at + 1, name)}
              disabled={at === 0}
              onClick={() => onChange(raised(items, item))}
            >
              <IconArrowUp size={15} />
            </ActionIcon>
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={text.editor.removeItem(at + 1, name)}
              onClick={() => onChange(items.filter((each) => each !== item))}
            >
              <IconX size={15} />
            </ActionIcon>
          </Group>
        </li>
      ))}
    </ol>
  );
}
