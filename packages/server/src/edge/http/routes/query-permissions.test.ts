/**
 * Tests that a query tells nothing about a record that the caller may not read: neither the values nor the existence.
 */
import { describe, expect, test } from "bun:test";
import { type Answer, openApi } from "../../../../test/kit.ts";
import { relation, string } from "../../../../test/query-world.ts";

const api = await openApi({
  collections: [
    { name: "vault", fields: [string("code"), { name: "n", type: "integer" }], permissions: { read: "admin" } },
    { name: "members", fields: [string("nick"), relation("vault", "vault")], permissions: { read: "authenticated" } },
    { name: "diaries", fields: [string("entry"), relation("mood", "moods")], permissions: { read: "owner" } },
    { name: "moods", fields: [string("word")], permissions: { read: "owner" } },
    {
      name: "posts",
      fields: [
        string("title"),
        relation("vault", "vault", { anyTarget: true }),
        relation("member", "members"),
        relation("diary", "diaries"),
        relation("by", "users", { owner: true }),
      ],
    },
    { name: "hints", fields: [string("hint"), relation("post", "posts")], permissions: { read: "admin" } },
    { name: "notes", fields: [string("note"), relation("post", "posts")], permissions: { read: "owner" } },
  ],
});
const { request } = api;
const admin = await api.admin();
const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];

const add = async (collection: string, body: object, token: string): Promise<string> => {
  const answer = await request("POST", `/api/${collection}`, { body, token });
  expect(answer.status).toBe(201);
  return String(answer.body["id"]);
};

const vault = await add("vault", { code: "s3cret", n: 42 }, admin);
const member = await add("members", { nick: "nick", vault }, admin);
const mood = await add("moods", { word: "gl00my" }, bob.accessToken);
const diary = await add("diaries", { entry: "dear d1ary", mood }, bob.accessToken);
const post = await add("posts", { title: "post", vault, member, diary }, bob.accessToken);
await add("posts", { title: "other" }, bob.accessToken);
await add("hints", { hint: "h1dden", post }, admin);
const note = await add("notes", { note: "n0te", post }, bob.accessToken);

/** Everything that is hidden from at least one caller, and the tokens of these callers. */
const hiddenFrom: readonly (readonly [string, (string | undefined)[]])[] = [
  ["s3cret", [undefined, ann.accessToken, bob.accessToken]],
  ["h1dden", [undefined, ann.accessToken, bob.accessToken]],
  ["nick", [undefined]],
  ["dear d1ary", [undefined, ann.accessToken]],
  ["gl00my", [undefined, ann.accessToken]],
  ["n0te", [undefined, ann.accessToken]],
  ["bob@example.com", [undefined, ann.accessToken]],
];
const callers: readonly (readonly [string, string | undefined])[] = [
  ["nobody", undefined],
  ["ann", ann.accessToken],
  ["bob", bob.accessToken],
  ["an admin", admin],
];

const get = (path: string, token: string | undefined): Promise<Answer> =>
  request("GET", path, token === undefined ? {} : { token });
const query = (parameters: Record<string, string>, token: string | undefined, collection = "posts"): Promise<Answer> =>
  get(`/api/${collection}?${new URLSearchParams(parameters)}`, token);

