/** View of a query: its data or its state: a skeleton, an error with a retry, the data. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorState, RowsSkeleton } from "./states.tsx";

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
