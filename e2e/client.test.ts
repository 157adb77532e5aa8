import { describe, expect, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { filter, SocleClient, SocleError } from "../packages/client/src/index.ts";
import { copyExample, serve, socle, temporaryFolder } from "./kit.ts";

interface Post {
  id: string;
  createdAt: string;
  updatedAt: string;
  title: string;
  body: string;
  slug: string | null;
  tags: string[] | null;
  publishedAt: string | null;
  author: string;
  writer: string | null;
}

const cwd = temporaryFolder();
copyExample("blog", cwd);
await socle(["seed", "seed.json"], { cwd });
const server = await serve(cwd, { args: ["--port", "0"], env: { SERVICE_AUTH_ACCESS_TOKEN_TTL: "1s" } });

async function failure(promise: Promise<unknown>): Promise<SocleError> {
  const thrown = await promise.then(() => null).catch((error: unknown) => error);
  if (thrown instanceof SocleError) return thrown;
  throw new Error("expected a SocleError");
}

describe("the client against the blog", () => {
  test("pages of matching records, with values that a person typed", async () => {
    const ada = new SocleClient({ baseUrl: server.url });
    const me = await ada.login({ email: "ada@example.com", password: "ada's password" });
    const posts = ada.collection<Post>("posts");
    const { items: profiles } = await ada.collection("profiles").page({ filter: filter`user = ${me.id}` });
    const author = profiles[0]?.id ?? "";
    const titles = ['A "quoted" one', "A plain one", "Another"];
    const made = await Promise.all(titles.map((title) => posts.create({ title, body: "paged", author })));
    const query = { filter: filter`body = ${"paged"} && title ~ ${'a "quoted'}`, sort: "title", limit: 1 };
    expect((await posts.page(query)).items.map(({ title }) => title)).toEqual([titles[0] ?? ""]);
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page: RecordPage<Post> = await posts.page({
        filter: "body = 'paged'",
        sort: "-title",
        limit: 2,
        cursor,
        count: "exact",
      });
      expect(page.total).toBe(3);
      found.push(...page.items.map(({ title }) => title));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(found).toEqual([...titles].sort().reverse());
    const one = await posts.get<{ title: string; expand: object }>(made[0]?.id ?? "", {
      fields: "title,author.name,writer.email",
    });
    expect(one).toEqual({
      title: titles[0] ?? "",
      expand: { author: { name: profiles[0]?.["name"] }, writer: { email: "ada@example.com" } },
    });
    expect(await failure(posts.page({ filter: "title =" }))).toMatchObject({ status: 400, code: "bad_request" });
    for (const { id } of made) await posts.delete(id);
    ada.close();
  });

  test("from sign-in to delete, as a user and against another", async () => {
    const ada = new SocleClient({ baseUrl: `${server.url}/` });
    const me = await ada.login({ email: "ada@example.com", password: "ada's password" });
    expect(await ada.me()).toEqual(me);
    const posts = ada.collection<Post>("posts");
    const [profile] = (await ada.collection("profiles").list()).filter((item) => item["user"] === me.id);
    const post = await posts.create({
      title: "Typed",
      body: "…",
      slug: "typed",
      tags: ["a"],
      author: profile?.id ?? "",
    });
    expect(post).toMatchObject({ title: "Typed", tags: ["a"], publishedAt: null, writer: me.id });
    expect(await posts.get(post.id)).toEqual(post);
    expect(await posts.update(post.id, { publishedAt: "2026-02-01" })).toMatchObject({
      publishedAt: "2026-02-01T00:00:00.000Z",
    });

    const grace = new SocleClient({ baseUrl: server.url });
    await grace.login({ email: "grace@example.com", password: "grace's password" });
    expect(await failure(grace.collection("posts").delete(post.id))).toMatchObject({ status: 403, code: "forbidden" });
    const taken = await failure(
      grace.collection<Post>("posts").create({ title: "x", body: "y", slug: "typed", author: profile?.id ?? "" }),
    );
    expect(taken.details).toEqual([{ field: "slug", rule: "unique", message: expect.any(String) }]);
    expect(taken.requestId).not.toBeNull();

    const stale = { ifMatch: post };
    expect(await failure(posts.update(post.id, { title: "x" }, stale))).toMatchObject({
      status: 412,
      code: "conflict",
    });
    expect(await failure(posts.delete(post.id, stale))).toMatchObject({ status: 412, code: "conflict" });
    await posts.delete(post.id, { ifMatch: await posts.get(post.id) });
    expect((await failure(posts.get(post.id))).status).toBe(404);
  });

  test("an expired access token is renewed, once for all waiting requests", async () => {
    let renewals = 0;
    const client = new SocleClient({
      baseUrl: server.url,
      onTokens: () => {
        renewals += 1;
      },
    });
    const me = await client.register({ email: "patient@example.com", password: "long enough" });
    const headers = { Authorization: `Bearer ${client.accessToken}` };
    while ((await fetch(`${server.url}/api/auth/me`, { headers })).status !== 401) await Bun.sleep(20);
    const answers = await Promise.all([client.me(), client.me(), client.collection("posts").list()]);
    expect<unknown>(answers[0]).toEqual(me);
    expect(renewals).toBe(2);
    await client.logout();
    expect((await failure(client.me())).status).toBe(401);
  });
});
