/** Definitions of views: the derived fields, the refusals, and the views that follow changes of the collections. */
import { describe, expect, test } from "bun:test";
import type { CollectionEntry, FieldDefinition } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { project } from "../../../test/project.ts";

interface Items {
  readonly items: readonly object[];
}
const text = (name: string, more: object = {}): FieldDefinition => ({ name, type: "string", ...more });
const collections = [
  { name: "authors", fields: [text("name"), { name: "owner", type: "relation", collection: "users", owner: true }] },
  {
    name: "posts",
    fields: [
      text("title"),
      text("secret", { permissions: { read: "admin" } }),
      { name: "points", type: "integer" },
      { name: "isOpen", type: "boolean" },
      { name: "labels", type: "string", multiple: true },
      { name: "author", type: "relation", collection: "authors" },
      { name: "cover", type: "file" },
    ],
  },
];

/** A view of the query. */
const view = (query: string, more: object = {}) => ({ name: "board", query, ...more });

describe("a view", async () => {
  const api = await openApi({ collections });
  const token = await api.admin();
  const make = (body: object) => api.request<CollectionEntry>("POST", "/api/admin/collections", { body, token });
  const refusal = async (body: object): Promise<string> => {
    const { status, body: answer } = await api.request("POST", "/api/admin/collections", { body, token });
    expect([status, body]).toEqual([400, body]);
    return String(answer["error"]?.["message"]);
  };

  test("has the fields of its query: of collections, of CASTs, ids as relations, the owner", async () => {
    const query = `WITH a AS (SELECT * FROM authors)
      SELECT p.id, p.createdAt, p.updatedAt AS changed, p.title, p.isOpen, p.labels, p.cover, a.id AS author, a.owner,
        CAST(count(*) AS INTEGER) AS n, CAST(avg(p.points) AS REAL) AS mean, CAST(lower(p.title) AS TEXT) AS low,
        (SELECT createdAt FROM posts ORDER BY createdAt DESC LIMIT 1) AS newest
      FROM posts p LEFT JOIN a ON a.id = p.author GROUP BY p.id;`;
    const { status, body } = await make(view(query));
    expect([status, body.definition.reads]).toEqual([201, ["authors", "posts"]]);
    expect(body.fields).toEqual([
      { name: "createdAt", type: "datetime" },
      { name: "changed", type: "datetime" },
      { name: "title", type: "string" },
      { name: "isOpen", type: "boolean" },
      { name: "labels", type: "json" },
      { name: "cover", type: "file" },
      { name: "author", type: "relation", collection: "authors" },
      { name: "owner", type: "relation", collection: "users", owner: true },
      { name: "n", type: "integer" },
      { name: "mean", type: "float" },
      { name: "low", type: "text" },
      { name: "newest", type: "datetime" },
    ]);
    const again = await api.request<CollectionEntry>("PUT", "/api/admin/collections/board", {
      body: { ...body, permissions: { read: "authenticated" } },
      token,
    });
    expect([again.status, again.body.fields, again.body.permissions]).toEqual([
      200,
      body.fields,
      { read: "authenticated" },
    ]);
    // Neither the definition nor the query is asked for any data.
    expect((await api.request("DELETE", "/api/admin/collections/board", { token })).status).toBe(204);
    expect((await api.request<Items>("GET", "/api/admin/dropped", { token })).body.items).toEqual([]);
  });

  test.each<[string, object, string]>([
    ["no id", view("SELECT title FROM posts"), 'the column "id" is missing'],
    ["an id that is no text", view("SELECT points AS id FROM posts"), '"id" must be a text'],
    ["an id without a type", view("SELECT id || 'x' AS id FROM posts"), '"id" must be a text'],
    ["a column without a name", view("SELECT id, count(*) FROM posts"), 'called "count(*)", which is no name'],
    ["a column without a type", view("SELECT id, count(*) AS n FROM posts"), 'column "n" has no type; write CAST(… AS'],
    ["two columns of a name", view("SELECT id, title, points AS title FROM posts"), 'two columns are called "title"'],
    ["a literal as a name", view("SELECT id, title AS null FROM posts"), "query"],
    ["a time that is none", view("SELECT id, title AS createdAt FROM posts"), '"createdAt" must be a time'],
    [
      "an ambiguous column",
      view("SELECT id FROM posts, authors"),
      "ambiguous column name: id; write the name of a table",
    ],
    ["an unknown table", view("SELECT id FROM post"), 'no such table: post; did you mean "posts"?'],
    ["an unknown column", view("SELECT id, titel FROM posts"), "no such column: titel"],
    ["the users", view("SELECT id FROM users"), "no such table: users; a view reads collections, and not the users"],
    ["the table of users", view("SELECT id, password AS p FROM _users"), "no such table: _users"],
    ["the events", view("SELECT id FROM _events"), "no such table: _events"],
    ["the schema", view("SELECT name AS id FROM sqlite_master"), "it reads tables of SQLite"],
    [
      "the schema beside",
      view("SELECT id FROM posts WHERE (SELECT count(*) FROM sqlite_schema) > 0"),
      "tables of SQLite",
    ],
    ["a pragma", view("SELECT CAST(name AS TEXT) AS id FROM pragma_table_info('x')"), 'the text has "pragma_'],
    ["a schema by name", view("SELECT id FROM main.posts"), "write the name of the collection alone"],
    ["a field with a read rule", view("SELECT id, secret FROM posts"), '"posts.secret" has a read rule of its own'],
    [
      "a hidden field in a condition",
      view("SELECT id FROM posts p WHERE p.secret > 'a'"),
      "has a read rule of its own",
    ],
    ["the row's number", view("SELECT id FROM posts ORDER BY rowid"), "no such column: rowid"],
    ["a parameter", view("SELECT id FROM posts WHERE id = ?"), "parameters are not allowed"],
    ["a write", view("DELETE FROM posts RETURNING id"), "it must start with SELECT or WITH"],
    ["a write behind WITH", view("WITH a AS (SELECT 1) DELETE FROM posts"), "the SQL only reads: DELETE is refused"],
    ["several statements", view("SELECT id FROM posts; DROP TABLE posts"), "a single statement is allowed"],
    ["an end of brackets", view("SELECT id FROM posts) SELECT * FROM (SELECT id FROM posts"), "syntax error"],
    [
      "recursion",
      view("WITH RECURSIVE n(id) AS (SELECT 'a' UNION ALL SELECT id FROM n) SELECT CAST(id AS TEXT) AS id FROM n"),
      "a recursive query may never end",
    ],
    ["itself", view("SELECT id FROM board"), "no such table: board"],
    ["no text", view("", { query: 5 }), '"query" must be a SELECT'],
    ["a query that is too long", view(`SELECT id FROM posts --${"x".repeat(20_000)}`), "at most 16384 characters"],
    [
      "a rule for writes",
      view("SELECT id FROM posts", { permissions: { update: "admin" } }),
      "means nothing for a view",
    ],
    ["an index", view("SELECT id FROM posts", { indexes: [["id"]] }), '"indexes" means nothing for a view'],
    ["a search", view("SELECT id, title FROM posts", { search: ["title"] }), '"search" means nothing for a view'],
    ["a trash", view("SELECT id FROM posts", { trash: "30d" }), '"trash" means nothing for a view'],
    [
      "an owner rule without an owner",
      view("SELECT id, title FROM posts", { permissions: { read: "owner" } }),
      "the query selects no owner",
    ],
    [
      "two owners",
      view("SELECT p.id, p._owner AS mine, a.owner FROM posts p, authors a"),
      '"mine" and "owner" are owners',
    ],
    [
      "a rule about a field that the view lacks",
      view("SELECT id FROM posts", { permissions: { read: 'title = "a"' } }),
      'no field "title"',
    ],
    ["users as a view", { ...view("SELECT id FROM posts"), name: "users" }, "users"],
  ])("with %s is refused", async (_, definition, message) => {
    expect(await refusal(definition)).toContain(message);
    expect((await api.request("GET", "/api/admin/collections/board", { token })).status).toBe(404);
  });

  test("reads no view, is no target of a relation, and becomes no collection", async () => {
    expect((await make(view("SELECT id, title FROM posts"))).status).toBe(201);
    expect(await refusal({ name: "other", query: "SELECT id FROM board" })).toContain("and no views");
    expect(await refusal({ name: "notes", fields: [{ name: "to", type: "relation", collection: "board" }] })).toContain(
      '"board" is a view, to which no record can point',
    );
    expect(await refusal({ name: "notes", fields: [], permissions: { read: "board(title).id = id" } })).toContain(
      'no collection "board"',
    );
    const change = (name: string, body: object) =>
      api.request("PUT", `/api/admin/collections/${name}`, { body, token });
    for (const [name, body] of [
      ["board", { query: null, fields: [text("title")] }],
      ["posts", { query: "SELECT id FROM authors" }],
    ] as const) {
      const { status, body: answer } = await change(name, body);
      expect([status, String(answer["error"]?.["message"])]).toEqual([
        400,
        expect.stringMatching(/cannot become each other|means nothing/),
      ]);
    }
    expect((await api.request("DELETE", "/api/admin/collections/board", { token })).status).toBe(204);
  });

  test("a UNION has the types text, integer and float alone", async () => {
    const { body } = await make(
      view("SELECT id, title, isOpen, createdAt AS at FROM posts UNION ALL SELECT id, name, 1, createdAt FROM authors"),
    );
    expect(body.fields?.map(({ name, type }) => [name, type])).toEqual([
      ["title", "text"],
      ["isOpen", "integer"],
      ["at", "text"],
    ]);
    expect((await api.request("DELETE", "/api/admin/collections/board", { token })).status).toBe(204);
  });
});

