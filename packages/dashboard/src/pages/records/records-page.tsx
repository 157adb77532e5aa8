/** The records of a collection: a grid with a filter, and a drawer for a record. */
import { IconDatabaseOff } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ButtonLink, EmptyState, ErrorState, FilledPage, RowsSkeleton } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { RecordsView } from "./records-view.tsx";

export function RecordsPage() {
  const { name } = useParams({ from: "/inside/collections/$name" });
  const query = useQuery(collectionsQuery);
  const collection = query.data?.find((each) => each.name === name);
  if (query.data !== undefined && collection !== undefined)
    return <RecordsView key={name} collection={collection} collections={query.data} />;
  return (
    <FilledPage title={name}>
      {query.data !== undefined ? (
        <EmptyState icon={IconDatabaseOff} title={text.records.noCollection(name)} body={text.records.noCollectionBody}>
          <ButtonLink to="/collections" variant="light">
            {text.records.toCollections}
          </ButtonLink>
        </EmptyState>
      ) : query.isError ? (
        <ErrorState error={query.error} onRetry={query.refetch} />
      ) : (
        <RowsSkeleton rows={16} height={24} />
      )}
    </FilledPage>
  );
}
