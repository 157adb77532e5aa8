/** The empty page beside the list of collections, before a collection is chosen. */
import { IconDatabase, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { ButtonLink, EmptyState, FilledPage, QueryView } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";

export function CollectionsIndex() {
  const query = useQuery(collectionsQuery);
  return (
    <FilledPage title={text.collections.title}>
      <QueryView query={query}>
        {(collections) =>
          collections.length === 0 ? (
            <EmptyState icon={IconDatabase} title={text.collections.emptyTitle} body={text.collections.emptyBody}>
              <ButtonLink to="/collections/-/new" leftSection={<IconPlus size={16} />}>
                {text.collections.new}
              </ButtonLink>
            </EmptyState>
          ) : (
            <EmptyState icon={IconDatabase} title={text.collections.pick} body={text.collections.pickBody} />
          )
        }
      </QueryView>
    </FilledPage>
  );
}
