/** The menu of field types, each with a line on its use. A letter moves the focus to the next type with that first letter. */
import { Menu, Text } from "@mantine/core";
import type { FieldType } from "@socle/protocol";
import { type KeyboardEvent, type ReactNode, useRef } from "react";
import { kinds } from "../../../fields/index.ts";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";

interface TypeMenuProps {
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
  /** The types to choose from. */
  types: readonly FieldType[];
  /** The type with the first focus. */
  current?: FieldType;
  /** Called with the chosen type. Moves the focus to the next input. */
  onPick: (type: FieldType) => void;
  /** Called when the menu closes without a choice. Moves the focus back. */
  onDismiss: () => void;
  /** The button that opens the menu. */
  children: ReactNode;
}

/** Moves the focus to the next type with this first letter. */
function goToLetter(event: KeyboardEvent<HTMLElement>): void {
  if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-type]")];
  const now = items.findIndex((item) => item.matches(":focus"));
  const inOrder = [...items.slice(now + 1), ...items.slice(0, now + 1)];
  inOrder.find((item) => item.dataset["type"]?.startsWith(event.key.toLowerCase()))?.focus();
}

export function TypeMenu(props: TypeMenuProps) {
  const { isOpen, onToggle, types, current = "string", onPick, onDismiss, children } = props;
  const isPicked = useRef(false);
  return (
    <Menu
      opened={isOpen}
      onChange={onToggle}
      width={320}
      position="bottom-start"
      shadow="md"
      withInitialFocusPlaceholder={false}
      returnFocus={false}
      onOpen={() => {
        isPicked.current = false;
      }}
      onClose={() => {
        if (!isPicked.current) onDismiss();
      }}
    >
      <Menu.Target>{children}</Menu.Target>
      <Menu.Dropdown
        onKeyDown={goToLetter}
        aria-label={text.schema.fields.types}
        mah="min(420px, 50dvh)"
        style={{ overflowY: "auto" }}
      >
        {types.map((type) => (
          <Menu.Item
            key={type}
            data-type={type}
            data-autofocus={type === current || undefined}
            leftSection={<TypeIcon type={type} size={18} />}
            onClick={() => {
              isPicked.current = true;
              onPick(type);
            }}
            py={6}
          >
            <Text size="sm" fw={500} lh={1.3}>
              {kinds[type].words.label}
            </Text>
            <Text size="xs" c="light-dark(#5b6470, #b4bbc4)" lh={1.3}>
              {kinds[type].words.hint}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
