/**
 * The bar above the grid: a search box, conditions as chips, or the expression as text. Conditions and text are views of the
 * same filter. In a collection with `search` the box searches the words; in any other collection the box is part of the filter.
 */
import { Button, Group, Menu, Text, Tooltip } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import type { CollectionEntry } from "@socle/protocol";
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { IconCursorText, IconHistory, IconX } from "../../../icons/index.ts";
import { ExpressionEditor, errorPosition, fieldOfPath, schemaOf } from "../../../kit/expression/index.ts";
import { Action, Dim, IconAction, SearchInput } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { RecordSearch } from "../../search.ts";
import type { RecordsPage } from "../use-records-page.ts";
import { type Builder, fromBuilder, quickFields, toBuilder } from "./builder.ts";
import { AddCondition, ConditionChip } from "./conditions.tsx";
import classes from "./filter-bar.module.css";
import { useRecentFilters } from "./recent-filters.ts";

const quickMs = 300;
/** Names the complaint for the editor of the expression. */
const errorId = "filter-error";

interface FilterBarProps {
  page: RecordsPage;
  collections: readonly CollectionEntry[];
  searchRef: RefObject<HTMLInputElement | null>;
  /** Shown at the right end. */
  children: ReactNode;
}

type FilterState = ReturnType<typeof useFilter>;

/** The filter and the searched words of the address, with the answer of the service. */
function useFilter({ page, collections }: FilterBarProps) {
  const { collection, search } = page;
  const { rows } = page.shown;
  /** Changes the filter or the searched words: the list begins at its first row. */
  const find = (change: RecordSearch, replace = false): void => {
    page.state.clear();
    page.toTop();
    page.setSearch(change, replace);
  };
  return {
    collection,
    schema: useMemo(() => schemaOf(collections), [collections]),
    filter: search.filter ?? "",
    /** The searched words; null in a collection without a search. */
    words: (collection.definition.search ?? []).length === 0 ? null : (search.search ?? ""),
    /** The service's complaints. */
    error: page.filterError,
    wordsError: page.searchError,
    /** Whether the service has answered the filter with records. */
    isAnswered: rows.error === null && !rows.isLoading && !rows.isOld,
    onFilter: (filter: string): void => find({ filter: filter === "" ? undefined : filter }),
    onWords: (words: string): void =>
      find({ search: words === "" ? undefined : words }, search.search !== undefined && words !== ""),
  };
}

export function FilterBar(props: FilterBarProps) {
  const { searchRef, children } = props;
  const state = useFilter(props);
  const { collection, filter, onFilter, error, words, wordsError, isAnswered } = state;
  const { name, fields } = collection;
  const builder = toBuilder(filter, fields);
  const [wantsRaw, setWantsRaw] = useState(false);
  const isRaw = wantsRaw || builder === null || error !== undefined;
  const [draft, setDraft] = useState(filter);
  useEffect(() => setDraft(filter), [filter]);
  const [recent, remember] = useRecentFilters(name);
  // A filter is remembered after the service has accepted the filter.
  const applied = useRef("");
  useEffect(() => {
    if (isAnswered && filter !== "" && applied.current === filter) remember(filter);
  }, [isAnswered, filter, remember]);
  const apply = (next: string): void => {
    applied.current = next.trim();
    onFilter(next.trim());
  };
  const build = (next: Builder, isKept = true): void =>
    // An unfinished filter is not remembered.
    (isKept ? apply : onFilter)(fromBuilder(next, fields));
  const clear = (): void => {
    setDraft("");
    setWantsRaw(false);
    onFilter("");
  };
  return (
    <search className={classes["bar"]} aria-label={text.records.filter}>
      <div className={classes["line"]}>
        {words !== null && (
          <WordSearch
            value={words}
            onSend={state.onWords}
            label={text.records.search}
            error={wordsError}
            searchRef={searchRef}
          />
        )}
        {isRaw ? (
          <RawLine {...state} draft={draft} onDraft={setDraft} onApply={apply} />
        ) : (
          <BuilderLine {...state} builder={builder} onBuild={build} searchRef={words === null ? searchRef : null} />
        )}
        <Group gap={4} wrap="nowrap" ml="auto">
          {filter !== "" && (
            <IconAction
              tip={text.records.clearFilter}
              icon={IconX}
              label={text.records.clearFilter}
              size={30}
              onClick={clear}
            />
          )}
          <Recent filters={recent} onPick={apply} />
          <RawSwitch isRaw={isRaw} disabled={builder === null && filter !== ""} onChange={setWantsRaw} />
          {children}
        </Group>
      </div>
      {wordsError !== undefined && <Refusal>{wordsError.replace(/^"search": /, "")}</Refusal>}
      {error !== undefined && <Refusal id={errorId}>{error.replace(/^"filter": /, "")}</Refusal>}
      {error === undefined && builder === null && <Dim className={classes["note"]}>{text.records.onlyRaw}</Dim>}
    </search>
  );
}

/** The service's complaint. */
function Refusal(props: { id?: string; children: string }) {
  return <Text size="xs" c="var(--mantine-color-error)" role="alert" className={classes["note"]} {...props} />;
}

