/** Tests of rows as INSERT: the forms of values, statements that are refused, and dumps against the same dumps as COPY. */
import { afterAll, expect, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/kit.ts";
import { isLong } from "../../../../test/long.ts";
import { cellsOf } from "./dump.ts";
import { computed, insertOf, rowsIn } from "./inserts.ts";
import { readSupabase } from "./read.ts";

function rowsOf(statement: string): unknown[] {
  return [...rowsIn(statement, insertOf(statement).head.length)];
}

test.each([
  [
    "INSERT INTO a VALUES (1, -2.5, 1e+20, 'NaN', NULL, true, false, DEFAULT, B'101');",
    [["1", "-2.5", "1e+20", "NaN", null, "t", "f", computed, "101"]],
  ],
  ["INSERT INTO a VALUES ('it''s; \\ ), ('), ('');", [["it's; \\ ), ("], [""]]],
  ["INSERT INTO a VALUES ('a\n\tb''\n');", [["a\n\tb'\n"]]],
  [
    String.raw`INSERT INTO a VALUES (E'a\tb\\\'c''d\u00e9\U0001F600\q', '\x00ff', '{"a",NULL}');`,
    [["a\tb\\'c'dé😀q", String.raw`\x00ff`, '{"a",NULL}']],
  ],
  [
    "INSERT INTO a VALUES\n\t(1, 'x'),\n\t(2, 'y'),",
    [
      ["1", "x"],
      ["2", "y"],
    ],
  ],
  ["INSERT INTO a VALUES (1)\n ON CONFLICT DO NOTHING;", [["1"]]],
])("the rows of %j", (statement, rows) => {
  expect(rowsOf(statement)).toEqual(rows as never);
});

test("the table and the columns of a statement", () => {
  const of = (statement: string): unknown[] => Object.values(insertOf(statement)).slice(0, 3);
  expect(of("INSERT INTO public.a VALUES (1);")).toEqual(["INSERT INTO public.a VALUES", "public.a", null]);
  expect(of('INSERT INTO public."A (b)" (id, "x, y)") OVERRIDING SYSTEM VALUE VALUES (1, 2);').slice(1)).toEqual([
    "public.A (b)",
    ["id", "x, y)"],
  ]);
});

test.each([
  "INSERT INTO a VALUES (1) RETURNING id;",
  "INSERT INTO a VALUES (now());",
  "INSERT INTO a VALUES (1, );",
  "INSERT INTO a VALUES (1 2);",
  "INSERT INTO a VALUES ('x' 'y');",
  "INSERT INTO a VALUES (1) (2);",
  "INSERT INTO a VALUES ('x);",
  "INSERT INTO a VALUES (1); SELECT 1;",
  String.raw`INSERT INTO a VALUES (E'\303\244');`,
  "INSERT INTO a SELECT 1;",
])("%s is refused", (statement) => {
  expect(() => rowsOf(statement)).toThrow(/unexpected|another form|without an end/);
});

interface Kind {
  readonly hasColumns: boolean;
  readonly rows: number;
  readonly end?: string;
}

/** Writes the rows of a dump as INSERT. A value is written by the type of its column, as pg_dump writes the value. */
function asInserts(dump: string, { hasColumns, rows, end = ";" }: Kind): string {
  const tables = new Map<string, readonly { name: string; type: string }[]>();
  for (const [, name = "", body = ""] of dump.matchAll(/^CREATE TABLE (\S+) \(\n([^;]*)\n\);/gm)) {
    const lines = body.split(",\n").flatMap((line) => [...line.matchAll(/^ {4}(?!CONSTRAINT)("[^"]+"|\w+) (.*)$/gm)]);
    tables.set(
      name,
      lines.map(([, column = "", type = ""]) => ({ name: column, type })),
    );
  }
  const literal = (cell: string | null, type: string): string => {
    if (cell === null) return "NULL";
    if (/^boolean\b/.test(type)) return cell === "t" ? "true" : "false";
    if (/^(small|big)?int|^numeric|^real|^double/.test(type) && !type.includes("[]") && /^[-+\d .eE]+$/.test(cell))
      return cell;
    return `'${cell.replaceAll("'", "''")}'`;
  };
  return dump.replace(
    /^COPY (\S+) \((.*)\) FROM stdin;\n((?:.*\n)*?)\\\.\n/gm,
    (_, ...[table, list, text]: string[]) => {
      const copied = (list ?? "").split(", ");
      const columns = tables.get(table ?? "") ?? [];
      const values = (text ?? "")
        .split("\n")
        .slice(0, -1)
        .map((line) => {
          const cells = cellsOf(line, copied.length) ?? [];
          const parts = columns.map(({ name, type }) => {
            const at = copied.indexOf(name);
            return at === -1 ? "DEFAULT" : literal(cells[at] ?? null, type);
          });
          return `(${parts.join(", ")})`;
        });
      const head = `INSERT INTO ${table} ${hasColumns ? `(${columns.map(({ name }) => name).join(", ")}) ` : ""}VALUES`;
      let written = "";
      for (let at = 0; at < values.length; at += rows) {
        const some = values.slice(at, at + rows);
        written += rows === 1 ? `${head} ${some[0]}${end}\n` : `${head}\n\t${some.join(",\n\t")}${end}\n\n`;
      }
      return written;
    },
  );
}

// A row without times has the time of the move.
setSystemTime(new Date("2026-01-02T03:04:05.678Z"));
afterAll(() => setSystemTime());

/** All that a move takes from a dump. */
async function contentOf(dump: string): Promise<object> {
  const folder = temporaryFolder();
  const path = join(folder, "dump.sql");
  await Bun.write(path, dump);
  const choices = {
    ...{ dangling: "clear" as const, clearsFiles: true, firstKeepsEmail: true },
    ...{ emails: new Map<string, string>(), issuers: new Map<string, string>() },
  };
  using source = await readSupabase(path, { choices, work: join(folder, "work"), files: null });
  const tables = source.tables.map(({ from, definition, comments, count, rows }) => {
    const odd: unknown[] = [];
    const moved = [...rows()].map(({ values, files, ...row }) => ({
      ...row,
      values: values(definition, (...oddity) => odd.push(oddity)),
      files: [...files()],
    }));
    return { from, definition, comments, count, odd, moved };
  });
  return { tables, findings: source.findings };
}

const kinds: readonly [string, Kind][] = [
  ["--inserts", { hasColumns: false, rows: 1 }],
  ["--column-inserts", { hasColumns: true, rows: 1 }],
  ["--rows-per-insert=3", { hasColumns: false, rows: 3 }],
  [
    "--column-inserts --rows-per-insert=1000 --on-conflict-do-nothing",
    { hasColumns: true, rows: 1_000, end: "\n ON CONFLICT DO NOTHING;" },
  ],
];
const fixture = await Bun.file(join(import.meta.dir, "../../../../../../e2e/move-in-supabase/dump.sql")).text();
const expected = await contentOf(fixture);

test.each(kinds)("a dump of pg_dump %s has the rows of the dump as COPY", async (_, kind) => {
  const inserts = asInserts(fixture, kind);
  expect(inserts).not.toContain("FROM stdin;");
  expect(await contentOf(inserts)).toEqual(expected);
});

const uid = "a0000000-0000-4000-8000-000000000001";
const small = (rows: readonly string[]): string => `--
-- PostgreSQL database dump
--

CREATE TABLE auth.users (
    id uuid NOT NULL,
    email text
);

CREATE TABLE public.things (
    id bigint NOT NULL,
    a text,
    b double precision,
    c boolean,
    d text[],
    e jsonb,
    f bytea
);

--
-- Data for Name: users; Type: TABLE DATA; Schema: auth; Owner: o
--

COPY auth.users (id, email) FROM stdin;
${uid}\tada@harbour.example
\\.

--
-- Data for Name: things; Type: TABLE DATA; Schema: public; Owner: o
--

COPY public.things (id, a, b, c, d, e, f) FROM stdin;
${rows.map((row) => `${row}\n`).join("")}\\.

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.things
    ADD CONSTRAINT things_pkey PRIMARY KEY (id);
--
-- PostgreSQL database dump complete
--
`;

test("random values are the same as INSERT and as COPY", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`seed ${seed}`);
  let state = seed;
  const below = (n: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * n);
  };
  const pieces = [
    "'",
    "''",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    ";",
    "),",
    ");",
    "(",
    "--",
    "/*",
    "E'",
    '"',
    "$$",
    "$a$",
    "\\.",
    "NULL",
    "é",
    "😀",
    "COPY a (b) FROM stdin;",
    "INSERT INTO public.things VALUES (1);",
    " ",
  ];
  const copied = (text: string): string =>
    text.replace(/[\\\n\r\t]/g, (sign) => `\\${{ "\n": "n", "\r": "r", "\t": "t" }[sign] ?? sign}`);
  for (let round = 0; round < (isLong ? 200 : 10); round++) {
    const rows = Array.from({ length: 20 }, (_, id) => {
      const text = Array.from({ length: below(8) }, () => pieces[below(pieces.length)]).join("");
      const item = text.replace(/["\\]/g, "\\$&");
      const cells = [
        ...[String(id), text, ["-1.5", "1e+30", "NaN", "-Infinity"][below(4)] ?? "", "tf"[below(2)] ?? ""],
        ...[`{"${item}",NULL}`, JSON.stringify({ [text]: [text, null] }), "\\x00ff5c27"],
      ];
      return cells.map((cell) => (below(8) === 0 && cell !== String(id) ? "\\N" : copied(cell))).join("\t");
    });
    const dump = small(rows);
    const wanted = await contentOf(dump);
    for (const [, kind] of kinds) expect(await contentOf(asInserts(dump, kind))).toEqual(wanted);
  }
});

test("a table without rows has no INSERT, and becomes a collection", async () => {
  const inserts = asInserts(small([]), { hasColumns: false, rows: 1 });
  expect(inserts).not.toContain("INSERT INTO public.things");
  expect(await contentOf(inserts)).toEqual(await contentOf(small([])));
});

const row = "1\tone; two\\nthree\t1\tt\t{}\t{}\t\\N";
const inserted = asInserts(small([row, row.replace("1", "2")]), { hasColumns: false, rows: 2 });

test.each([
  ["cut in a text", inserted.split("\nthree")[0], /line \d+: the dump is cut in the rows of public\.things/],
  ["cut between rows", inserted.split("\t(2")[0], /line \d+: the dump is cut in the rows of public\.things/],
  ["cut after rows", inserted.split("ALTER")[0], /the dump is cut: the last line/],
  [
    "without a part in the middle",
    inserted.replace(/three'[\s\S]*PRIMARY KEY \(id\);\nA/, "A"),
    /the dump is cut in the rows/,
  ],
  ["with a value too few", inserted.replace("(1, ", "("), /line \d+: a row of public\.things has not 7 values/],
  ["with a value too many", inserted.replace("(1, ", "(1, 1, "), /a row of public\.things has not 7 values/],
  ["with a call", inserted.replace("(1, ", "(nextval('a'), "), /cut or damaged: unexpected nextval/],
  [
    "with other columns",
    inserted.replace("(2, ", "(DEFAULT, "),
    /rows of public\.things with other columns than before/,
  ],
  [
    "of another table",
    inserted.replace("INTO public.things", "INTO public.none"),
    /rows of public\.none and no definition/,
  ],
  ["with a row twice", inserted.replace("(2, ", "(1, "), /UNIQUE constraint failed/],
])("a dump as INSERT %s is refused", async (_, dump, message) => {
  await expect(contentOf(dump ?? "")).rejects.toThrow(message);
});

test("comments, and rows of tables that are not read, change nothing", async () => {
  const more = "INSERT INTO auth.sessions VALUES (now(), 'x;\n');\n-- INSERT INTO public.things VALUES (9);\n";
  const noted = inserted
    .replace("\n\t(2", "\n-- a comment, with a quote: it's);\n\t(2")
    .replace("\nALTER", `\n${more}ALTER`);
  expect(noted.length).toBeGreaterThan(inserted.length + more.length);
  expect(await contentOf(noted)).toEqual(await contentOf(inserted));
});
