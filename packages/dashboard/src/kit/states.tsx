/** The states of a page without data: empty, loading, failed; and the view of a query, with these states. */
import { Alert, type AlertProps, Center, Group, Skeleton, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ComponentType, ReactNode } from "react";
import { IconAlertTriangle, IconRefresh } from "../icons/index.ts";
import { text } from "../texts/first.ts";
import { Action, TextLink } from "./action.tsx";
import classes from "./notice.module.css";

type Icon = ComponentType<{ size?: number; stroke?: number }>;

/** An empty page: the purpose of the page and the next step. `children` are the buttons or the command. */
export function EmptyState(props: { icon: Icon; title: string; body?: ReactNode; children?: ReactNode }) {
  const { icon: Icon, title, body, children } = props;
  return (
    <Center p="xl" mih={240}>
      <Stack align="center" gap="xs" maw={460} miw={0}>
        <ThemeIcon variant="light" size={52} radius="xl">
          <Icon size={26} stroke={1.5} />
        </ThemeIcon>
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        {body !== undefined && (
          <Text c="dimmed" ta="center" size="sm" component="div" maw="100%">
            {body}
          </Text>
        )}
        {children !== undefined && (
          <Group mt="xs" justify="center">
            {children}
          </Group>
        )}
      </Stack>
    </Center>
  );
}

/** A list without a row that its filters let through. */
export function NothingFound(props: {
  icon: Icon;
  words: { readonly nothingFound: string; readonly nothingFoundBody: string };
  onClear: () => void;
}) {
  const { icon, words, onClear } = props;
  return (
    <EmptyState icon={icon} title={words.nothingFound} body={words.nothingFoundBody}>
      <Action label={text.table.clearFilters} onClick={onClear} />
    </EmptyState>
  );
}

/** The message of an error for a reader. */
export function messageOf(error: unknown): string {
  if (SocleError.is(error, "offline")) return text.errors.offline;
  if (error instanceof SocleError) {
    return error.retryAfter === null ? error.message : `${error.message} ${text.errors.retryAfter(error.retryAfter)}`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** A failed request: the error, its entry in the log, and a retry. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const requestId = error instanceof SocleError ? error.requestId : null;
  return (
    <Notice tone="bad" m="md" title={text.errors.title}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{messageOf(error)}</Text>
        {requestId !== null && (
          <TextLink to="/logs" search={{ search: requestId }} underline="always">
            {text.errors.inLog}
          </TextLink>
        )}
        {onRetry !== undefined && <Action icon={IconRefresh} label={text.common.retry} onClick={onRetry} />}
      </Stack>
    </Notice>
  );
}

/** The skeleton of rows that are loading. */
export function RowsSkeleton({ rows = 8, height = 36 }: { rows?: number; height?: number }) {
  return (
    <Stack gap={6} p="md" aria-busy="true" aria-label={text.common.loading} role="status">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same.
        <Skeleton key={row} height={height} radius="sm" />
      ))}
    </Stack>
  );
}

export function QueryView<T>(props: {
  query: UseQueryResult<T>;
  /** Shown until the data arrives; by default, rows. */
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { query, skeleton = <RowsSkeleton />, children } = props;
  // Loaded data stays while a later request fails; the error stands above the data.
  if (query.data === undefined && query.isError) return <ErrorState error={query.error} onRetry={query.refetch} />;
  if (query.data === undefined) return skeleton;
  return (
    <>
      {query.isError && <ErrorState error={query.error} onRetry={query.refetch} />}
      {children(query.data)}
    </>
  );
}

export function Notice({ tone, ...alert }: { tone: "bad" | "warn" } & AlertProps) {
  return <Alert className={classes[tone] ?? ""} icon={<IconAlertTriangle aria-hidden />} {...alert} />;
}