function RawSwitch(props: { isRaw: boolean; disabled: boolean; onChange: (isRaw: boolean) => void }) {
  const { isRaw, disabled, onChange } = props;
  return (
    <IconAction
      icon={IconCursorText}
      iconSize={16}
      tip={isRaw ? text.records.asBuilder : text.records.asText}
      label={text.records.asText}
      word={text.records.asTextWord}
      variant={isRaw ? "light" : "subtle"}
      color={isRaw ? "verdigris" : "gray"}
      size={30}
      aria-pressed={isRaw}
      disabled={disabled}
      onClick={() => onChange(!isRaw)}
    />
  );
}

interface RawLineProps extends Pick<FilterState, "collection" | "filter" | "schema" | "error"> {
  draft: string;
  onDraft: (draft: string) => void;
  onApply: (filter: string) => void;
}

/** The expression as text. */
function RawLine({ collection, filter, schema, error, draft, onDraft, onApply }: RawLineProps) {
  return (
    <>
      <ExpressionEditor
        collection={collection.name}
        value={draft}
        schema={schema}
        label={text.records.expression}
        placeholder={text.records.expressionPlaceholder}
        errorAt={error === undefined ? null : errorPosition(error)}
        errorId={error === undefined ? undefined : errorId}
        autoFocus
        onChange={onDraft}
        onApply={onApply}
        onCancel={() => onDraft(filter)}
      />
      <Button size="xs" variant="light" onClick={() => onApply(draft)} disabled={draft.trim() === filter}>
        {text.records.apply}
      </Button>
    </>
  );
}

interface BuilderLineProps extends Pick<FilterState, "collection" | "schema"> {
  builder: Builder;
  onBuild: (builder: Builder, isKept?: boolean) => void;
  /** For the quick search; null when another box searches. */
  searchRef: RefObject<HTMLInputElement | null> | null;
}

/** The quick search and the conditions. */
function BuilderLine({ collection, builder, schema, onBuild, searchRef }: BuilderLineProps) {
  const { fields } = collection;
  const { conditions, join } = builder;
  const fieldOf = (path: string) => fieldOfPath(schema, collection.name, path);
  return (
    <>
      {searchRef !== null && quickFields(fields).length > 0 && (
        <WordSearch
          value={builder.quick}
          onSend={(quick, isKept) => onBuild({ ...builder, quick }, isKept)}
          label={text.records.quickSearch}
          error={undefined}
          searchRef={searchRef}
        />
      )}
      <div className={classes["chips"]}>
        {conditions.length > 1 && (
          <Action
            label={text.records.join[join]}
            size="compact-xs"
            className={classes["join"]}
            onClick={() => onBuild({ ...builder, join: join === "all" ? "any" : "all" })}
            aria-label={text.records.joinLabel(join)}
          />
        )}
        {conditions.map((condition, i) => (
          <ConditionChip
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no identity but their place.
            key={i}
            condition={condition}
            fields={fields}
            fieldOf={fieldOf}
            onChange={(next) =>
              onBuild({ ...builder, conditions: conditions.map((each, at) => (at === i ? next : each)) })
            }
            onRemove={() => onBuild({ ...builder, conditions: conditions.filter((_, at) => at !== i) })}
          />
        ))}
        <AddCondition
          fields={fields}
          fieldOf={fieldOf}
          onAdd={(next) => onBuild({ ...builder, conditions: [...conditions, next] })}
        />
      </div>
    </>
  );
}

function WordSearch(props: {
  value: string;
  /** Called with the typed text after a pause, and with `isKept` after Enter. */
  onSend: (typed: string, isKept: boolean) => void;
  label: string;
  error: string | undefined;
  searchRef: RefObject<HTMLInputElement | null>;
}) {
  const { value, onSend, label, error, searchRef } = props;
  const [typed, setTyped] = useState(value);
  const [sent, setSent] = useState(value);
  // The address may change without the box: back, a recent filter, a cleared filter.
  if (value !== sent) {
    setSent(value);
    setTyped(value);
  }
  const send = (next: string, isKept: boolean): void => {
    if (next.trim() === value && !isKept) return;
    setSent(next.trim());
    onSend(next.trim(), isKept);
  };
  const sendLater = useDebouncedCallback((next: string) => send(next, false), quickMs);
  return (
    <SearchInput
      ref={searchRef}
      type="search"
      className={classes["quick"]}
      value={typed}
      onChange={(next) => {
        setTyped(next);
        sendLater(next);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") send(typed, true);
        if (event.key === "Escape") event.currentTarget.blur();
      }}
      label={label}
      error={error !== undefined}
      onClear={() => {
        setTyped("");
        send("", false);
      }}
    />
  );
}

function Recent({ filters, onPick }: { filters: readonly string[]; onPick: (filter: string) => void }) {
  return (
    <Menu position="bottom-end" width={340} withinPortal>
      <Tooltip label={text.records.recentFilters}>
        <Menu.Target>
          <IconAction
            icon={IconHistory}
            iconSize={16}
            label={text.records.recentFilters}
            word={text.records.recent}
            size={30}
          />
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        <Menu.Label>{text.records.recentFilters}</Menu.Label>
        {filters.length === 0 && <Menu.Item disabled>{text.records.noRecent}</Menu.Item>}
        {filters.map((filter) => (
          <Menu.Item key={filter} onClick={() => onPick(filter)}>
            <Text size="xs" className="mono" truncate maw={300}>
              {filter}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