describe.each(callers)("%s", (_, token) => {
  test("sees nothing hidden, by any path", async () => {
    for (const parameters of [
      { expand: "vault,member.vault,diary.mood,by,hints(post),notes(post),notes(post).post.by" },
      {
        fields:
          "title,vault.code,member.nick,member.vault.n,diary.entry,diary.mood.word,by.email,hints(post).hint,notes(post).note",
      },
      { fields: "*,by.*", expand: "diary" },
    ])
      for (const path of [
        `/api/posts?${new URLSearchParams(parameters)}`,
        `/api/posts/${post}?${new URLSearchParams(parameters)}`,
      ]) {
        const answer = await get(path, token);
        expect(answer.status).toBe(200);
        const text = JSON.stringify(answer.body);
        for (const [value, hidden] of hiddenFrom) if (hidden.includes(token)) expect(text).not.toContain(value);
      }
  });

  test("learns no hidden value by questions", async () => {
    const asked: readonly (readonly [string, string, string, boolean[]])[] = [
      // The path, a right guess, a wrong guess, and for each caller the right to read the path.
      ["vault.code", '= "s3cret"', '= "wrong"', [false, false, false, true]],
      ["vault.n", "> 41", "> 42", [false, false, false, true]],
      ["member.nick", '~ "NIC"', '~ "nock"', [false, true, true, true]],
      ["member.vault.code", "!= null", "= null", [false, false, false, true]],
      ["diary.entry", '~ "d1ary"', '~ "other"', [false, false, true, true]],
      ["diary.mood.word", 'in ("gl00my")', 'in ("happy")', [false, false, true, true]],
      ["by.email", '= "bob@example.com"', '= "eve@example.com"', [false, false, true, true]],
      ["by.role", '= "authenticated"', '= "admin"', [false, false, true, true]],
    ];
    const who = callers.findIndex(([, other]) => other === token);
    for (const [path, right, wrong, may] of asked) {
      const guesses = await Promise.all(
        [right, wrong].map((guess) => query({ filter: `title = "post" && ${path} ${guess}`, count: "exact" }, token)),
      );
      const told = guesses.map(({ status, body }) => (status === 200 ? body["total"] : status));
      const isLearnt = told[0] !== told[1];
      expect([path, isLearnt]).toEqual([path, may[who] ?? false]);
      // A caller that may read nothing at the path gets an error, not an empty list.
      const negated = await query({ filter: `!(${path} ${right})`, count: "exact" }, token);
      if (!isLearnt && negated.status === 200) expect<unknown>(negated.body["total"]).toBe(2);
    }
  });

  test("gets no order by hidden values", async () => {
    await Promise.all(
      ["vault.code", "member.nick", "diary.entry", "by.email", "member.vault.n", "diary.mood.word"].map(
        async (path) => {
          const [up, down] = await Promise.all([
            query({ sort: path, fields: "title" }, token),
            query({ sort: `-${path}`, fields: "title" }, token),
          ]);
          expect(up.status).toBe(down.status);
          if (up.status !== 200) expect([401, 403]).toContain(up.status);
          expect([up, down].map(({ body }) => JSON.stringify(body)).join()).not.toMatch(/s3cret|d1ary|gl00my/);
        },
      ),
    );
  });

  test("counts, pages and tags have only the records of the list", async () => {
    for (const collection of ["vault", "members", "diaries", "notes", "hints"]) {
      const whole = await get(`/api/${collection}`, token);
      const counted = await query({ count: "exact", limit: "1" }, token, collection);
      expect(counted.status).toBe(whole.status);
      if (whole.status !== 200) {
        expect(counted.headers.get("etag")).toBeNull();
        continue;
      }
      const shown: unknown = whole.body["items"];
      expect<unknown>(counted.body["total"]).toBe(Array.isArray(shown) ? shown.length : -1);
      expect(
        await query({ filter: "id != null", count: "exact" }, token, collection).then(({ body }) => body["total"]),
      ).toEqual(counted.body["total"]);
    }
  });
});

test("a caller without any right to read gets an error, as with the list", async () => {
  const statuses = async (token: string | undefined): Promise<number[]> =>
    Promise.all(
      [
        query({ filter: "vault.code = 'x'" }, token),
        query({ sort: "vault.code" }, token),
        query({ limit: "1" }, token, "vault"),
        query({ filter: "nonsense" }, token, "vault"),
      ].map(async (answer) => (await answer).status),
    );
  expect(await statuses(undefined)).toEqual([401, 401, 401, 401]);
  expect(await statuses(ann.accessToken)).toEqual([403, 403, 403, 403]);
});

test("unreadable relations are null, like deleted targets; an empty list means no own records", async () => {
  const expand = "vault,member,diary,by,hints(post),notes(post)";
  const [nobody, anns, bobs] = await Promise.all(
    [undefined, ann.accessToken, bob.accessToken].map(
      async (token) => (await get(`/api/posts/${post}?expand=${expand}&fields=title`, token)).body["expand"],
    ),
  );
  const nothing = { vault: null, member: null, diary: null, by: null, "hints(post)": null, "notes(post)": null };
  expect<unknown>(nobody).toEqual(nothing);
  expect<unknown>(anns).toEqual({ ...nothing, member: expect.objectContaining({ nick: "nick" }), "notes(post)": [] });
  expect<unknown>(bobs).toMatchObject({
    ...nothing,
    member: { nick: "nick" },
    diary: { entry: "dear d1ary" },
    by: { email: "bob@example.com" },
    "notes(post)": [{ id: note }],
  });
});

test("an anonymous caller equals no field: a record without owner belongs to no caller", async () => {
  const orphan = await request("POST", "/api/posts", { body: { title: "orphan" } });
  expect<unknown>(orphan.body["by"]).toBeNull();
  const total = async (filter: string, token?: string): Promise<unknown> =>
    (await query({ filter, count: "exact" }, token)).body["total"];
  expect(await total("by = @user.id")).toBe(0);
  expect(await total("by != @user.id")).toBe(3);
  expect(await total("by in (@user.id)")).toBe(0);
  expect(await total("by = null")).toBe(1);
  expect(await total("@user.id = null")).toBe(3);
  expect(await total("by = @user.id", bob.accessToken)).toBe(2);
  expect(await total("by in (@user.id, null)", bob.accessToken)).toBe(3);
  expect(await total("@user.id = null", bob.accessToken)).toBe(0);
});
