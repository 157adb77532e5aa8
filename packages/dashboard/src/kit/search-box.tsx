/** A search field with its text in the address: the address follows the typing after a short pause. `/` brings the focus to the field. */
import { CloseButton, TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { IconSearch } from "../icons/index.ts";
import { text } from "../texts/index.ts";
import { useShortcut } from "./shortcuts.tsx";

interface SearchInputProps extends Omit<TextInputProps, "onChange"> {
  label: string;
  onChange: (value: string) => void;
  /** With this, a button clears the text. */
  onClear?: () => void;
}

export function SearchInput({ label, onChange, onClear, ...input }: SearchInputProps) {
  return (
    <TextInput
      size="xs"
      onChange={(event) => onChange(event.currentTarget.value)}
      placeholder={label}
      aria-label={label}
      leftSection={<IconSearch size={14} />}
      rightSection={
        onClear === undefined || input.value === "" ? null : (
          <CloseButton size="xs" aria-label={text.table.clearSearch} onClick={onClear} />
        )
      }
      {...input}
    />
  );
}

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
    <SearchInput
      ref={input}
      type="search"
      w={width}
      maw="100%"
      value={typed}
      onChange={type}
      label={label}
      onClear={() => {
        type("");
        input.current?.focus();
      }}
    />
  );
}