test("a view follows other types, and a change that takes a column of a view is refused", async () => {
  const notes = { name: "notes", fields: [text("title"), { name: "n", type: "integer" }] };
  const board = { name: "board", query: "SELECT id, title, n FROM notes" };
  const world = await project(notes, board);
  await world.add("notes", { title: "a", n: 1 });
  const token = await world.api.admin();
  const { request } = world.api;
  const change = async (name: string, body: object) => {
    const answer = await request("PUT", `/api/admin/collections/${name}`, { body, token });
    return [answer.status, answer.body["error"]?.["message"]];
  };
  const float = { name: "n", type: "float", convertedFrom: "integer" };
  expect(await change("notes", { fields: [text("title"), float] })).toEqual([200, undefined]);
  const entry = (await request<CollectionEntry>("GET", "/api/admin/collections/board", { token })).body;
  expect(entry.fields).toEqual([text("title"), { name: "n", type: "float" }]);

  const lost = [
    400,
    expect.stringContaining('the view "board" reads what the change takes: "query": no such column: n'),
  ];
  expect(await change("notes", { fields: [text("title")] })).toEqual(lost);
  expect(await change("notes", { fields: [text("title"), { name: "m", type: "float", renamedFrom: "n" }] })).toEqual(
    lost,
  );
  expect(await change("notes", { fields: [text("title"), { ...float, permissions: { read: "admin" } }] })).toEqual([
    400,
    expect.stringContaining('"notes.n" has a read rule of its own'),
  ]);
  expect(await change("notes", { name: "papers", renamedFrom: "notes" })).toEqual([
    400,
    expect.stringContaining('the view "board" reads what the change takes: "query": no such table: notes'),
  ]);
  const dropped = await request("DELETE", "/api/admin/collections/notes", { token });
  expect([dropped.status, String(dropped.body["error"]?.["message"])]).toEqual([
    400,
    expect.stringContaining("no such table: notes"),
  ]);
  expect(await world.all("board")).toHaveLength(1);

  // The collection and the view in a single change, and the view under another name.
  const schema = {
    collections: [
      { name: "papers", renamedFrom: "notes", fields: [text("title"), { name: "m", type: "float", renamedFrom: "n" }] },
      { name: "wall", renamedFrom: "board", query: "SELECT id, title, m AS n FROM papers" },
    ],
  };
  const path = "/api/admin/schema.json?dryRun=true";
  const plan = await request<{ changes: unknown[] }>("PUT", path, { body: schema, token });
  expect(plan.body.changes).toContainEqual({
    collection: "wall",
    action: "update",
    steps: [
      { step: "renameCollection", from: "board", to: "wall", records: 0 },
      { step: "query", records: 0 },
    ],
    records: 0,
  });
  expect((await request("PUT", "/api/admin/schema.json", { body: schema, token })).status).toBe(200);
  expect((await request("GET", "/api/wall")).body["items"]).toMatchObject([{ title: "a", n: 1 }]);
  expect((await request("GET", "/api/board")).status).toBe(404);
  expect((await request<Items>("GET", "/api/admin/dropped", { token })).body.items).toEqual([]);
});

test("the files of a view and of its collection change together, and a start without a change keeps both", async () => {
  const notes = { name: "notes", fields: [text("title")] };
  const world = await project(notes, { name: "board", query: "SELECT id, title FROM notes" });
  await world.add("notes", { title: "a" });
  expect(await world.all("board")).toEqual([{ title: "a" }]);
  await world.restart(notes, { name: "board", query: "SELECT id, title FROM notes" });
  expect(await world.all("board")).toEqual([{ title: "a" }]);
  const closed = { name: "board", query: "SELECT id, head FROM notes", permissions: { read: "authenticated" } };
  const next = { name: "notes", fields: [text("head", { renamedFrom: "title" })] };
  const { request, log } = await world.restart(next, closed);
  expect((await request("GET", "/api/board")).status).toBe(401);
  const token = await world.api.admin();
  expect((await request("GET", "/api/board", { token })).body["items"]).toMatchObject([{ head: "a" }]);
  expect(log.join("\n")).not.toContain("differs");
  await expect(
    world.restart({ name: "notes", fields: [text("title", { renamedFrom: "head" })] }, closed),
  ).rejects.toThrow(/no such column: head/);
});
