/** A search field with its text in the address: the address follows the typing after a short pause. `/` brings the focus to the field. */
import { CloseButton, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { text } from "../texts/index.ts";
import { useShortcut } from "./shortcuts.tsx";

interface SearchBoxProps {
  label: string;
  /** The text in the address. */
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  width?: number | string;
}

const pauseMs = 250;

export function SearchBox({ label, value = "", onChange, width = 260 }: SearchBoxProps) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const input = useRef<HTMLInputElement>(null);
  const send = useDebouncedCallback((next: string) => {
    sent.current = next;
    onChange(next === "" ? undefined : next);
  }, pauseMs);
  // A link or the back button has changed the address.
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setTyped(value);
  }, [value]);
  useShortcut({ keys: "/", label, group: text.shortcuts.page }, () => input.current?.focus());

  const type = (next: string): void => {
    setTyped(next);
    send(next.trim());
  };
  return (
    <TextInput
      ref={input}
      type="search"
      size="xs"
      w={width}
      maw="100%"
      value={typed}
      onChange={(event) => type(event.currentTarget.value)}
      placeholder={label}
      aria-label={label}
      leftSection={<IconSearch size={14} />}
      rightSection={
        typed === "" ? null : (
          <CloseButton
            size="xs"
            aria-label={text.table.clearSearch}
            onClick={() => {
              type("");
              input.current?.focus();
            }}
          />
        )
      }
    />
  );
}
