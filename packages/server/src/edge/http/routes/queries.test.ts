import { describe, expect, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { numbers, openQueryWorld } from "../../../../test/query-world.ts";

const { request, ann, boss, ada, posts, create, list, refusal } = await openQueryWorld();

describe("the shape of a response", () => {
  test("without a known parameter the response is the list alone", async () => {
    for (const path of ["/api/posts", "/api/posts/", "/api/posts?", "/api/posts?page=2&filters=x&Filter=x"]) {
      const { body } = await request<Record<string, unknown[]>>("GET", path);
      expect(Object.keys(body)).toEqual(["items"]);
      expect(body["items"]).toHaveLength(12);
    }
  });

  test.each(["filter", "sort", "limit", "cursor", "offset", "count", "fields", "expand"])(
    "an empty %s makes a page, of everything",
    async (name) => {
      const page = await list("/api/posts", { [name]: "" });
      expect(Object.keys(page)).toEqual(["items", "nextCursor"]);
      expect(page.items).toHaveLength(12);
      expect(page.nextCursor).toBeNull();
      expect(Object.keys(page.items[0] ?? {})).not.toContain("expand");
    },
  );

  test("a total only on request", async () => {
    expect<unknown>(await list("/api/posts", { limit: "2", count: "exact", fields: "n" })).toEqual({
      items: [{ n: 11 }, { n: 10 }],
      nextCursor: expect.any(String),
      total: 12,
    });
    expect((await list("/api/posts", { filter: "n < 3", count: "exact" })).total).toBe(3);
    expect((await list("/api/posts", { filter: "n < 0", count: "exact" })).total).toBe(0);
  });
});

describe("sort", () => {
  test.each([
    ["n", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ["-n", [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
    ["createdAt", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ["-createdAt", [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
    ["title", [0, 4, 8, 3, 6, 9, 1, 7, 10, 2, 5, 11]],
    ["-title", [11, 5, 2, 10, 7, 1, 9, 6, 3, 8, 4, 0]],
    ["title,-n", [8, 4, 0, 9, 6, 3, 10, 7, 1, 11, 5, 2]],
    ["on,title,-n", [8, 11, 5, 2, 4, 10, 7, 1, 0, 9, 6, 3]],
    ["author.name,n", [2, 3, 6, 7, 10, 11, 0, 4, 8, 1, 5, 9]],
    ["-meta.size", [11, 10, 9, 8, 7, 6, 4, 3, 2, 1, 0, 5]],
  ])("%s", async (sort, expected) => {
    expect(numbers(await list("/api/posts", { sort }))).toEqual(expected);
    for (const limit of ["1", "2", "5"]) {
      const found: unknown[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const page: RecordPage = await list("/api/posts", { sort, limit, cursor, fields: "n" });
        expect(page.items.length).toBeLessThanOrEqual(Number(limit));
        found.push(...numbers(page));
        cursor = page.nextCursor;
      }
      expect(found).toEqual(expected);
    }
  });
});

describe("cursor", () => {
  const first = async (parameters: Record<string, string>, token?: string): Promise<string> => {
    const { nextCursor } = await list("/api/posts", { limit: "2", ...parameters }, token);
    expect(nextCursor).toBeString();
    return String(nextCursor);
  };
  const message =
    '"cursor": this list gave no such cursor: collection, filter, sort and caller must be the same as for the page before, and the text of the cursor unchanged.';

  test("goes on with other limits, fields and expansions", async () => {
    const cursor = await first({ sort: "-n", filter: "n < 9" });
    const page = await list("/api/posts", {
      sort: "-n",
      filter: "n < 9",
      cursor,
      limit: "4",
      fields: "n",
      expand: "author",
    });
    expect(numbers(page)).toEqual([6, 5, 4, 3]);
  });

  test("belongs to its list", async () => {
    const cursor = await first({ sort: "-n" });
    const cases: readonly [string, Record<string, string>, string?][] = [
      ["/api/posts", {}],
      ["/api/posts", { sort: "n" }],
      ["/api/posts", { sort: "-n,title" }],
      ["/api/posts", { sort: "-n", filter: "n > 1" }],
      ["/api/posts", { sort: "-n" }, ann.accessToken],
    ];
    for (const [path, parameters, token] of cases) {
      const search = String(new URLSearchParams({ ...parameters, cursor }));
      const [status, told] = await refusal(path, search, token);
      expect([status, told]).toEqual([400, message]);
    }
    expect((await refusal("/api/posts", `sort=-n&cursor=${cursor}`))[0]).toBe(200);
    const unsorted = await first({});
    expect((await refusal("/api/posts", `cursor=${unsorted}`))[0]).toBe(200);
    expect(await refusal("/api/comments", `cursor=${unsorted}`)).toEqual([400, message]);
    const own = await first({ sort: "-n" }, ann.accessToken);
    expect(await refusal("/api/posts", `sort=-n&cursor=${own}`)).toEqual([400, message]);
  });

  test("is refused when a character is another, missing or too much", async () => {
    const cursor = await first({ sort: "title" });
    for (let i = 0; i < cursor.length; i++) {
      const other = cursor[i] === "A" ? "B" : "A";
      for (const edited of [cursor.slice(0, i) + other + cursor.slice(i + 1), cursor.slice(0, i) + cursor.slice(i + 1)])
        expect(await refusal("/api/posts", `sort=title&cursor=${encodeURIComponent(edited)}`)).toEqual([400, message]);
    }
    for (const edited of [`${cursor}A`, `A${cursor}`, "A", "%", "null", "0", "💥", `${cursor}=`])
      expect(
        await refusal("/api/posts", `sort=title&cursor=${edited.includes("%") ? edited : encodeURIComponent(edited)}`),
      ).toEqual([400, message]);
    expect(await refusal("/api/posts", "sort=title&cursor=%ff")).toEqual([400, expect.stringContaining("no UTF-8")]);
  });

  test("for a record with a long value: the record is read again, and must still exist", async () => {
    const long = (end: string): string => `zz${"é".repeat(3_000)}${end}`;
    const ids = [
      await create("posts", { title: long("a") }),
      await create("posts", { title: long("b") }),
      await create("posts", { title: long("c") }),
    ];
    const query = { sort: "-title", limit: "1", fields: "id" };
    const one = await list("/api/posts", query);
    expect(String(one.nextCursor).length).toBeLessThan(200);
    const two = await list("/api/posts", { ...query, cursor: String(one.nextCursor) });
    expect([one, two].map(({ items }) => items[0]?.id)).toEqual([ids[2], ids[1]]);
    const third = await list("/api/posts", { ...query, cursor: String(two.nextCursor) });
    expect(third.items[0]?.id).toBe(ids[0]);
    await request("PUT", `/api/posts/${ids[1]}`, { body: { title: long("0") }, token: ann.accessToken });
    expect(
      (await refusal("/api/posts", String(new URLSearchParams({ ...query, cursor: String(two.nextCursor) }))))[0],
    ).toBe(400);
    await request("DELETE", `/api/posts/${ids[1]}`, { token: ann.accessToken });
    expect(
      await refusal("/api/posts", String(new URLSearchParams({ ...query, cursor: String(two.nextCursor) }))),
    ).toEqual([400, '"cursor": the record that it stands at has changed or is gone; begin with the first page.']);
    for (const id of ids) await request("DELETE", `/api/posts/${id}`, { token: ann.accessToken });
  });
});

describe("fields and expand", () => {
  test("only the named fields, in the order of the collection", async () => {
    const page = await list("/api/posts", { fields: "n,id,title", filter: "n = 1" });
    expect(page.items.map((item) => JSON.stringify(item))).toEqual([`{"id":"${posts[1]}","title":"t1","n":1}`]);
  });

  test("paths into JSON; a missing part is left out", async () => {
    const page = await list("/api/posts", { fields: "meta.size,meta.none", filter: "n in (4, 5)" });
    expect<unknown>(page.items).toEqual([{ meta: null }, { meta: { size: 4 } }]);
  });

  test("forward and backward, deeper, and deleted records", async () => {
    const page = await list("/api/posts", {
      filter: "n <= 3",
      sort: "n",
      fields: "n",
      expand: "author.boss,comments(post).post",
    });
    const shown = page.items.map(({ n, expand }) => [n, expand]);
    const comment = (text: string, post: number) =>
      expect.objectContaining({ text, expand: { post: expect.objectContaining({ id: posts[post], n: post }) } });
    expect<unknown>(shown).toEqual([
      [
        0,
        {
          author: expect.objectContaining({ id: ada, expand: { boss: expect.objectContaining({ id: boss }) } }),
          "comments(post)": [comment("c4", 0), comment("c2", 0), comment("c0", 0)],
        },
      ],
      [
        1,
        {
          author: expect.objectContaining({ name: "Boss", expand: { boss: null } }),
          "comments(post)": [comment("c3", 1), comment("c1", 1)],
        },
      ],
      [2, { author: null, "comments(post)": [] }],
      [3, { author: null, "comments(post)": [] }],
    ]);
  });

  test("for a single record, after its existence was checked", async () => {
    const answer = await request("GET", `/api/posts/${posts[0]}?fields=n,author.name&expand=comments(post)`);
    expect(answer.status).toBe(200);
    expect<unknown>(answer.body).toEqual({
      n: 0,
      expand: { author: { name: "Ada" }, "comments(post)": [expect.anything(), expect.anything(), expect.anything()] },
    });
    expect((await request("GET", "/api/posts/rec_none?fields=zzz")).status).toBe(404);
    expect((await refusal(`/api/posts/${posts[0]}`, "fields=zzz"))[0]).toBe(400);
    expect<unknown>((await request("GET", `/api/posts/${posts[0]}?filter=zzz`)).body["n"]).toBe(0);
  });

  test("more than a thousand records that point here: the newest, shared out", async () => {
    const few = await create("posts", { title: "few", n: 100 });
    const many = await create("posts", { title: "many", n: 101 });
    for (let n = 0; n < 1_003; n++) await create("comments", { text: `m${n}`, post: many });
    await create("comments", { text: "one", post: few });
    const expand = "comments(post)";
    const alone = await list("/api/posts", { filter: "n = 101", expand, fields: "n,comments(post).text" });
    const texts = (page: RecordPage, at: number): unknown =>
      Object.values(page.items[at]?.["expand"] ?? {})
        .flat()
        .map((comment) => Object.values(comment ?? {})[0]);
    expect<unknown>(texts(alone, 0)).toEqual(Array.from({ length: 1_000 }, (_, n) => `m${1_002 - n}`));
    const both = await list("/api/posts", { filter: "n >= 100", sort: "n", expand, fields: "n,comments(post).text" });
    expect(texts(both, 0)).toEqual(["one"]);
    expect<unknown>(texts(both, 1)).toEqual(Array.from({ length: 999 }, (_, n) => `m${1_002 - n}`));
  });
});

describe("an error is a 400 that names the problem", () => {
  test.each([
    ["sort=n desc", '"sort": "n desc" is no field; did you mean "-n"?'],
    ["expand=comments", '"expand": "comments" is no field; did you mean "comments(post)"?'],
    ["fields=title,comments", '"fields": "comments" is no field; did you mean "comments(post)"?'],
    [
      "fields=title,comments(post)",
      '"fields": "comments(post)" stands for records; name a field of theirs, such as "comments(post).text", or "comments(post).*".',
    ],
    ["sort=meta.%00", '"sort": "meta.\\u0000" is no path: "\\u0000" is no name.'],
    ["sort=meta.a%5C", '"sort": "meta.a\\\\" is no path: "a\\\\" is no name.'],
    ["sort=meta..a", '"sort": "meta..a" is no path: "" is no name.'],
    ["fields=meta.", '"fields": "meta." is no path: "" is no name.'],
    ["filter=n in (n,n", '"filter": at position 10: expected "," or ")", found the end.'],
    [`filter=n in (${"n,".repeat(100)}n)`, '"filter": at position 205: more than 100 comparisons.'],
    [
      "offset=9007199254740992",
      '"offset": it must be a whole number from 0 to 9007199254740991, not "9007199254740992".',
    ],
    ["filter=n", '"filter": at position 2: expected = != > >= < <= ~ !~ or in, found the end.'],
    [
      "filter=n=%225%22",
      '"filter": at position 3: "n", a number, cannot be compared with "5", a text; expected a number such as 5.',
    ],
    ["filter=x=1", '"filter": at position 1: "posts" has no field "x"; did you mean "n"?'],
    [
      `filter=${"n=1||".repeat(14_000)}n=1`,
      '"filter": at position 1: 70003 bytes are too many; at most 65536 are allowed.',
    ],
    ["sort=titel", '"sort": "posts" has no field "titel"; did you mean "title"?'],
    ["sort=n,,title", '"sort": there is a comma too much, or a name is missing.'],
    ["sort=n,-n", '"sort": "n" is there twice.'],
    ["sort=n,on,due,title,score,id", '"sort": at most 5 fields are allowed.'],
    ["sort=meta", '"sort": "meta" is JSON; name what is in it, such as meta.size.'],
    ["sort=title.x", '"sort": "title" is a text: only relations and json have something in them.'],
    ["limit=0", '"limit": it must be a whole number from 1 to 1000, not "0".'],
    ["limit=1001", '"limit": it must be a whole number from 1 to 1000, not "1001".'],
    ["limit=1e9", '"limit": it must be a whole number from 1 to 1000, not "1e9".'],
    ["limit=-1", '"limit": it must be a whole number from 1 to 1000, not "-1".'],
    ["limit=1.5", '"limit": it must be a whole number from 1 to 1000, not "1.5".'],
    ["offset=-1", '"offset": it must be a whole number from 0 to 9007199254740991, not "-1".'],
    ["offset=1&cursor=x", '"offset": it cannot stand beside "cursor", which says where the page begins.'],
    ["count=yes", '"count": it must be exact, not "yes".'],
    ["limit=1&limit=2", '"limit" is there twice; give it once.'],
    [
      "fields=n,zzz",
      '"fields": "posts" has no field "zzz"; there are: id, createdAt, updatedAt, title, n, score, on, due, meta, author, by.',
    ],
    [
      "fields=title.x",
      '"fields": "title" is no relation; name a relation, or as in "comments(post)" a collection and its field that points here.',
    ],
    ["fields=n,", '"fields": there is a comma too much, or a name is missing.'],
    ["fields=by.passwordHash", '"fields": "users" has no field "passwordHash"; there are: id, email, role, createdAt.'],
    [
      "expand=title",
      '"expand": "title" is no relation; name a relation, or as in "comments(post)" a collection and its field that points here.',
    ],
    ["expand=autor", '"expand": "posts" has no field "autor"; did you mean "author"?'],
    ["expand=comment(post)", '"expand": there is no "comment(post)" that points to "posts"; did you mean "comments"?'],
    ["expand=comments(text)", '"expand": "comments(text)" does not point to "posts"; it has comments(post).'],
    [
      "expand=authors(boss)",
      '"expand": "authors(boss)" does not point to "posts"; no field of "authors" points to "posts".',
    ],
    ["expand=author.boss.boss.boss", '"expand": "author.boss.boss.boss" leads more than 3 relations deep.'],
    [
      "expand=users(id)",
      '"expand": there is no "users(id)" that points to "posts"; there are: authors, comments, odd, posts.',
    ],
    [`expand=${"author,".repeat(20)}author`, '"expand": at most 20 paths are allowed.'],
  ])("%s", async (search, message) => {
    const { status, body } = await request("GET", `/api/posts?${search}`);
    expect<unknown[]>([status, body["error"]?.["code"], body["error"]?.["message"]]).toEqual([
      400,
      "bad_request",
      message,
    ]);
    expect(Object.keys(body)).toEqual(["error"]);
  });

  test.each([
    "'",
    '"',
    "`",
    ";",
    "--",
    "/*",
    ")",
    "\0",
    "\\",
    "%00",
    "[",
    "__proto__",
    "constructor",
    "_seq",
    "_owner",
    "rowid",
    "id) OR (1=1",
  ])("%s in every position gets nowhere", async (text) => {
    const seen = new Set<number>();
    const wrong = encodeURIComponent(text);
    for (const search of [
      `filter=${wrong}`,
      `filter=${wrong}%20=%201`,
      `filter=title%20=%20${wrong}`,
      `filter=meta.${wrong}%20=%201`,
      `filter=author.${wrong}%20=%201`,
      `sort=${wrong}`,
      `sort=-${wrong}`,
      `sort=n,author.${wrong}`,
      `fields=${wrong}`,
      `fields=author.${wrong}`,
      `expand=${wrong}`,
      `expand=comments(${wrong})`,
      `expand=${wrong}(post)`,
      `limit=${wrong}`,
      `offset=${wrong}`,
      `cursor=${wrong}`,
      `count=${wrong}`,
    ]) {
      const { status, body } = await request("GET", `/api/posts?${search}`);
      seen.add(status);
      // Members of JSON may have many names; such names do not exist.
      if (status === 200) expect<unknown>([search, body["items"]]).toEqual([search, []]);
    }
    expect([...seen].filter((status) => status !== 400 && status !== 200)).toEqual([]);
    expect((await list("/api/posts", { filter: "n < 3" })).items).toHaveLength(3);
  });
});
