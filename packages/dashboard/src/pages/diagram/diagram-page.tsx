/** The page of the diagram: all collections and their relations, drawn or as a table. */
import { Group, SegmentedControl } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { IconHierarchy2, IconPlus } from "../../icons/index.ts";
import {
  type Column,
  choicesOf,
  DataTable,
  Dim,
  EmptyState,
  FilledPage,
  LinkAction,
  QueryView,
  RowsSkeleton,
  SearchBox,
  TextLink,
} from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { foundIn, type Graph, type GraphEdge, graphOf, linkOf } from "./graph.ts";

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

/** A relation, or a collection without relations. */
type Row = Pick<GraphEdge, "id" | "from"> & { readonly edge: GraphEdge | null };

function NodeLink({ name }: { name: string }) {
  return (
    <TextLink {...linkOf(name)} className="mono">
      {name}
    </TextLink>
  );
}

const columns: Column<Row>[] = [
  { header: words.columns.collection, render: ({ from }) => <NodeLink name={from} /> },
  {
    header: words.columns.field,
    render: ({ edge }) =>
      edge === null ? <Dim size="sm">{words.noRelations}</Dim> : <span className="mono">{edge.field}</span>,
  },
  { header: words.columns.target, render: ({ edge }) => edge && <NodeLink name={edge.to} /> },
  { header: words.columns.kind, render: ({ edge }) => edge && (edge.isRequired ? words.required : words.optional) },
];

function RelationTable({ graph, search }: { graph: Graph; search: string }) {
  const found = foundIn(graph, search);
  const nodes = graph.nodes.filter(({ name, isUsers }) => !isUsers && (found === null || found.has(name)));
  const rows = nodes.flatMap(({ name }): Row[] => {
    const edges = graph.edges.filter(({ from }) => from === name);
    return edges.length === 0
      ? [{ id: name, from: name, edge: null }]
      : edges.map((edge) => ({ id: edge.id, from: name, edge }));
  });
  return <DataTable label={words.views.table} columns={columns} rows={rows} rowKey={({ id }) => id} />;
}
