import { expect, test } from "bun:test";
import type { FieldDefinition } from "@socle/protocol";
import { completionsAt, errorPosition } from "./completion.ts";
import { fieldOfPath, schemaOf } from "./schema.ts";

const schemas: { [name: string]: FieldDefinition[] } = {
  posts: [
    { name: "title", type: "string" },
    { name: "published", type: "boolean" },
    { name: "due", type: "datetime" },
    { name: "meta", type: "json" },
    { name: "author", type: "relation", collection: "authors" },
    { name: "editors", type: "relation", collection: "authors", multiple: true },
  ],
  authors: [
    { name: "name", type: "string" },
    { name: "post", type: "relation", collection: "posts" },
    { name: "account", type: "relation", collection: "users" },
    { name: "rank", type: "string", regex: "^(chief|writer)$" },
  ],
};
const schema = schemaOf(Object.entries(schemas).map(([name, fields]) => ({ name, fields })));
const at = (before: string): string[] | null =>
  completionsAt(before, schema, "posts")?.options.map(({ label }) => label) ?? null;

test("fields at the begin of a comparison", () => {
  for (const before of ["", "ti", "title = 1 && ", "title = 1 || pub", "!(", "("])
    expect(at(before)).toContain("published");
  expect(at("")).toContain("createdAt");
});

test("paths go through relations, five at most, and through no other field", () => {
  expect(at("author.")).toContain("author.name");
  expect(at("author.account.")).toContain("author.account.email");
  expect(at("author.post.author.")).toContain("author.post.author.name");
  expect(at("author.post.author.post.author.post.")).toEqual([]);
  expect(at("title.")).toEqual([]);
  expect(at("gone.")).toEqual([]);
  expect(at("__proto__.")).toEqual([]);
});

test("operators that suit the field", () => {
  expect(at("published ")).toEqual(["=", "!=", "in"]);
  expect(at("due ")).not.toContain("~");
  expect(at("title ")).toContain("~");
});

test("values that suit the field", () => {
  expect(at("published = ")).toEqual(["true", "false", "null"]);
  expect(at("due > ")).toContain("@now");
  expect(at("author = @")).toContain("@user.id");
  expect(at("published in (true, ")).toContain("false");
});

test("a comparison is followed by && and ||, and an open text by nothing", () => {
  expect(at('title = "a" ')).toEqual(["&&", "||"]);
  expect(at("published in (true) ")).toEqual(["&&", "||"]);
  expect(at('title = "a')).toBeNull();
});

test("paths back: to their field, into their brackets, and onwards", () => {
  expect(at("")).toContain("authors(post)");
  expect(at("author.")).toContain("author.posts(author)");
  expect(at("authors(")).toEqual(["post)"]);
  expect(at("authors(post)")).toEqual(["[", ".", "&&", "||"]);
  expect(at("authors(post).")).toContain("account");
  expect(at("authors(post).acc")).toContain("account");
  expect(at("authors(post)[")).toContain("account");
  expect(at("authors(post)[")).not.toContain("published");
  expect(at("authors(post)[account = ")).toContain("@user.id");
  expect(at("authors(post)[account = @user.id && ra")).toContain("rank");
  expect(at("authors(post)[rank = ")).toEqual(['"chief"', '"writer"', "null", "@user.id", "@user.email", "@record."]);
  expect(at("authors(post)[rank = 'chief'] ")).toEqual(["[", ".", "&&", "||"]);
  expect(at("authors(post)[rank = 'chief'] && ")).toContain("published");
  expect(at("author.posts(author).authors(post).account.")).toContain("account.role");
});

test("the record itself only in brackets", () => {
  expect(at("editors[")).toContain("@record.");
  expect(at("editors[")).toContain("rank");
  expect(at("editors[name = ")).toContain("@record.");
  expect(at("editors[name = @record.")).toContain("@record.title");
  expect(at("editors[name = @record.")).not.toContain("@record.rank");
  expect(at("editors[post = @record.author.")).toContain("@record.author.rank");
  expect(at("editors[post = @record.author.post ")).toEqual(["&&", "||"]);
  expect(at("editors[@record.title ")).toContain("~");
  expect(at("editors[@record.editors[")).toContain("rank");
  expect(at("")).not.toContain("@record.");
  expect(at("title = ")).not.toContain("@record.");
  expect(at("editors[@record ")).toBeNull();
});

test("the path and the condition of every", () => {
  expect(at("")).toContain("every(");
  expect(at("every(")).toContain("editors");
  expect(at("every(")).not.toContain("every(");
  expect(at("every(editors ")).toEqual(["[", ".", ","]);
  expect(at("every(authors(post) ")).toEqual(["[", ".", ","]);
  expect(at("every(authors(")).toEqual(["post)"]);
  expect(at("every(editors, ")).toContain("rank");
  expect(at("every(editors, ")).toContain("@record.");
  expect(at("every(editors, ")).not.toContain("published");
  expect(at("every(editors[name = 'a'], rank ")).toContain("~");
  expect(at("every(editors, rank = ")).toContain('"chief"');
  expect(at("every(editors, post = @record.")).toContain("@record.title");
  expect(at("every(editors, rank = 'chief') ")).toEqual(["&&", "||"]);
  expect(at("every(editors, rank = 'chief') && ")).toContain("published");
  expect(at("every(editors, rank = 'chief') && ")).not.toContain("@record.");
  expect(at("every(title, ")).toBeNull();
});

test("functions, times and the caller", () => {
  expect(at("")).toContain("lower(");
  expect(at("lower(")).toContain("title");
  expect(at("lower(title) ")).toContain("~");
  expect(at("length(title) ")).not.toContain("~");
  expect(at("distance(")).toContain("title");
  expect(at("distance(place, 52.5")).toBeNull();
  expect(at("distance(place, 52.5, 13.4) ")).toContain("<");
  expect(at("distance(place, 52.5, 13.4) ")).not.toContain("~");
  expect(at("distance(place, 52.5, 13.4) < 5km ")).toEqual(["&&", "||"]);
  expect(at("due < @now - 7d ")).toEqual(["&&", "||"]);
  expect(at("due < ")).toContain("@now - 7d");
  expect(at("meta.tags[*] ")).toContain("=");
  expect(at("@user.role = 'admin' || ")).toContain("title");
  expect(at(") ")).toBeNull();
});

test("the type at the end of a path", () => {
  expect(fieldOfPath(schema, "posts", "author.name")?.type).toBe("string");
  expect(fieldOfPath(schema, "posts", "meta.a.b")?.type).toBe("json");
  expect(fieldOfPath(schema, "posts", "author.none")?.type).toBeUndefined();
  expect(fieldOfPath(schema, "posts", "")?.type).toBeUndefined();
});

test("the position of a mistake", () => {
  expect(errorPosition('"filter": at position 7: "x" means nothing here')).toBe(6);
  expect(errorPosition("no position")).toBeNull();
});
