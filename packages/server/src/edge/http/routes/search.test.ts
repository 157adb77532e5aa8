/** Full-text search over HTTP: queries, ranking, snippets, rights and changes. */
import { describe, expect, test } from "bun:test";
import type { JsonValue } from "@socle/protocol";
import fc from "fast-check";
import { openApi, type TestApi, temporaryFolder } from "../../../../test/kit.ts";
import { isLong } from "../../../../test/long.ts";
import { randomSeed } from "../../../../test/random.ts";
import { searchWords } from "../../../base/kernel/index.ts";

const fields = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "n", type: "integer" },
];
const api = await openApi({
  collections: [
    { name: "notes", fields, search: ["title", "body"] },
    { name: "plain", fields },
    {
      name: "mine",
      fields: [
        ...fields,
        { name: "secret", type: "string", permissions: { read: "admin" } },
        { name: "by", type: "relation", collection: "users", owner: true },
      ],
      search: ["title", "secret"],
      permissions: { read: "by = @user.id", create: "authenticated" },
    },
    {
      name: "shelves",
      fields: [...fields, { name: "by", type: "relation", collection: "users", owner: true }],
      search: ["title", "body"],
      permissions: { read: "by = @user.id", create: "authenticated" },
    },
  ],
});

/** The content of a cursor, which stands behind the signature. */
const contentOf = (cursor: string | null): unknown =>
  JSON.parse(Buffer.from((cursor ?? "").slice(22), "base64url").toString());
const admin = await api.admin();
const ann = await api.register("ann@example.com");

type Note = { [name: string]: JsonValue } & { id: string };
interface Found {
  items: Note[];
  nextCursor: string | null;
  total?: number;
}

