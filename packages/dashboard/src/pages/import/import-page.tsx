/** The page that imports the rows of a file into a collection. */
import { IconArrowLeft } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { LinkAction, Page, QueryView } from "../../kit/index.ts";
import { collectionQuery, collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { Importer } from "./importer.tsx";

const route = getRouteApi("/inside/collections/$name/import");

export function ImportPage() {
  const { name } = route.useParams();
  const collection = useQuery({ ...collectionQuery(name), refetchOnWindowFocus: false });
  const collections = useQuery({ ...collectionsQuery, refetchOnWindowFocus: false });
  return (
    <Page
      title={text.import.into(name)}
      actions={
        <LinkAction
          icon={IconArrowLeft}
          label={text.import.toRecords}
          to="/collections/$name"
          params={{ name: name }}
        />
      }
    >
      <QueryView query={collection}>
        {(entry) => (
          <QueryView query={collections}>
            {(all) => <Importer key={entry.name} collection={entry} collections={all} />}
          </QueryView>
        )}
      </QueryView>
    </Page>
  );
}
