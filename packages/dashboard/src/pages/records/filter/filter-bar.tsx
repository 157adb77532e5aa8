/**
 * The bar above the grid: a search box, conditions as chips, or the expression as text. Conditions and text are views of the
 * same filter. In a collection with `search` the box searches the words; in any other collection the box is part of the filter.
 */
import { ActionIcon, Button, CloseButton, Group, Menu, Text, TextInput, Tooltip } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import type { CollectionEntry } from "@socle/protocol";
import { IconCursorText, IconHistory, IconSearch, IconX } from "@tabler/icons-react";
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import { ExpressionEditor, errorPosition, fieldOfPath, type Schema } from "../../../kit/expression/index.ts";
import { IconAction } from "../../../kit/icon-action.tsx";
import { Dim } from "../../../kit/words.tsx";
import { text } from "../../../texts/index.ts";
import { type Builder, fromBuilder, quickFields, toBuilder } from "./builder.ts";
import { AddCondition, ConditionChip } from "./conditions.tsx";
import classes from "./filter-bar.module.css";
import { recentFilters, rememberFilter } from "./recent-filters.ts";

const quickMs = 300;

export interface FilterBarProps {
  collection: CollectionEntry;
  filter: string;
  onFilter: (filter: string) => void;
  schema: Schema;
  /** The service's complaint about the filter. */
  error: string | undefined;
  /** The searched words; null in a collection without a search. */
  search: string | null;
  onSearch: (words: string) => void;
  searchError: string | undefined;
  /** Whether the service has answered the filter with records. */
  isAnswered: boolean;
  searchRef: RefObject<HTMLInputElement | null>;
  /** Shown at the right end. */
  children?: ReactNode;
}

export function FilterBar(props: FilterBarProps) {
  const { collection, filter, onFilter, schema, error, isAnswered, searchRef, children } = props;
  const { search, onSearch, searchError } = props;
  const { name, fields } = collection;
  const builder = toBuilder(filter, fields);
  const [wantsRaw, setWantsRaw] = useState(false);
  const isRaw = wantsRaw || builder === null || error !== undefined;
  const [draft, setDraft] = useState(filter);
  useEffect(() => setDraft(filter), [filter]);
  const errorId = useId();

  const apply = (next: string): void => {
    const wanted = next.trim();
    applied.current = wanted;
    onFilter(wanted);
  };
  // A filter is remembered after the service has accepted the filter.
  const applied = useRef("");
  useEffect(() => {
    if (isAnswered && filter !== "" && applied.current === filter) rememberFilter(name, filter);
  }, [isAnswered, filter, name]);
  // An unfinished filter is not remembered.
  const build = (next: Builder, isKept = true): void => {
    const wanted = fromBuilder(next, fields);
    if (isKept) apply(wanted);
    else onFilter(wanted);
  };
  return (
    <search className={classes["bar"]} aria-label={text.records.filter}>
      <div className={classes["line"]}>
        {search !== null && (
          <SearchInput
            value={search}
            onSend={onSearch}
            label={text.records.search}
            error={searchError}
            searchRef={searchRef}
          />
        )}
        {isRaw ? (
          <>
            <ExpressionEditor
              collection={name}
              value={draft}
              schema={schema}
              label={text.records.expression}
              placeholder={text.records.expressionPlaceholder}
              errorAt={error === undefined ? null : errorPosition(error)}
              errorId={error === undefined ? undefined : errorId}
              autoFocus
              onChange={setDraft}
              onApply={apply}
              onCancel={() => setDraft(filter)}
            />
            <Button size="xs" variant="light" onClick={() => apply(draft)} disabled={draft.trim() === filter}>
              {text.records.apply}
            </Button>
          </>
        ) : (
          <BuilderLine
            collection={collection}
            builder={builder}
            schema={schema}
            onBuild={build}
            searchRef={search === null ? searchRef : null}
          />
        )}
        <Group gap={4} wrap="nowrap" className={classes["tools"]}>
          {filter !== "" && (
            <IconAction
              tip={text.records.clearFilter}
              icon={IconX}
              label={text.records.clearFilter}
              size={30}
              onClick={() => {
                setDraft("");
                setWantsRaw(false);
                onFilter("");
              }}
            />
          )}
          <Recent collection={name} onPick={apply} />
          <Tooltip label={isRaw ? text.records.asBuilder : text.records.asText}>
            <ActionIcon
              variant={isRaw ? "light" : "subtle"}
              {...(!isRaw && { color: "gray" })}
              size={30}
              aria-label={text.records.asText}
              aria-pressed={isRaw}
              disabled={builder === null && filter !== ""}
              onClick={() => setWantsRaw(!isRaw)}
            >
              <IconCursorText size={16} />
            </ActionIcon>
          </Tooltip>
          {children}
        </Group>
      </div>
      {searchError !== undefined && (
        <Text size="xs" c="var(--mantine-color-error)" role="alert" className={classes["note"]}>
          {searchError.replace(/^"search": /, "")}
        </Text>
      )}
      {error !== undefined ? (
        <Text id={errorId} size="xs" c="var(--mantine-color-error)" role="alert" className={classes["note"]}>
          {error.replace(/^"filter": /, "")}
        </Text>
      ) : (
        builder === null && <Dim className={classes["note"]}>{text.records.onlyRaw}</Dim>
      )}
    </search>
  );
}

