/** Tests of the reader of Supabase: lines of COPY, types of columns, policies, accounts, and dumps that are refused. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/kit.ts";
import type { MoveSource, Oddity } from "../source.ts";
import { itemsOf } from "./arrays.ts";
import { cellsOf, openAfter } from "./dump.ts";
import { readSupabase } from "./read.ts";

const uid = "a0000000-0000-4000-8000-000000000001";
const users = `
CREATE TABLE auth.users (
    id uuid NOT NULL,
    email text
);
CREATE TABLE public.profiles (
    id uuid NOT NULL,
    name text
);
COPY auth.users (id, email) FROM stdin;
${uid}	ada@harbour.example
\\.
COPY public.profiles (id, name) FROM stdin;
\\.
ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_id_fkey FOREIGN KEY (id) REFERENCES auth.users(id) ON DELETE CASCADE;
`;

function dumpOf(sql: string): string {
  return `--\n-- PostgreSQL database dump\n--\n\nSET client_encoding = 'UTF8';\n${sql}\n--\n-- PostgreSQL database dump complete\n--\n`;
}

async function sourceOf(dump: string | Uint8Array): Promise<MoveSource & Disposable> {
  const folder = temporaryFolder();
  const path = join(folder, "dump.sql");
  await Bun.write(path, dump);
  const choices = {
    ...{ dangling: null, clearsFiles: false, firstKeepsEmail: false },
    ...{ emails: new Map<string, string>(), issuers: new Map<string, string>() },
  };
  try {
    return await readSupabase(path, { choices, work: join(folder, "work"), files: null });
  } catch (thrown) {
    expect(existsSync(join(folder, "work"))).toBe(false);
    throw thrown;
  }
}

test("a line of COPY: escapes, null, and another number of cells", () => {
  expect(cellsOf("a\\tb\tc\\nd\\\\\\b\\f\\r\\v\t\\N\t\t\\\\N\tit's", 6)).toEqual([
    ...["a\tb", "c\nd\\\b\f\r\v", null, "", "\\N", "it's"],
  ]);
  expect(cellsOf("a\tb", 3)).toBeNull();
  expect(cellsOf("a\tb", 1)).toBeNull();
});

test.each([
  ["{}", []],
  ['{a,"b c","","NULL",NULL}', ["a", "b c", "", "NULL", null]],
  ['{"a \\"q\\" \\\\ b","{,}"}', ['a "q" \\ b', "{,}"]],
  [
    "{{1,2},{3,NULL}}",
    [
      ["1", "2"],
      ["3", null],
    ],
  ],
  ["[0:1]={x,y}", ["x", "y"]],
])("the array %s", (text, items) => {
  expect(itemsOf(text)).toEqual(items as never);
});

test("a text that is no array is refused", () => {
  for (const text of ["", "a", "{a", "a}", "{a}}"]) expect(() => itemsOf(text)).toThrow(SyntaxError);
});

test("a statement ends outside of quotes alone", () => {
  expect(openAfter("select 'a; -- b", null)).toBe("'");
  expect(openAfter("x' ; \"y", "'")).toBe('"');
  expect(openAfter("it''s'", "'")).toBeNull();
  expect(openAfter("AS $_$ select '$$;'", null)).toBe("$_$");
  expect(openAfter("$$ ' $_$;", "$_$")).toBeNull();
  expect(openAfter("a -- it's", null)).toBeNull();
  expect(openAfter("E'it\\'s; -- \\\\", null)).toBe("E'");
  expect(openAfter("''\\' ' ; \"y", "E'")).toBe('"');
  expect(openAfter("'", "E'")).toBeNull();
});

describe("types of columns", () => {
  const fields = async (columns: string, { copied = "", more = "" } = {}) => {
    const names = [...columns.matchAll(/^\s*(?:"([^"]+)"|(\w+)) /gm)].map(([, quoted, name]) => quoted ?? name);
    const row = copied === "" ? "" : `${copied}\n`;
    using source = await sourceOf(
      dumpOf(
        `CREATE TYPE public.mood AS ENUM (\n    'calm',\n    'it''s rough'\n);\n${users}CREATE TABLE public.things (\n    id bigint NOT NULL,\n${columns}\n);\nCOPY public.things (id, ${names.map((name) => `"${name}"`).join(", ")}) FROM stdin;\n${row}\\.\nALTER TABLE ONLY public.things\n    ADD CONSTRAINT things_pkey PRIMARY KEY (id);\n${more}`,
      ),
    );
    const table = source.tables.find(({ from }) => from === "things");
    const odd: [Oddity, string][] = [];
    const values = [...(table?.rows() ?? [])].map((each) =>
      each.values(table?.definition ?? { name: "", fields: [] }, (oddity, field) => odd.push([oddity, field])),
    );
    const found = source.findings.map(({ kind, text }) => `${kind}: ${text}`);
    return {
      fields: table?.definition.fields.slice(0, -1) ?? [],
      indexes: table?.definition.indexes,
      values,
      odd,
      found,
    };
  };

  test.each([
    ["a text NOT NULL", { type: "text", required: true }],
    ["a character varying(20) DEFAULT 'x'::character varying", { type: "string", max: 20, default: "x" }],
    ["a integer DEFAULT '-1'::integer NOT NULL", { type: "integer", required: true, default: -1 }],
    ["a smallint DEFAULT 0", { type: "integer", default: 0 }],
    ["a numeric(10,2) DEFAULT 1.5", { type: "float", default: 1.5 }],
    ["a double precision DEFAULT (2)::double precision", { type: "float", default: 2 }],
    ["a boolean DEFAULT false NOT NULL", { type: "boolean", required: true, default: false }],
    ["a timestamp with time zone DEFAULT now()", { type: "datetime", default: "@now" }],
    ["a date DEFAULT '2024-01-31'::date", { type: "datetime", default: "2024-01-31T00:00:00.000Z" }],
    ["a jsonb DEFAULT '{\"b\": 1}'::jsonb", { type: "json", default: { b: 1 } }],
    ["a public.mood DEFAULT 'calm'::public.mood", { type: "string", values: ["calm", "it's rough"], default: "calm" }],
    ["a uuid DEFAULT gen_random_uuid()", { type: "string" }],
    ["a text[] DEFAULT '{}'::text[] NOT NULL", { type: "string", multiple: true }],
    ["a integer[]", { type: "json" }],
    ["a interval", { type: "text" }],
  ])("%s", async (column, expected) => {
    expect((await fields(`    ${column}`)).fields).toEqual([{ name: "a", ...expected }] as never);
  });

  test("bytes, search vectors and computed columns are left, an unknown type is told", async () => {
    const { fields: found, found: told } = await fields("    a bytea,\n    b tsvector,\n    c inet");
    expect(found).toEqual([{ name: "c", type: "text" }]);
    expect(told).toContain("left: things.a: bytes (bytea) are no value of a field: store the bytes as files");
    expect(told).toContain('left: things.b: name the searched fields in "search" of the definition');
    expect(told).toContain("other: things.c: is a text here, because Socle has no type inet");
  });

  test("foreign keys are relations, and the deletion of the target has the same effect", async () => {
    const key = (column: string, rest: string) =>
      `ALTER TABLE ONLY public.things\n    ADD CONSTRAINT k_${column} FOREIGN KEY (${column}) REFERENCES ${rest};\n`;
    const more = `${key("a", "auth.users(id) ON DELETE CASCADE")}${key("b", "public.profiles(id) ON DELETE SET NULL DEFERRABLE")}${key("c", "public.things(id)")}${key("d", "public.profiles(name)")}${key("e", "auth.users(id) ON UPDATE CASCADE ON DELETE SET NULL")}`;
    const columns = ["    a uuid", "b uuid", "c bigint", "d text", "e uuid NOT NULL"].join(",\n    ");
    const { fields: found, values, odd } = await fields(columns, { copied: `1\t${uid}\t\\N\t1\tx\t${uid}`, more });
    expect(found).toEqual([
      { name: "a", type: "relation", collection: "users", onDelete: "cascade" },
      { name: "b", type: "relation", collection: "profiles", onDelete: "clear" },
      { name: "c", type: "relation", collection: "things", onDelete: "restrict" },
      { name: "d", type: "text" },
      { name: "e", type: "relation", required: true, collection: "users", onDelete: "restrict" },
    ]);
    const user = expect.stringMatching(/^usr_/);
    expect(values).toEqual([{ a: user, b: null, c: expect.stringMatching(/^rec_/), d: "x", e: user, sourceId: "1" }]);
    expect(odd).toEqual([]);
  });

  test("unique, indexes, and indexes without a counterpart", async () => {
    const more = [
      "ALTER TABLE ONLY public.things\n    ADD CONSTRAINT u1 UNIQUE (a);",
      "ALTER TABLE ONLY public.things\n    ADD CONSTRAINT u2 UNIQUE (b, c);",
      'CREATE INDEX i1 ON public.things USING btree ("Odd Name" DESC NULLS LAST, a);',
      "CREATE UNIQUE INDEX i2 ON public.things USING btree (c);",
      "CREATE UNIQUE INDEX i3 ON public.things USING btree (lower(c));",
      "CREATE UNIQUE INDEX i4 ON public.things USING btree (b) WHERE (c IS NOT NULL);",
      "CREATE INDEX i5 ON public.things USING gin (d);",
    ].join("\n");
    const columns = '    a extensions.citext,\n    b text,\n    c text,\n    "Odd Name" text,\n    d jsonb';
    const { fields: found, indexes, found: told } = await fields(columns, { more });
    expect(found).toEqual([
      { name: "a", type: "string", unique: "nocase" },
      { name: "b", type: "text" },
      { name: "c", type: "text", unique: true },
      { name: "Odd_Name_", type: "text" },
      { name: "d", type: "json" },
    ]);
    expect(indexes).toEqual([{ fields: ["b", "c"], unique: true }, ["Odd_Name_", "a"]]);
    expect(told.filter((text) => text.includes("no counterpart"))).toEqual([
      "other: CREATE UNIQUE INDEX i3 ON public.things USING btree (lower(c)); has no counterpart: check the rule in a hook",
      "other: CREATE UNIQUE INDEX i4 ON public.things USING btree (b) WHERE (c IS NOT NULL); has no counterpart: check the rule in a hook",
      "other: CREATE INDEX i5 ON public.things USING gin (d); has no counterpart: the index is only for speed",
    ]);
  });

  test("values that no field of the type has: told, and never wrong in silence", async () => {
    const columns =
      "    a bigint,\n    b text[],\n    c numeric,\n    d real,\n    e timestamp with time zone,\n    f bigint";
    const copied =
      "1\t9007199254740993\t{x,x}\t0.12345678901234567\tInfinity\t0044-03-15 00:00:00+00 BC\t9007199254740991";
    const { fields: found, values, odd } = await fields(columns, { copied });
    expect(found.map(({ type }) => type)).toEqual(["string", "json", "float", "float", "datetime", "integer"]);
    expect(values).toEqual([
      {
        ...{ a: "9007199254740993", b: ["x", "x"], c: Number("0.12345678901234567"), d: null, e: null },
        ...{ f: 9007199254740991, sourceId: "1" },
      },
    ]);
    expect(odd).toEqual([
      ["a number that no double holds, which is rounded", "c"],
      ["a number or a time that Socle does not know, which becomes null", "d"],
      ["a number or a time that Socle does not know, which becomes null", "e"],
    ]);
  });
});

describe("policies", () => {
  const columns = [
    ...["id uuid NOT NULL", "title text", "name character(4)", "label extensions.citext", "status public.mood"],
    ...["views integer", "big bigint", "rating numeric", "done boolean", "due timestamp with time zone", "meta jsonb"],
    ...["tags text[]", "author_id uuid", "editor_id uuid", "other uuid", "created_at timestamp with time zone"],
  ];
  const names = columns.map((each) => each.split(" ")[0]).join(", ");
  const fk = (column: string, to: string) =>
    `ALTER TABLE ONLY public.posts\n    ADD CONSTRAINT f_${column} FOREIGN KEY (${column}) REFERENCES ${to}(id);\n`;
  const read = async (policies: string) => {
    using source = await sourceOf(
      dumpOf(
        `CREATE TYPE public.mood AS ENUM (\n    'calm',\n    'rough'\n);\n${users}CREATE TABLE public.posts (\n    ${columns.join(",\n    ")}\n);\nCOPY public.posts (${names}) FROM stdin;\n\\.\nALTER TABLE ONLY public.posts\n    ADD CONSTRAINT posts_pkey PRIMARY KEY (id);\n${fk("author_id", "auth.users")}${fk("editor_id", "public.profiles")}${policies}\n`,
      ),
    );
    const { definition, comments } = source.tables.find(({ from }) => from === "posts") ?? {};
    const closed = source.findings.filter(({ kind, text }) => kind === "closed" && text.startsWith("posts"));
    const leaks = source.findings.filter(({ kind, text }) => kind === "leak" && text.startsWith("posts"));
    return { ...definition?.permissions, closed: closed.length, comments: comments ?? [], leaks: leaks.length };
  };
  const secured = "ALTER TABLE public.posts ENABLE ROW LEVEL SECURITY;\n";
  const ofSelect = (condition: string, rest = "") =>
    read(`${secured}CREATE POLICY "A; policy" ON public.posts FOR SELECT ${rest}USING (${condition});`);

  test.each([
    ["true", "public"],
    ["false", "admin"],
    ["(auth.uid() = author_id)", "author_id = @user.id"],
    ["(( SELECT auth.uid() AS uid) = author_id)", "author_id = @user.id"],
    ["((auth.uid())::text = (other)::text)", "other = @user.id"],
    ["(editor_id = auth.uid())", "editor_id.user = @user.id"],
    ["(auth.role() = 'authenticated'::text)", "authenticated"],
    ["(( SELECT auth.role() AS role) = 'authenticated'::text)", "authenticated"],
    ["(auth.uid() IS NOT NULL)", "authenticated"],
    ["done", "done = true"],
    ["(NOT done)", "done = false"],
    ["(done IS NOT TRUE)", "(done = false || done = null)"],
    ["(done = true)", "done = true"],
    ["(title = 'it''s \"x\"'::text)", 'title = "it\'s \\"x\\""'],
    ["(title <> 'x'::text)", '(title != "x" && title != null)'],
    ["(title IS NULL)", "title = null"],
    ["(status = 'calm'::public.mood)", 'status = "calm"'],
    ["(status = ANY (ARRAY['calm'::public.mood, 'rough'::public.mood]))", 'status in ("calm", "rough")'],
    ["((title)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))", 'title in ("a", "b")'],
    ["(3 < views)", "views > 3"],
    ["((views)::numeric >= '-1.5'::numeric)", "views >= -1.5"],
    ["(due <= now())", "due <= @now"],
    ["(created_at > '2024-01-01 00:00:00+00'::timestamp with time zone)", 'createdAt > "2024-01-01T00:00:00.000Z"'],
    [
      "((done OR (views > 3)) AND ((auth.uid() = author_id) OR (title = 'x'::text)))",
      '(done = true || views > 3) && (author_id = @user.id || title = "x")',
    ],
  ])("a condition of the same meaning: %s becomes %s", async (condition, rule) => {
    expect(await ofSelect(condition)).toMatchObject({ read: rule, closed: 0, create: "admin", comments: [] });
  });

  test.each([
    ["(EXISTS ( SELECT 1\n   FROM public.profiles\n  WHERE (profiles.id = auth.uid())))"],
    ["public.is_admin()"],
    ["((auth.jwt() ->> 'role'::text) = 'admin'::text)"],
    ["(auth.role() = 'anon'::text)"],
    ["(auth.role() <> 'authenticated'::text)"],
    ["(auth.uid() <> author_id)"],
    ["(auth.uid() IS NULL)"],
    ["(NOT (title = 'x'::text))"],
    ["(NOT public.is_admin())"],
    ["(title ~~ 'x%'::text)"],
    ["(title > 'x'::text)"],
    ["(lower(title) = 'x'::text)"],
    ["((views)::text > '10'::text)"],
    ["((created_at)::date = '2024-01-01'::date)"],
    ["(due <= (now())::date)"],
    ["(due <= (now() - '1 day'::interval))"],
    ["((rating)::integer = 3)"],
    ["(views = (3.7)::integer)"],
    ["(name = 'x'::bpchar)"],
    ["(label = 'x'::extensions.citext)"],
    ["(status > 'calm'::public.mood)"],
    ["(status <> ALL (ARRAY['calm'::public.mood]))"],
    ["('x'::text = ANY (tags))"],
    ["(meta IS NULL)"],
    ["(other = 'a0000000-0000-4000-8000-000000000001'::uuid)"],
    ["(author_id IN ( SELECT profiles.id\n   FROM public.profiles))"],
    ["(true AND (gone = 1))"],
    ["(true OR public.is_admin())"],
    ["(title = 'x'::text) garbage"],
    ["(done IS DISTINCT FROM true)"],
    ["((auth.uid() = author_id) = false)"],
    ["(id = auth.uid())"],
  ])("a condition without the same meaning is closed: %s", async (condition) => {
    const found = await ofSelect(condition);
    expect(found).toMatchObject({ read: "admin", closed: 1 });
    expect(found.comments.join("\n")).toContain(`"A; policy" USING (${condition.replace(/\s+/g, " ")})`);
  });

  test("roles: anon opens to everybody, service_role opens nothing, and another role is closed", async () => {
    expect(await ofSelect("done", "TO anon ")).toMatchObject({ read: "done = true", closed: 0 });
    expect(await ofSelect("done", "TO authenticated ")).toMatchObject({ read: "@user.id != null && done = true" });
    expect(await ofSelect("true", "TO authenticated ")).toMatchObject({ read: "authenticated" });
    expect(await ofSelect("(auth.uid() = author_id)", "TO authenticated ")).toMatchObject({
      read: "author_id = @user.id",
    });
    expect(await ofSelect("((auth.uid() = author_id) OR done)", "TO authenticated ")).toMatchObject({
      read: "@user.id != null && (author_id = @user.id || done = true)",
    });
    const quoted = "x && author_id = @user.id && y";
    expect(await ofSelect(`(title = '${quoted}'::text)`, "TO authenticated ")).toMatchObject({
      read: `@user.id != null && title = "${quoted}"`,
    });
    expect(await ofSelect("true", "TO service_role ")).toMatchObject({ read: "admin", closed: 0 });
    expect(await ofSelect("true", "TO editors ")).toMatchObject({ read: "admin", closed: 1 });
  });

  test.each([
    "(auth.uid() = author_id)",
    "(auth.uid() IS NOT NULL)",
    "((author_id = auth.uid()) OR (auth.role() = 'authenticated'::text))",
  ])("a policy for anon alone opens nothing to users: %s", async (condition) => {
    expect(await ofSelect(condition, "TO anon ")).toMatchObject({ read: "admin", closed: 1 });
    const grant = "GRANT SELECT ON TABLE public.posts TO anon;";
    const revoked = await read(`${secured}CREATE POLICY a ON public.posts USING (${condition});\n${grant}`);
    expect(revoked).toMatchObject({ read: "admin" });
  });

  test("permissive policies are joined, and a closed policy opens nothing", async () => {
    const policies = `${secured}CREATE POLICY a ON public.posts FOR SELECT USING (done);
CREATE POLICY b ON public.posts FOR SELECT TO authenticated USING ((author_id = auth.uid()));
CREATE POLICY c ON public.posts FOR SELECT USING (public.is_admin());`;
    expect(await read(policies)).toMatchObject({ read: "done = true || author_id = @user.id", closed: 1 });
    const restrictive = `${policies}\nCREATE POLICY d ON public.posts AS RESTRICTIVE FOR SELECT USING (true);`;
    expect(await read(restrictive)).toMatchObject({ read: "admin" });
  });

  test("commands: a change needs the right to read, USING and WITH CHECK that differ are closed", async () => {
    const policy = (command: string, rest: string) =>
      `CREATE POLICY "${command}" ON public.posts FOR ${command} ${rest};\n`;
    const select = policy("SELECT", "USING (done)");
    const own = "((author_id = auth.uid()) AND (views > 1))";
    const both = await read(
      `${secured}${select}${policy("UPDATE", `USING (${own}) WITH CHECK (${own})`)}${policy("DELETE", `USING (${own})`)}`,
    );
    const change = "author_id = @user.id && views > 1 && done = true";
    expect(both).toMatchObject({ create: "admin", update: change, delete: change, closed: 0 });
    expect(await read(`${secured}${select}${policy("UPDATE", `USING (${own}) WITH CHECK (true)`)}`)).toMatchObject({
      ...{ update: "admin", closed: 1 },
    });
    expect(await read(`${secured}${policy("UPDATE", "USING (true)")}`)).toMatchObject({
      read: "admin",
      update: "admin",
    });
    const everything = `${secured}CREATE POLICY a ON public.posts USING (done) WITH CHECK (true);`;
    expect(await read(everything)).toMatchObject({
      read: "done = true",
      create: "public",
      update: "admin",
      delete: "done = true",
    });
  });

  test("the relation that INSERT demands to be the caller shows the owner", async () => {
    const own = "(author_id = auth.uid())";
    const found = await read(
      `${secured}CREATE POLICY a ON public.posts FOR INSERT WITH CHECK (${own});\nCREATE POLICY b ON public.posts FOR SELECT USING (${own});`,
    );
    expect(found).toMatchObject({ create: "authenticated", read: "owner", closed: 0 });
    const or = await read(`${secured}CREATE POLICY a ON public.posts FOR INSERT WITH CHECK ((${own} OR done));`);
    expect(or).toMatchObject({ create: "author_id = @user.id || done = true" });
  });

  test("a table without row level security is closed, and told as open before", async () => {
    const policy = "CREATE POLICY a ON public.posts USING (true);";
    expect(await read(policy)).toMatchObject({ read: "admin", create: "admin", leaks: 1, closed: 0 });
    expect(await read(secured)).toMatchObject({ read: "admin", create: "admin", leaks: 0, closed: 0 });
  });

  test("a policy for a role without the privilege opens nothing to the role", async () => {
    const grants = "GRANT SELECT ON TABLE public.posts TO anon;\nGRANT ALL ON TABLE public.posts TO authenticated;\n";
    const policy = `${secured}CREATE POLICY a ON public.posts USING (true);\n`;
    expect(await read(`${policy}${grants}`)).toMatchObject({
      read: "public",
      create: "authenticated",
      update: "authenticated",
    });
    const ofColumns =
      "GRANT SELECT(id) ON TABLE public.posts TO anon;\nGRANT INSERT ON TABLE public.posts TO authenticated;\n";
    expect(await read(`${policy}${ofColumns}`)).toMatchObject({ read: "admin", create: "authenticated", closed: 3 });
  });
});

describe("a dump that is refused", () => {
  test.each([
    [
      "a custom dump",
      "PGDMP\u0001\u000e\u0000",
      /is a dump in the custom format; dump as text: pg_dump --format plain/,
    ],
    ["another text", "select 1;\n", /is no dump of one database as text/],
    ["a dump of a cluster", "--\n-- PostgreSQL database cluster dump\n--\n", /is no dump of one database as text/],
    ["a cut dump", dumpOf(users).slice(0, -60), /the dump is cut: the last line/],
    [
      "a dump that is cut in rows",
      dumpOf(users).split("\\.")[0] ?? "",
      /line \d+: the dump is cut in the rows of auth\.users/,
    ],
    [
      "a row with a value too few",
      dumpOf(users.replace(/\tada.*/, "")),
      /line \d+: a row of auth\.users has not 2 values/,
    ],
    ["texts with other escapes", dumpOf("SET standard_conforming_strings = off;"), /standard_conforming_strings = on/],
    ["another encoding", dumpOf("SET client_encoding = 'LATIN1';"), /dump with --encoding UTF8/],
    ["bytes that are no UTF-8", new Uint8Array([...Buffer.from(dumpOf("-- ")), 0xff, 0xfe]), /cannot be read/],
    ["a dump without auth", dumpOf("CREATE SCHEMA public;"), /has no rows of auth\.users/],
    ["a key that is there twice", dumpOf(users.replace(/^(.*ada@.*)$/m, "$1\n$1")), /UNIQUE constraint failed/],
  ])("%s", async (_, dump, message) => {
    await expect(sourceOf(dump)).rejects.toThrow(message);
  });

  test("a dump with lines of newer versions of pg_dump is read", async () => {
    const dump = dumpOf(`\\restrict abc\nSET transaction_timeout = 0;\n${users}\\unrestrict abc`);
    using source = await sourceOf(dump.replaceAll("\n", "\r\n"));
    expect(source.tables.map(({ from, count }) => [from, count])).toEqual([
      ["auth.users", 1],
      ["profiles", 0],
    ]);
    expect([...(source.tables[0]?.rows() ?? [])].map(({ sourceId, account }) => [sourceId, account?.email])).toEqual([
      [uid, "ada@harbour.example"],
    ]);
  });
});