async function note(title: string | null, body: string | null = null, n = 0): Promise<string> {
  const answer = await api.request<{ id: string }>("POST", "/api/notes", { body: { title, body, n } });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

async function clear(): Promise<void> {
  const { items } = (await api.request<Found>("GET", "/api/notes")).body;
  const operations = items.map(({ id }) => ({ method: "delete", collection: "notes", id }));
  for (let at = 0; at < operations.length; at += 1_000)
    await api.request("POST", "/api/batch", { body: { operations: operations.slice(at, at + 1_000) } });
}

async function find(
  search: string,
  more: Record<string, string> = {},
  { collection = "notes", token = admin } = {},
): Promise<Found> {
  const path = `/api/${collection}?${new URLSearchParams({ search, ...more })}`;
  const answer = await api.request<Found>("GET", path, { token });
  expect([search, answer.status]).toEqual([search, 200]);
  return answer.body;
}

const titles = async (search: string, more: Record<string, string> = {}): Promise<JsonValue[]> =>
  (await find(search, more)).items.map(({ title }) => title ?? null);

describe("queries", () => {
  test("words by AND, beginnings, phrases, without case and accents, in any of the fields", async () => {
    await clear();
    await note("Crème brûlée", "A dessert of cream and sugar");
    await note("Ice cream", "Cold, sweet");
    await note("Straße", "Old roads");
    await note("ΑΘΗΝΑ", "Ёлка");
    expect(await titles("cream")).toEqual(["Ice cream", "Crème brûlée"]);
    for (const [search, expected] of [
      ["CREAM sugar", ["Crème brûlée"]],
      ["creme", ["Crème brûlée"]],
      ["Brûl*", ["Crème brûlée"]],
      ["bru* des*", ["Crème brûlée"]],
      ["brul", []],
      ['"cream and sugar"', ["Crème brûlée"]],
      ['"sugar and cream"', []],
      ["strasse", ["Straße"]],
      ["stras", []],
      ["straße", ["Straße"]],
      ["αθηνα", ["ΑΘΗΝΑ"]],
      ["елка", ["ΑΘΗΝΑ"]],
      ["cold-sweet", ["Ice cream"]],
      ["cream nothing", []],
    ] as const)
      expect([search, await titles(search)]).toEqual([search, [...expected]]);
  });

  test.each([
    ["Łódź", ["lodz", "łodz", "LÓDŹ", "lód*"], ["odz"]],
    ["Smørrebrød på Ærø", ["smorrebrod", "aero", "pa", "ÆRØ"], ["smrrebrd", "aro"]],
    ["Đorđe œuvre Þór Ħal Ŧa", ["dorde", "oeuvre", "thor", "hal", "ta"], ["uvre"]],
    ["ISPARTA ılık İzmir", ["isparta", "ilik", "izmir", "ıSPARTA"], ["lik"]],
    ["GROẞ", ["gross", "groß"], ["gros"]],
    ["שָׁלוֹם", ["שלום", "שָׁלוֹם"], ["שלו"]],
    ["مُحَمَّد كـــتاب أحمد", ["محمد", "كتاب", "احمد", "مُحَمَّد"], ["محم"]],
    // Marks of other scripts tell words apart.
    ["कि", ["कि"], ["क"]],
  ] as const)("letters and marks of %s fold", async (title, found, missed) => {
    await clear();
    await note(title);
    for (const search of found) expect([search, await titles(search)]).toEqual([search, [title]]);
    for (const search of missed) expect([search, await titles(search)]).toEqual([search, []]);
    const { items } = await find(found[0], { snippet: "title" });
    expect(JSON.stringify(items[0]?.["snippet"])).toContain("<mark>");
  });

  test("a start folds the words anew that an earlier version has folded, once", async () => {
    const folder = temporaryFolder();
    const first = await openApi({
      folder,
      collections: [
        { name: "old", fields, search: ["title", "body"] },
        { name: "plain", fields },
      ],
    });
    await first.request("POST", "/api/old", { body: { title: "Łódź", body: "Ærø" } });
    await first.service.database.transact((tx) => {
      tx.run("UPDATE _collections SET words = NULL");
      tx.run("INSERT INTO _search_old (_search_old) VALUES ('delete-all')");
      tx.run("INSERT INTO _search_old (rowid, c0, c1) SELECT _seq, 'łodz former', 'ærø' FROM old");
    });
    const search = async (api: TestApi, words: string): Promise<number> =>
      (await api.request<Found>("GET", `/api/old?${new URLSearchParams({ search: words })}`)).body.items.length;
    const words = ["lodz", "aero", "former", "odz"];
    expect(await Promise.all(words.map((word) => search(first, word)))).toEqual([0, 0, 1, 0]);
    await first.close();
    const next = await openApi({ folder });
    // No word of the former folding is left.
    expect(await Promise.all(words.map((word) => search(next, word)))).toEqual([1, 1, 0, 0]);
    const former = () =>
      next.service.database.reader.all("SELECT name FROM _collections WHERE words IS NULL AND name = 'old'");
    expect(await former()).toEqual([]);
    const { body } = await next.request<Found>("GET", "/api/old");
    await next.request("PUT", `/api/old/${body.items[0]?.id}`, { body: { title: "Gdańsk" } });
    expect([await search(next, "lodz"), await search(next, "gdansk")]).toEqual([0, 1]);
    await next.close();
  });

  test("Chinese, Japanese, Korean and Thai: any part of a text", async () => {
    await clear();
    await note("東京都庁", "日本語の文章です");
    await note("한국어 문장입니다");
    await note("ภาษาไทย");
    await note("iPhone用ケース");
    for (const [search, expected] of [
      ["京都", ["東京都庁"]],
      ["都", ["東京都庁"]],
      ["都京", []],
      ["日本語", ["東京都庁"]],
      ["日本*", ["東京都庁"]],
      ["東京 文章", ["東京都庁"]],
      ["문장", ["한국어 문장입니다"]],
      ["ภาษา", ["ภาษาไทย"]],
      ["iphone", ["iPhone用ケース"]],
      ["ケース", ["iPhone用ケース"]],
    ] as const)
      expect([search, await titles(search)]).toEqual([search, [...expected]]);
  });

  test("the language of FTS5 is plain text", async () => {
    await clear();
    await note("a OR b NOT c NEAR d");
    for (const search of [
      "a OR b",
      "NOT a",
      "NEAR(a d)",
      "c0:a",
      "{c0} : a",
      "^a",
      "a + b",
      '"a',
      'a"',
      "(a",
      "a)",
      "a AND",
      "-a",
      "a'; DROP TABLE notes",
      "rank:a",
      "a\0b",
    ]) {
      const answer = await api.request("GET", `/api/notes?${new URLSearchParams({ search })}`);
      expect([search, answer.status]).toEqual([search, 200]);
    }
    expect(await titles("OR")).toEqual(["a OR b NOT c NEAR d"]);
  });

  test.each([
    "",
    " ",
    "*",
    '"',
    '""',
    "-",
    "!?",
    "🎉",
    '"…" *',
    "\0",
    "x".repeat(1_001),
    Array.from({ length: 33 }, (_, n) => `w${n}`).join(" "),
  ])("%p is 400", async (search) => {
    const answer = await api.request("GET", `/api/notes?${new URLSearchParams({ search })}`);
    expect([answer.status, String(answer.body["error"]?.["code"])]).toEqual([400, "bad_request"]);
  });

  test("without search in the definition, with a snippet of another field: 400", async () => {
    for (const path of [
      "/api/plain?search=a",
      "/api/notes?search=a&snippet=n",
      "/api/notes?snippet=title",
      "/api/notes?search=a&snippet=x",
      "/api/notes?search=a&group=n&snippet=title",
    ])
      expect([path, (await api.request("GET", path)).status]).toEqual([path, 400]);
  });
});

describe("results", () => {
  test("the best first, or by sort; with filter, count and pages", async () => {
    await clear();
    for (let n = 0; n < 30; n++) await note(`word ${"filler ".repeat(n % 7)}`, null, n);
    await note("word word word", null, 100);
    expect((await find("word")).items[0]?.["n"]).toBe(100);
    expect((await find("word", { sort: "-n", limit: "2" })).items.map(({ n }) => n)).toEqual([100, 29]);
    expect(await find("word", { filter: "n >= 28", count: "exact", sort: "n", fields: "n" })).toMatchObject({
      items: [{ n: 28 }, { n: 29 }, { n: 100 }],
      total: 3,
    });
    for (const more of [{}, { sort: "n" }, { sort: "-title" }] as Record<string, string>[]) {
      const whole = (await find("word", more)).items.map(({ id }) => id);
      const found: string[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const page: Found = await find("word", { ...more, limit: "4", ...(cursor !== "" && { cursor }) });
        found.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      expect(found).toEqual(whole);
      expect(found.length).toBe(31);
    }
    expect(
      (await api.request<Found>("GET", "/api/notes?search=filler&group=n&aggregate=count&limit=1")).body.items,
    ).toEqual([{ n: 1, count: 1 }] as never);
    const { nextCursor } = await find("word", { limit: "1" });
    expect((await api.request("GET", `/api/notes?search=filler&limit=1&cursor=${nextCursor}`)).status).toBe(400);
  });

  test("a search follows creates, updates, clears and deletes", async () => {
    await clear();
    const id = await note("before");
    expect(await titles("before")).toEqual(["before"]);
    await api.request("PUT", `/api/notes/${id}`, { body: { title: "after" } });
    expect([await titles("before"), await titles("after")]).toEqual([[], ["after"]]);
    await api.request("PUT", `/api/notes/${id}`, { body: { body: "more", n: 5 } });
    expect(await titles("after more")).toEqual(["after"]);
    await api.request("PUT", `/api/notes/${id}`, { body: { title: null } });
    expect([await titles("after"), (await find("more")).items.length]).toEqual([[], 1]);
    await api.request("DELETE", `/api/notes/${id}`);
    expect((await find("more")).items).toEqual([]);
    // A rolled-back create leaves no words.
    const body = {
      operations: [
        { method: "create", collection: "notes", body: { title: "ghost" } },
        { method: "delete", collection: "notes", id: "x" },
      ],
    };
    expect((await api.request("POST", "/api/batch", { body })).status).toBe(404);
    expect((await find("ghost")).items).toEqual([]);
  });

  test("snippets: the text around a match, marked, everything else escaped", async () => {
    await clear();
    const before = "Lorem ipsum dolor. ".repeat(20);
    await note(
      'A <b>bold</b> & "brave" title',
      `${before}Here is the <script>alert('needle')</script> in it. ${before}`,
    );
    const [item] = (await find("needle", { snippet: "body,title" })).items;
    const { body = "", title = "" } = item === undefined ? {} : (item["snippet"] as { body: string; title: string });
    expect(title).toBe("A &lt;b&gt;bold&lt;/b&gt; &amp; &quot;brave&quot; title");
    expect(body).toContain("<mark>needle</mark>");
    expect(body).toContain("&lt;script&gt;alert(&#39;<mark>");
    expect([body.startsWith("…"), body.endsWith("…"), body.length < 400]).toEqual([true, true, true]);
    const marked = async (search: string): Promise<string[]> =>
      [
        ...JSON.stringify((await find(search, { snippet: "title" })).items[0]?.["snippet"]).matchAll(
          /<mark>(.*?)<\/mark>/g,
        ),
      ].map(([, text]) => text ?? "");
    expect(await marked("bo* title")).toEqual(["bold", "title"]);
    await note("東京都庁です");
    expect(await marked("京都")).toEqual(["京都"]);
    expect((await find("needle", { snippet: "title", fields: "id" })).items).toEqual([
      { id: item?.id ?? "", snippet: { title } },
    ]);
  });

  test("the read rule holds; a field that is hidden is not searched", async () => {
    const make = (body: object, token: string) => api.request("POST", "/api/mine", { body, token });
    await make({ title: "alpha", secret: "hidden" }, admin);
    await make({ title: "alpha", secret: "hidden", by: ann.user.id }, admin);
    const own = { collection: "mine", token: ann.accessToken };
    expect((await find("alpha", { count: "exact" }, own)).total).toBe(1);
    expect((await find("hidden", {}, own)).items).toEqual([]);
    expect((await find("hidden", {}, { collection: "mine", token: admin })).items.length).toBe(2);
    expect((await api.request("GET", "/api/mine?search=alpha&snippet=secret", { token: ann.accessToken })).status).toBe(
      400,
    );
  });
});

test("neither order nor cursor reveals words in fields and records that the caller may not read", async () => {
  const make = async (body: object): Promise<string> =>
    (await api.request<{ id: string }>("POST", "/api/mine", { body: { by: ann.user.id, ...body }, token: admin })).body
      .id;
  const [older, newer] = [await make({ title: "rank one" }), await make({ title: "rank two" })];
  const own = { collection: "mine", token: ann.accessToken };
  const ids = async (): Promise<string[]> => (await find("rank", {}, own)).items.map(({ id }) => id);
  const cursor = async (): Promise<string | null> => (await find("rank", { limit: "1" }, own)).nextCursor;
  const before = [await ids(), await cursor()];
  expect(before[0]).toEqual([newer, older]);
  // The length of a hidden text would count against the newer record.
  await api.request("PUT", `/api/mine/${newer}`, { body: { secret: "word ".repeat(40) }, token: admin });
  await make({ title: "rank rank rank", by: null });
  expect([await ids(), await cursor()]).toEqual(before);
  // The cursor holds a record that the caller reads, the weight of texts that the caller may read, and the masked place of the record.
  expect(contentOf(await cursor())).toEqual([newer, [expect.any(Number)], null, expect.any(Number)]);
  expect((await find("rank", { limit: "1", cursor: (await cursor()) ?? "" }, own)).items.map(({ id }) => id)).toEqual([
    older,
  ]);
});

test("with some records hidden, the best match is first, whatever words the hidden records have", async () => {
  const make = async (body: object, by: string | null = ann.user.id): Promise<string> =>
    (await api.request<{ id: string }>("POST", "/api/shelves", { body: { ...body, by }, token: admin })).body.id;
  const made = [
    await make({ title: "apple banana" }),
    await make({ title: "pear", body: "apple apple apple banana" }),
    await make({ title: "apple", body: "apple banana banana banana" }),
    await make({ title: "banana apple filler filler filler" }),
  ];
  const own = { collection: "shelves", token: ann.accessToken };
  const places = async (): Promise<number[]> =>
    (await find("apple banana", {}, own)).items.map(({ id }) => made.indexOf(id));
  const paged = async (): Promise<number[]> => {
    const found: number[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Found = await find("apple banana", { limit: "1", cursor }, own);
      found.push(...page.items.map(({ id }) => made.indexOf(id)));
      cursor = page.nextCursor;
    }
    return found;
  };
  const best = [2, 1, 0, 3];
  // BM25 would put first the record with more of the word that fewer of all records have.
  for (const hidden of ["nothing", "apple ".repeat(9), "banana ".repeat(99)]) {
    for (let left = 9; left > 0; left--) await make({ title: hidden, body: hidden }, null);
    expect([hidden, await places(), await paged()]).toEqual([hidden, best, best]);
  }
});

test("random queries find the texts of the model, and nothing is a 500", async () => {
  const piece = fc.oneof(
    fc.constantFrom("a", "ab", "Ä", "é", "日", "本語", "ß", "한", "ไ", "e\u0301", "ﬁ", "x1", "🎉", "İ", "ͅ", "ک"),
    fc.string({ unit: "binary", maxLength: 3 }).filter((each) => each.isWellFormed()),
  );
  const text = fc
    .array(fc.tuple(piece, fc.constantFrom(" ", "-", "", '"', "*", ".", "(", ":", " OR ", "^", "+", "{")), {
      maxLength: 6,
    })
    .map((all) => all.flat().join(""));
  const others = fc.constantFrom<Record<string, string>>(
    { sort: "-n,title", limit: "1" },
    { filter: "n >= 0 && title != null", count: "exact" },
    { group: "n", aggregate: "count,max(title)" },
    { fields: "id,body", snippet: "body,title" },
    { offset: "1" },
  );
  const words = (of: string): string[] => [...searchWords(of)].map(({ word }) => word);
  await fc.assert(
    fc.asyncProperty(text, text, others, async (stored, search, other) => {
      await clear();
      const answer = await api.request("POST", "/api/notes", { body: { title: stored } });
      if (answer.status !== 201) return;
      const found = await api.request<Found>("GET", `/api/notes?${new URLSearchParams({ search, snippet: "title" })}`);
      expect(found.status).toBe(words(search).length === 0 ? 400 : 200);
      const path = `/api/notes?${new URLSearchParams({ search, ...other })}`;
      expect((await api.request("GET", path)).status).toBe(found.status);
      // Each text is found by any of its own words.
      const [word] = words(stored);
      if (word !== undefined) expect([stored, word, (await find(word)).items.length]).toEqual([stored, word, 1]);
      if (found.status === 200 && found.body.items.length > 0)
        expect(JSON.stringify(found.body.items[0]?.["snippet"])).toContain("<mark>");
    }),
    { seed: randomSeed("search"), numRuns: isLong ? 500 : 40 },
  );
});
