/** Tests of the parts of documents: documents for readers with other scopes share the parts, and have nothing beyond their own. */
import { expect, test } from "bun:test";
import type { CollectionDefinition, Operation } from "@socle/protocol";
import { BoundedMap } from "../../base/kernel/index.ts";
import { tableWithoutService } from "../http/api-table.ts";
import { codesByStatus } from "../http/headers.ts";
import { describedRoutes } from "../http/route.ts";
import type { DocumentParts } from "./document.ts";
import { openApiText } from "./document.ts";

const definitions: CollectionDefinition[] = Array.from({ length: 6 }, (_, n) => ({
  name: `notes${n}`,
  fields: [
    { name: "text", type: "text" },
    { name: "next", type: "relation", collection: `notes${(n + 1) % 6}` },
  ],
  permissions: {},
})) as unknown as CollectionDefinition[];

/** The parts of a reader who may read these collections. */
function readerOf(numbers: readonly number[]): DocumentParts {
  const described = {
    operations: new Set<Operation>(["read"]),
    unread: new Set<string>(),
    unwritten: new Set<string>(),
    isForAdmins: false,
  };
  const collections = numbers.flatMap((n) => {
    const definition = definitions[n];
    return definition === undefined ? [] : [{ ...described, definition }];
  });
  return {
    version: "1",
    routes: tableWithoutService().flatMap(([tag, routes]) => describedRoutes(tag, routes)),
    codes: codesByStatus(),
    endpoints: [],
    readers: "users",
    collections,
  };
}

test("a document of known parts makes no part again, and is the document that is made anew", async () => {
  const cache = new BoundedMap<string, never>(1_000) as unknown as Parameters<typeof openApiText>[1];
  await openApiText(readerOf([0, 1, 2, 3, 4, 5]), cache);
  await openApiText(readerOf([0]), cache);
  const made = cache.size;
  // Six collections whose targets are known, the last of a row of collections without the target, the routes of the readers.
  expect(made).toBe(8);
  for (const numbers of [[0, 1, 2, 3, 4, 5], [0], []]) {
    const text = await openApiText(readerOf(numbers), cache);
    expect(text).toBe(await openApiText(readerOf(numbers), new BoundedMap(1_000)));
    const paths = Object.keys(JSON.parse(text).paths).filter((path) => path.startsWith("/api/notes"));
    expect(new Set(paths)).toEqual(
      new Set(numbers.flatMap((n) => ["", "/query", "/{id}"].map((end) => `/api/notes${n}${end}`))),
    );
    // The reader hears of no collection beyond the scopes, not even in a note.
    expect(text.includes("notes1")).toBe(numbers.includes(1));
  }
  expect(cache.size).toBe(made);
});
