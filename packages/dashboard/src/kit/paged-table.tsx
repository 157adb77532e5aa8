/** A page of a list of the API as a table, with its footer: "1–50 of 1,234", previous, next. */
import { Group } from "@mantine/core";
import type { Page } from "@socle/protocol";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { IconChevronLeft, IconChevronRight } from "../icons/index.ts";
import { text } from "../texts/index.ts";
import classes from "./data-table.module.css";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { IconAction } from "./icon-action.tsx";
import { lastPage, pageSize, rowsOf } from "./paging.ts";
import { ErrorState } from "./states.tsx";
import { Dim } from "./words.tsx";

interface PagerProps {
  /** The number of the page, from 1. */
  page: number;
  total: number;
  size?: number;
  onPage: (page: number | undefined) => void;
}

const turns = [
  [IconChevronLeft, text.table.previous, -1],
  [IconChevronRight, text.table.next, 1],
] as const;

export function Pager({ page, total, size = pageSize, onPage }: PagerProps) {
  const { first, last } = rowsOf(page, total, size);
  const end = lastPage(total, size);
  // The first page needs no number in the address.
  const go = (next: number): void => onPage(next === 1 ? undefined : next);
  return (
    <Group
      className={classes["pager"]}
      justify="space-between"
      wrap="nowrap"
      component="nav"
      aria-label={text.table.pages}
    >
      <Dim className="numbers" aria-live="polite">
        {text.table.range(first, last, total)}
      </Dim>
      {end > 1 && (
        <Group gap={4} wrap="nowrap">
          {turns.map(([icon, label, step]) => (
            <IconAction
              key={label}
              {...{ icon, label }}
              iconSize={16}
              variant="default"
              size={28}
              disabled={step < 0 ? page <= 1 : page >= end}
              onClick={() => go(page + step)}
            />
          ))}
        </Group>
      )}
    </Group>
  );
}

interface ListTableProps<T> extends DataTableProps<T> {
  query: Pick<UseQueryResult, "error" | "refetch">;
  /** Shown instead of the table when the list is empty. */
  empty: ReactNode;
}

/** A list as a table, with the states of its query. Loaded rows stay while a later request fails. */
export function ListTable<T>({ query, empty, ...table }: ListTableProps<T>) {
  const trouble = query.error !== null && <ErrorState error={query.error} onRetry={query.refetch} />;
  if (table.rows === undefined && trouble !== false) return trouble;
  return (
    <>
      {trouble}
      {table.rows?.length === 0 ? <div className="fills">{empty}</div> : <DataTable {...table} />}
    </>
  );
}

interface PagedTableProps<T> extends Omit<ListTableProps<T>, "rows" | "isOld"> {
  query: UseQueryResult<Page<T>>;
  /** The page in the address. */
  page: number | undefined;
  onPage: (page: number | undefined) => void;
}

export function PagedTable<T>({ query, page = 1, onPage, ...table }: PagedTableProps<T>) {
  const { data, isPlaceholderData } = query;
  const end = data === undefined || isPlaceholderData ? Number.POSITIVE_INFINITY : lastPage(data.total);
  // A page after the end: rows were deleted, or the address is old.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function is no reason.
  useEffect(() => {
    if (page > end) onPage(end === 1 ? undefined : end);
  }, [page, end]);
  // A page after the end has no rows for a moment, and is no empty list.
  const rows = data?.total === 0 || data?.items.length !== 0 ? data?.items : undefined;
  return (
    <>
      <ListTable {...table} query={query} rows={rows} isOld={isPlaceholderData} />
      {data !== undefined && data.total > 0 && <Pager page={page} total={data.total} onPage={onPage} />}
    </>
  );
}
