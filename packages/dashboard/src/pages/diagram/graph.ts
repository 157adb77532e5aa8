/** The graph of the collections: a node for each collection, an edge for each relation, and the positions of the nodes. */
import { graphlib, layout } from "@dagrejs/dagre";
import { type CollectionDefinition, type FieldType, USERS } from "@socle/protocol";
import type { LinkProps } from "@tanstack/react-router";

interface GraphField {
  readonly name: string;
  readonly type: FieldType;
  readonly isRequired: boolean;
  /** The collection that a relation points to. */
  readonly target: string | null;
}

export interface GraphNode {
  readonly name: string;
  /** The accounts of the service: without a definition, `users` is no collection, but relations point to `users`. */
  readonly isUsers: boolean;
  /** The shown fields: every relation, and other fields up to a bound, in the order of the definition. */
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
const headHeight = 38;
const rowHeight = 26;
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

/** A relation to a missing collection has no edge. */
export function graphOf(definitions: readonly Definition[]): Graph {
  const nodes = definitions.map(nodeOf);
  const names = new Set([...nodes.map(({ name }) => name), USERS]);
  const edges = nodes.flatMap(({ name: from, fields }) =>
    fields.flatMap(({ name: field, target, isRequired }) =>
      target === null || !names.has(target) ? [] : [{ id: `${from}.${field}`, from, field, to: target, isRequired }],
    ),
  );
  const isPointedTo = edges.some(({ to }) => to === USERS);
  const isDefined = definitions.some(({ name }) => name === USERS);
  const users: GraphNode = { name: USERS, isUsers: true, fields: [], hidden: 0 };
  return { nodes: isPointedTo && !isDefined ? [...nodes, users] : nodes, edges };
}

/** Rows below the head of a node: the shown fields, and a line for the hidden fields. */
function rowsOf({ isUsers, fields, hidden }: GraphNode): number {
  return isUsers ? 1 : fields.length + (hidden > 0 ? 1 : 0);
}

export function heightOf(node: GraphNode): number {
  const rows = rowsOf(node);
  return headHeight + rows * rowHeight + (rows > 0 ? bottom : 0);
}

/** In a graph with more nodes, edges to the accounts would pull all nodes into a tall column: the accounts get a place aside. */
const manyNodes = 12;
/** The width of the drawing divided by its height, about that of a window. */
const aspect = 1.6;

interface Cluster {
  readonly width: number;
  readonly height: number;
  readonly places: ReadonlyMap<string, Place>;
}

/** The names of the nodes in groups: relations connect the nodes of a group. */
function groupsOf(names: readonly string[], edges: readonly GraphEdge[]): string[][] {
  const neighbours = new Map<string, string[]>(names.map((name) => [name, []]));
  for (const { from, to } of edges) {
    neighbours.get(from)?.push(to);
    neighbours.get(to)?.push(from);
  }
  const seen = new Set<string>();
  const groups: string[][] = [];
  for (const start of names) {
    if (seen.has(start)) continue;
    seen.add(start);
    const group = [start];
    for (const name of group)
      for (const next of neighbours.get(name) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        group.push(next);
      }
    groups.push(group);
  }
  return groups;
}

/** A group from left to right in the direction of its relations. */
function clusterOf(group: readonly GraphNode[], edges: readonly GraphEdge[]): Cluster {
  const names = new Set(group.map(({ name }) => name));
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: gap, ranksep: 120 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of group) graph.setNode(node.name, { width: nodeWidth, height: heightOf(node) });
  for (const { from, to } of edges) if (from !== to && names.has(from) && names.has(to)) graph.setEdge(from, to);
  layout(graph);
  const corners = group.map((node) => {
    const { x, y } = graph.node(node.name);
    return { name: node.name, x: x - nodeWidth / 2, y: y - heightOf(node) / 2, bottom: y + heightOf(node) / 2 };
  });
  const left = Math.min(...corners.map(({ x }) => x));
  const top = Math.min(...corners.map(({ y }) => y));
  return {
    width: Math.max(...corners.map(({ x }) => x)) + nodeWidth - left,
    height: Math.max(...corners.map((corner) => corner.bottom)) - top,
    places: new Map(corners.map(({ name, x, y }) => [name, { x: x - left, y: y - top }])),
  };
}

/** The positions of the nodes: each group of related nodes is laid out alone, the groups form rows. */
export function placesOf({ nodes, edges }: Graph): ReadonlyMap<string, Place> {
  const isAside = nodes.length > manyNodes;
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const users = nodes.find(({ isUsers }) => isUsers);
  const names = nodes.filter(({ isUsers }) => !isUsers || !isAside).map(({ name }) => name);
  const tied = isAside ? edges.filter(({ to }) => to !== USERS) : edges;
  const clusters = groupsOf(names, tied)
    .map((group) =>
      clusterOf(
        group.flatMap((name) => byName.get(name) ?? []),
        tied,
      ),
    )
    .sort((a, b) => b.height - a.height);
  const area = clusters.reduce((sum, { width, height }) => sum + (width + gap * 2) * (height + gap), 0);
  const rowWidth = Math.max(Math.sqrt(area * aspect), ...clusters.map(({ width }) => width));
  const places = new Map<string, Place>();
  let [x, y, rowHeightNow, right] = [0, 0, 0, 0];
  for (const { width, height, places: inside } of clusters) {
    if (x > 0 && x + width > rowWidth) {
      y += rowHeightNow + gap;
      [x, rowHeightNow] = [0, 0];
    }
    for (const [name, place] of inside) places.set(name, { x: x + place.x, y: y + place.y });
    right = Math.max(right, x + width);
    x += width + gap * 2;
    rowHeightNow = Math.max(rowHeightNow, height);
  }
  if (isAside && users !== undefined) places.set(users.name, { x: right + 160, y: (y + rowHeightNow) / 2 });
  return places;
}

/** The page of a node. */
export function linkOf(name: string): LinkProps {
  return name === USERS ? { to: "/users" } : { to: "/collections/$name", params: { name } };
}

/** The names of the nodes with the searched text in their own name or in the name of a field; null without a search. */
export function foundIn({ nodes }: Graph, search: string): ReadonlySet<string> | null {
  const words = search.trim().toLowerCase();
  if (words === "") return null;
  const has = (name: string): boolean => name.toLowerCase().includes(words);
  return new Set(
    nodes.filter(({ name, fields }) => has(name) || fields.some((field) => has(field.name))).map(({ name }) => name),
  );
}
