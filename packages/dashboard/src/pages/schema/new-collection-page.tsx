/** The page of a new collection: blank, from a preset, or as a copy of a collection. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { FilledPage, QueryView } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { BackToCollections } from "../records/head-actions.tsx";
import { blankDraft, copyDraft } from "./draft/presets.ts";
import { NewCollectionForm } from "./new-collection-form.tsx";

const route = getRouteApi("/inside/collections/-/new");

export function NewCollectionPage() {
  const { tab = "fields", from } = route.useSearch();
  const query = useQuery(collectionsQuery);
  return (
    <FilledPage title={text.schema.newTitle} back={<BackToCollections />}>
      <QueryView query={query}>
        {(collections) => {
          const names = collections.map(({ name }) => name);
          const source = collections.find(({ name }) => name === from);
          return (
            <NewCollectionForm
              key={source?.name ?? ""}
              source={source?.name ?? null}
              first={source === undefined ? blankDraft() : copyDraft(source.definition, names)}
              names={names}
              tab={tab}
            />
          );
        }}
      </QueryView>
    </FilledPage>
  );
}
