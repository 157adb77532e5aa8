/** The page of the diagram: all collections and their relations, drawn or as a table. */
import { Group, SegmentedControl } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { IconHierarchy2, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import {
  choicesOf,
  Dim,
  EmptyState,
  FilledPage,
  LinkAction,
  QueryView,
  RowsSkeleton,
  SearchBox,
} from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { foundIn, type Graph, graphOf } from "./graph.ts";
import { RelationTable } from "./relation-table.tsx";

const Canvas = lazy(async () => ({ default: (await import("./canvas.tsx")).Canvas }));
const route = getRouteApi("/inside/collections/-/diagram");
const words = text.diagram;

/** Counts of records change often. Without the counts, the graph changes only with the definitions. */
function definitionsOf(collections: readonly CollectionEntry[]): Pick<CollectionEntry, "name" | "fields">[] {
  return collections.map(({ name, fields }) => ({ name, fields }));
}

export function DiagramPage() {
  const { view = "diagram", search = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({ ...collectionsQuery, select: definitionsOf });
  const graph = useMemo(() => graphOf(query.data ?? []), [query.data]);
  const found = foundIn(graph, search);
  return (
    <FilledPage
      title={words.title}
      note={query.data && words.note(query.data.length, graph.edges.length)}
      actions={
        <Group gap="xs">
          {found !== null && <Dim role="status">{words.found(found.size)}</Dim>}
          <SearchBox
            width={220}
            label={words.search}
            value={search}
            onChange={(next) => void navigate({ search: (old) => ({ ...old, search: next }), replace: true })}
          />
          <SegmentedControl
            size="xs"
            aria-label={words.view}
            value={view}
            data={choicesOf(words.views)}
            onChange={(value) =>
              void navigate({
                search: (old) => ({ ...old, view: value === "table" ? "table" : undefined }),
                replace: true,
              })
            }
          />
        </Group>
      }
    >
      <QueryView query={query}>
        {({ length }) => (length === 0 ? <NoDiagram /> : <Drawing graph={graph} view={view} search={search} />)}
      </QueryView>
    </FilledPage>
  );
}

function NoDiagram() {
  return (
    <EmptyState icon={IconHierarchy2} title={words.emptyTitle} body={words.emptyBody}>
      <LinkAction icon={IconPlus} label={text.collections.new} size="sm" variant="filled" to="/collections/-/new" />
    </EmptyState>
  );
}

function Drawing({ graph, view, search }: { graph: Graph; view: "diagram" | "table"; search: string }) {
  if (view === "table") return <RelationTable graph={graph} search={search} />;
  return (
    <div className="stretch">
      <Suspense fallback={<RowsSkeleton />}>
        <Canvas graph={graph} search={search} />
      </Suspense>
    </div>
  );
}
