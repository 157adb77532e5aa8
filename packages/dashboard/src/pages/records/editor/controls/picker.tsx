/** A control that picks an item by a search in the service. The closed control shows the chosen item. */
import { Combobox, type ComboboxStore, Group, InputBase, Text, UnstyledButton, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import { Complaint, Dim, messageOf, RowsSkeleton } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import classes from "./controls.module.css";

/** Most results of a search. */
export const PICKER_LIMIT = 20;

export interface PickerItem {
  readonly id: string;
  readonly name: string;
  readonly note?: string | undefined;
}

export interface PickerProps {
  /** The accessible name. */
  name: string;
  /** Draws the chosen item; null while no item is chosen. */
  chosen: ReactNode | null;
  size: "xs" | "sm";
  autoFocus: boolean;
  isInvalid: boolean;
  isRequired: boolean;
  /** The text of the control without a chosen item, if "null" would say too little. */
  emptyText?: string | undefined;
  /** Shown when the list of choices is empty: how to add a choice. */
  emptyNote?: ReactNode;
  rightSection?: ReactNode;
  /** The key of the search in the cache. */
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
  const onKeyDown = (event: KeyboardEvent): void => {
    // Typed characters open the list and begin the search.
    if (event.key.length !== 1 || event.key === " " || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setWords((before) => before + event.key);
    combobox.openDropdown();
  };
  return (
    <Combobox store={combobox} onOptionSubmit={pick} shadow="md" position="bottom-start" width="target">
      <Group gap={4} wrap="nowrap">
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
            onKeyDown={onKeyDown}
            flex={1}
            miw={0}
          >
            {chosen ?? emptyText ?? (
              <Text span className="mono" c="var(--mantine-color-placeholder)">
                {isRequired ? text.editor.choose : text.editor.notSet}
              </Text>
            )}
          </InputBase>
        </Combobox.Target>
        {rightSection}
      </Group>
      <Combobox.Dropdown miw={260}>
        <Choices {...props} {...{ combobox, words, items }} onWords={setWords} onItems={setItems} />
      </Combobox.Dropdown>
    </Combobox>
  );
}

interface ChoicesProps extends PickerProps {
  combobox: ComboboxStore;
  words: string;
  items: readonly PickerItem[];
  onWords: (words: string) => void;
  onItems: (items: readonly PickerItem[]) => void;
}

/** The search with its results. */
function Choices(props: ChoicesProps) {
  const { name, combobox, words, onWords } = props;
  return (
    <div role="dialog" aria-label={`${text.editor.choose} ${name}`}>
      <Combobox.Search
        value={words}
        onChange={(event) => onWords(event.currentTarget.value)}
        placeholder={text.editor.searchOrPaste}
        aria-label={`${text.editor.searchOrPaste}: ${name}`}
        onKeyDown={(event) => {
          // The dropdown is at the end of the page: with the dropdown closed, Tab goes on from the control.
          if (event.key === "Tab") combobox.closeDropdown();
          // Enter and Escape belong to the list here, not to the element around the control, for example a cell.
          if (event.key === "Enter" || event.key === "Escape") event.stopPropagation();
        }}
      />
      {combobox.dropdownOpened && <Found {...props} />}
    </div>
  );
}

function Found({ queryKey, search, name, emptyNote, words, items, combobox, onItems }: ChoicesProps) {
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
  // When the items are in the list, the first item is marked: Enter takes the marked item.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other items are the reason.
  useEffect(() => {
    if (items.length === 0) return undefined;
    const frame = requestAnimationFrame(combobox.selectFirstOption);
    return () => cancelAnimationFrame(frame);
  }, [items]);
  if (data === undefined) return query.isError ? <SearchFailed query={query} /> : <RowsSkeleton rows={3} height={28} />;
  if (data.length === 0 && settled === "" && emptyNote !== undefined)
    return (
      <Dim size="sm" p="sm" role="status">
        {emptyNote}
      </Dim>
    );
  return (
    <>
      <Combobox.Options
        mah={280}
        tabIndex={0}
        style={{ overflowY: "auto", ...(query.isPlaceholderData && { opacity: 0.6 }) }}
        aria-label={name}
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
          <Dim>{settled === "" ? text.editor.newestShown(items.length) : text.editor.firstShown(items.length)}</Dim>
        </Combobox.Footer>
      )}
    </>
  );
}

function SearchFailed({ query }: { query: UseQueryResult }) {
  return (
    <Complaint p="sm">
      {text.editor.searchFailed} {messageOf(query.error)}{" "}
      <UnstyledButton fz="sm" td="underline" onClick={() => query.refetch()}>
        {text.common.retry}
      </UnstyledButton>
    </Complaint>
  );
}

/** A name, followed by its id or a note. */
export function PickerName({ id, name, note }: PickerItem) {
  return (
    <span className={classes["pickerName"]}>
      <span className="cut">{name}</span>
      <span className={classes["pickerNote"]}>{note ?? `…${id.slice(-8)}`}</span>
    </span>
  );
}
