/** Tests of the graph of collections and its layout. */
import { expect, test } from "bun:test";
import type { CollectionDefinition } from "@socle/protocol";
import { foundIn, graphOf, heightOf, nodeWidth, placesOf } from "./graph.ts";

const posts: CollectionDefinition = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "author", type: "relation", collection: "authors", required: true },
    { name: "parent", type: "relation", collection: "posts" },
    { name: "owner", type: "relation", collection: "users", owner: true },
    { name: "lost", type: "relation", collection: "nothing" },
  ],
};
const authors: CollectionDefinition = { name: "authors", fields: [{ name: "name", type: "string" }] };
const alone: CollectionDefinition = { name: "alone", fields: [] };

test("relations are edges, and users are a node if relations point to users", () => {
  const graph = graphOf([posts, authors, alone]);
  expect(graph.nodes.map(({ name }) => name)).toEqual(["posts", "authors", "alone", "users"]);
  expect(graph.edges).toEqual([
    { id: "posts.author", from: "posts", field: "author", to: "authors", isRequired: true },
    { id: "posts.parent", from: "posts", field: "parent", to: "posts", isRequired: false },
    { id: "posts.owner", from: "posts", field: "owner", to: "users", isRequired: false },
  ]);
  expect(graphOf([authors]).nodes).toHaveLength(1);
});

test("a large collection shows its relations and a bound of others", () => {
  const fields = Array.from({ length: 100 }, (_, i) => ({ name: `f${i}`, type: "string" as const }));
  const [node] = graphOf([
    { name: "big", fields: [...fields, { name: "r", type: "relation", collection: "big" }] },
  ]).nodes;
  expect(node?.fields).toHaveLength(12);
  expect(node?.fields.at(-1)?.name).toBe("r");
  expect(node?.hidden).toBe(89);
});

test("no node covers another, with 60 collections and a circle, and the layout is quick", () => {
  const many = Array.from(
    { length: 60 },
    (_, i): CollectionDefinition => ({
      name: `c${i}`,
      fields: [
        { name: "a", type: "string" },
        ...(i % 3 === 0 ? [] : [{ name: "next", type: "relation" as const, collection: `c${(i * 7) % 60}` }]),
      ],
    }),
  );
  const graph = graphOf(many);
  const start = performance.now();
  const places = placesOf(graph);
  expect(performance.now() - start).toBeLessThan(2_000);
  expect(places.size).toBe(60);
  const boxes = graph.nodes.map((node) => ({ ...(places.get(node.name) ?? { x: 0, y: 0 }), height: heightOf(node) }));
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1)) {
      const isApart =
        a.x + nodeWidth <= b.x || b.x + nodeWidth <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      expect(isApart).toBe(true);
    }
});

test("without collections the layout is empty", () => {
  expect(placesOf(graphOf([])).size).toBe(0);
});

test("a search finds names of collections and fields, without regard to case", () => {
  const graph = graphOf([posts, authors, alone]);
  expect(foundIn(graph, "  ")).toBeNull();
  expect([...(foundIn(graph, "AUTHOR") ?? [])]).toEqual(["posts", "authors"]);
  expect(foundIn(graph, "zzz")?.size).toBe(0);
});
