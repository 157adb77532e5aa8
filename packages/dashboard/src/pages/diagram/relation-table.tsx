/** The diagram as a table: a row for each relation, and a row for each collection without relations. */
import { type Column, DataTable, Dim, TextLink } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { foundIn, type Graph, type GraphEdge } from "./graph.ts";

const words = text.diagram;

/** A relation, or a collection without relations. */
type Row = Pick<GraphEdge, "id" | "from"> & { readonly edge: GraphEdge | null };

function NodeLink({ name }: { name: string }) {
  return name === "users" ? (
    <TextLink to="/users" className="mono">
      {name}
    </TextLink>
  ) : (
    <TextLink to="/collections/$name" params={{ name }} className="mono">
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

export function RelationTable({ graph, search }: { graph: Graph; search: string }) {
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
