/** The page of a collection's schema: reads the collection, watches for changes by others, and opens the form. */
import { IconDatabaseOff } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ButtonLink, EmptyState, ErrorState, FilledPage, RowsSkeleton } from "../../kit/index.ts";
import { isGone } from "../../service/gone.ts";
import { collectionQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { SchemaEditor } from "./schema-editor.tsx";

const route = getRouteApi("/inside/collections/$name/schema");

/** The service sends no event for a changed definition, so the page reads the definition at this interval. */
const lookAgainMs = 10_000;

export function SchemaPage() {
  const { name } = route.useParams();
  const { tab = "fields" } = route.useSearch();
  const query = useQuery({ ...collectionQuery(name), refetchInterval: lookAgainMs });
  if (query.data !== undefined)
    return <SchemaEditor key={name} entry={query.data} isGone={query.isError && isGone(query.error)} tab={tab} />;
  return (
    <FilledPage title={name} note={text.schema.title}>
      {query.isPending && <RowsSkeleton />}
      {query.isError && isGone(query.error) && (
        <EmptyState icon={IconDatabaseOff} title={text.schema.notFound(name)}>
          <ButtonLink to="/collections" variant="light">
            {text.collections.title}
          </ButtonLink>
        </EmptyState>
      )}
      {query.isError && !isGone(query.error) && <ErrorState error={query.error} onRetry={query.refetch} />}
    </FilledPage>
  );
}