function BuilderLine(props: {
  collection: CollectionEntry;
  builder: Builder;
  schema: Schema;
  onBuild: (builder: Builder, isKept?: boolean) => void;
  /** For the quick search; null when another box searches. */
  searchRef: RefObject<HTMLInputElement | null> | null;
}) {
  const { collection, builder, schema, onBuild, searchRef } = props;
  const { fields } = collection;
  const { conditions, join } = builder;
  const fieldOf = (path: string) => fieldOfPath(schema, collection.name, path);
  return (
    <>
      {searchRef !== null && quickFields(fields).length > 0 && (
        <SearchInput
          value={builder.quick}
          onSend={(quick, isKept) => onBuild({ ...builder, quick }, isKept)}
          label={text.records.quickSearch}
          error={undefined}
          searchRef={searchRef}
        />
      )}
      <div className={classes["chips"]}>
        {conditions.length > 1 && (
          <Button
            size="compact-xs"
            variant="default"
            className={classes["join"]}
            onClick={() => onBuild({ ...builder, join: join === "all" ? "any" : "all" })}
            aria-label={text.records.joinLabel(join)}
          >
            {text.records.join[join]}
          </Button>
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

function SearchInput(props: {
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
    <TextInput
      ref={searchRef}
      size="xs"
      type="search"
      className={classes["quick"]}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        sendLater(event.currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") send(typed, true);
        if (event.key === "Escape") event.currentTarget.blur();
      }}
      placeholder={label}
      aria-label={label}
      error={error !== undefined}
      leftSection={<IconSearch size={14} />}
      rightSection={
        typed === "" ? null : (
          <CloseButton
            size="xs"
            aria-label={text.records.clearSearch}
            onClick={() => {
              setTyped("");
              send("", false);
            }}
          />
        )
      }
    />
  );
}

function Recent({ collection, onPick }: { collection: string; onPick: (filter: string) => void }) {
  const [recent, setRecent] = useState<readonly string[]>([]);
  return (
    <Menu position="bottom-end" width={340} withinPortal onOpen={() => setRecent(recentFilters(collection))}>
      <Tooltip label={text.records.recentFilters}>
        <Menu.Target>
          <IconAction icon={IconHistory} iconSize={16} label={text.records.recentFilters} size={30} />
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        <Menu.Label>{text.records.recentFilters}</Menu.Label>
        {recent.length === 0 && <Menu.Item disabled>{text.records.noRecent}</Menu.Item>}
        {recent.map((filter) => (
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
