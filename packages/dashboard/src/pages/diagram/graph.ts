/** The graph of the collections: a node each with its fields, an edge for each relation, and where the nodes stand. */
import { graphlib, layout } from "@dagrejs/dagre";
import type { CollectionDefinition, FieldType } from "@socle/protocol";

export interface GraphField {
  readonly name: string;
  readonly type: FieldType;
  readonly isRequired: boolean;
  /** The collection that a relation points to. */
  readonly target: string | null;
}

export interface GraphNode {
  readonly name: string;
  /** The accounts of the service: no collection, but relations point to them. */
  readonly isUsers: boolean;
  /** Those that are shown: every relation, and others up to a bound, in the order of the definition. */
  readonly fields: readonly GraphField[];
  readonly hidden: number;
}

export interface GraphEdge {
  readonly id: string;
  readonly from: string;
  readonly field: string;
  readonly to: string;
  readonly isRequired: boolean;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export interface Place {
  readonly x: number;
  readonly y: number;
}

export const nodeWidth = 232;
export const headHeight = 38;
export const rowHeight = 26;
const bottom = 6;
const shownFields = 12;
const gap = 40;

type Definition = Pick<CollectionDefinition, "name" | "fields">;

function nodeOf({ name, fields }: Definition): GraphNode {
  const all = fields.map(
    (field): GraphField => ({
      name: field.name,
      type: field.type,
      isRequired: field.required === true,
      target: field.type === "relation" ? (field.collection ?? null) : null,
    }),
  );
  let room = Math.max(0, shownFields - all.filter(({ target }) => target !== null).length);
  const shown = all.filter(({ target }) => {
    if (target !== null) return true;
    room -= 1;
    return room >= 0;
  });
  return { name, isUsers: false, fields: shown, hidden: all.length - shown.length };
}

/** A relation to a collection that is not there has no edge. */
export function graphOf(definitions: readonly Definition[]): Graph {
  const nodes = definitions.map(nodeOf);
  const names = new Set([...nodes.map(({ name }) => name), "users"]);
  const edges = nodes.flatMap(({ name: from, fields }) =>
    fields.flatMap(({ name: field, target, isRequired }) =>
      target === null || !names.has(target) ? [] : [{ id: `${from}.${field}`, from, field, to: target, isRequired }],
    ),
  );
  const isPointedTo = edges.some(({ to }) => to === "users");
  const users: GraphNode = { name: "users", isUsers: true, fields: [], hidden: 0 };
  return { nodes: isPointedTo ? [...nodes, users] : nodes, edges };
}

/** Rows below the head of a node: its fields, or the line that stands for those that are not shown. */
export function rowsOf({ isUsers, fields, hidden }: GraphNode): number {
  return isUsers ? 1 : fields.length + (hidden > 0 ? 1 : 0);
}

export function heightOf(node: GraphNode): number {
  const rows = rowsOf(node);
  return headHeight + rows * rowHeight + (rows > 0 ? bottom : 0);
}

/** Nodes with relations from left to right in the direction of their edges; the others in a grid below. */
export function placesOf({ nodes, edges }: Graph): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  const linked = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: gap, ranksep: 120 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes)
    if (linked.has(node.name)) graph.setNode(node.name, { width: nodeWidth, height: heightOf(node) });
  for (const { from, to } of edges) if (from !== to) graph.setEdge(from, to);
  layout(graph);
  let [lowest, widest] = [0, 0];
  for (const node of nodes) {
    if (!linked.has(node.name)) continue;
    const { x, y } = graph.node(node.name);
    const height = heightOf(node);
    places.set(node.name, { x: x - nodeWidth / 2, y: y - height / 2 });
    lowest = Math.max(lowest, y + height / 2);
    widest = Math.max(widest, x + nodeWidth / 2);
  }
  const alone = nodes.filter(({ name }) => !linked.has(name));
  const fitting = Math.floor((widest + gap) / (nodeWidth + gap));
  const columns = Math.max(1, fitting, Math.ceil(Math.sqrt(alone.length)));
  let top = places.size === 0 ? 0 : lowest + gap * 2;
  for (let start = 0; start < alone.length; start += columns) {
    const row = alone.slice(start, start + columns);
    for (const [i, { name }] of row.entries()) places.set(name, { x: i * (nodeWidth + gap), y: top });
    top += Math.max(...row.map(heightOf)) + gap;
  }
  return places;
}

/** The names of the nodes that a search finds, by their name or a field's; null without a search. */
export function foundIn({ nodes }: Graph, search: string): ReadonlySet<string> | null {
  const words = search.trim().toLowerCase();
  if (words === "") return null;
  const has = (name: string): boolean => name.toLowerCase().includes(words);
  return new Set(
    nodes.filter(({ name, fields }) => has(name) || fields.some((field) => has(field.name))).map(({ name }) => name),
  );
}
