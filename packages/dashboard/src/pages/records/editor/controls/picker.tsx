/** A control that picks one of many by searching the service: the closed control shows what is chosen. */
import { Combobox, InputBase, Skeleton, Stack, Text, UnstyledButton, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { messageOf } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import classes from "./controls.module.css";

/** How many a search brings. */
export const PICKER_LIMIT = 20;

export interface PickerItem {
  readonly id: string;
  readonly name: string;
  readonly note?: string | undefined;
}

interface PickerProps {
  /** The accessible name. */
  name: string;
  /** Shows what is chosen; null while nothing is. */
  chosen: ReactNode | null;
  size: "xs" | "sm";
  autoFocus: boolean;
  isInvalid: boolean;
  isRequired: boolean;
  /** Says that nothing is chosen, where null would say too little. */
  emptyText?: string | undefined;
  /** Where there is nothing to choose from: how to get something. */
  emptyNote?: ReactNode;
  rightSection?: ReactNode;
  /** Names the search in the cache. */
  queryKey: readonly string[];
  search: (words: string, signal: AbortSignal) => Promise<readonly PickerItem[]>;
  onPick: (item: PickerItem) => void;
}

export function Picker(props: PickerProps) {
  const { name, chosen, size, autoFocus, isInvalid, isRequired, emptyText, rightSection, onPick } = props;
  const [items, setItems] = useState<readonly PickerItem[]>([]);
  const [words, setWords] = useState("");
  const combobox = useCombobox({
    onDropdownOpen: () => combobox.focusSearchInput(),
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      combobox.focusTarget();
      setWords("");
    },
  });
  const pick = (id: string): void => {
    const item = items.find((each) => each.id === id);
    if (item !== undefined) onPick(item);
    combobox.closeDropdown();
  };
  return (
    <Combobox store={combobox} onOptionSubmit={pick} shadow="md" position="bottom-start" width="target">
      <div className={classes["picker"]}>
        <Combobox.Target targetType="button" withExpandedAttribute>
          <InputBase
            component="button"
            type="button"
            pointer
            size={size}
            autoFocus={autoFocus}
            data-autofocus={autoFocus || undefined}
            aria-label={name}
            aria-invalid={isInvalid || undefined}
            error={isInvalid}
            rightSection={<Combobox.Chevron />}
            rightSectionPointerEvents="none"
            onClick={() => combobox.toggleDropdown()}
            onKeyDown={(event) => {
              // Typing begins the search with what is typed.
              if (event.key.length !== 1 || event.key === " " || event.ctrlKey || event.metaKey || event.altKey) return;
              event.preventDefault();
              setWords((before) => before + event.key);
              combobox.openDropdown();
            }}
            className={classes["pickerButton"]}
          >
            {chosen ?? emptyText ?? (
              <Text span className="mono" c="var(--mantine-color-placeholder)">
                {isRequired ? text.editor.choose : text.editor.notSet}
              </Text>
            )}
          </InputBase>
        </Combobox.Target>
        {rightSection}
      </div>
      <Combobox.Dropdown miw={260}>
        <div role="dialog" aria-label={`${text.editor.choose} ${name}`}>
          <Combobox.Search
            value={words}
            onChange={(event) => setWords(event.currentTarget.value)}
            placeholder={text.editor.searchOrPaste}
            aria-label={`${text.editor.searchOrPaste}: ${name}`}
            onKeyDown={(event) => {
              // The dropdown lies at the end of the page: Tab goes on from the control.
              if (event.key === "Tab") combobox.closeDropdown();
              // The keys of the list are not those of what is around the control, such as a cell.
              if (event.key === "Enter" || event.key === "Escape") event.stopPropagation();
            }}
          />
          {combobox.dropdownOpened && (
            <Found {...props} words={words} items={items} onItems={setItems} onReady={combobox.selectFirstOption} />
          )}
        </div>
      </Combobox.Dropdown>
    </Combobox>
  );
}

interface FoundProps extends Pick<PickerProps, "queryKey" | "search" | "name" | "emptyNote"> {
  words: string;
  items: readonly PickerItem[];
  onItems: (items: readonly PickerItem[]) => void;
  onReady: () => void;
}

function Found({ queryKey, search, name, emptyNote, words, items, onItems, onReady }: FoundProps) {
  const [settled] = useDebouncedValue(words.trim(), 200);
  const query = useQuery({
    queryKey: ["picker", ...queryKey, settled],
    queryFn: ({ signal }) => search(settled, signal),
    staleTime: 10_000,
    placeholderData: keepPreviousData,
  });
  const { data } = query;
  // biome-ignore lint/correctness/useExhaustiveDependencies: other items are the reason.
  useEffect(() => onItems(data ?? []), [data]);
  // Once they are in the list, the first of them is marked: Enter takes it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other items are the reason.
  useEffect(() => {
    if (items.length === 0) return undefined;
    const frame = requestAnimationFrame(onReady);
    return () => cancelAnimationFrame(frame);
  }, [items]);

  if (query.isError && data === undefined) {
    return (
      <Text size="sm" p="sm" c="var(--mantine-color-error)" role="alert">
        {text.editor.searchFailed} {messageOf(query.error)}{" "}
        <UnstyledButton fz="sm" td="underline" onClick={() => query.refetch()}>
          {text.common.retry}
        </UnstyledButton>
      </Text>
    );
  }
  if (data === undefined) {
    return (
      <Stack gap={6} p="sm" role="status" aria-label={text.editor.searching}>
        <Skeleton height={28} />
        <Skeleton height={28} />
        <Skeleton height={28} />
      </Stack>
    );
  }
  if (data.length === 0 && settled === "" && emptyNote !== undefined) {
    return (
      <Text size="sm" c="dimmed" p="sm" role="status">
        {emptyNote}
      </Text>
    );
  }
  return (
    <>
      <Combobox.Options
        mah={280}
        tabIndex={0}
        className={classes["options"]}
        aria-label={name}
        data-dim={query.isPlaceholderData || undefined}
      >
        {items.map((item) => (
          <Combobox.Option key={item.id} value={item.id}>
            <PickerName {...item} />
          </Combobox.Option>
        ))}
        {items.length === 0 && <Combobox.Empty>{text.editor.nothingFound}</Combobox.Empty>}
      </Combobox.Options>
      {items.length >= PICKER_LIMIT && (
        <Combobox.Footer>
          <Text size="xs" c="dimmed">
            {settled === "" ? text.editor.newestShown(items.length) : text.editor.firstShown(items.length)}
          </Text>
        </Combobox.Footer>
      )}
    </>
  );
}

/** A name with its id, or with a note, behind it. */
export function PickerName({ id, name, note }: PickerItem) {
  return (
    <span className={classes["pickerName"]}>
      <span className={classes["pickerText"]}>{name}</span>
      <span className={classes["pickerNote"]}>{note ?? `…${id.slice(-8)}`}</span>
    </span>
  );
}
