/** For tests of queries: posts with authors, comments and owners, and requests for the posts. */
import { expect } from "bun:test";
import type { RecordPage, TokenResponse } from "@socle/protocol";
import { openApi, type TestApi } from "./kit.ts";

export const string = (name: string) => ({ name, type: "string" });
export const relation = (name: string, collection: string, more: object = {}) => ({
  name,
  type: "relation",
  collection,
  ...more,
});
export interface QueryWorld {
  api: TestApi;
  request: TestApi["request"];
  ann: TokenResponse;
  /** The ids of two authors. */
  boss: string;
  ada: string;
  /** The ids of the posts, in the order of `n`. */
  posts: string[];
  create(collection: string, body: object): Promise<string>;
  list(path: string, parameters: Record<string, string>, token?: string): Promise<RecordPage>;
  /** The status and the message of a refused request. */
  refusal(path: string, search: string, token?: string): Promise<[number, unknown]>;
}

/** The values of `n`. */
export const numbers = ({ items }: RecordPage): unknown[] => items.map(({ n }) => n);

/** Twelve posts with values of all kinds, null included; every query is logged as a slow query. */
export async function openQueryWorld(): Promise<QueryWorld> {
  const api = await openApi({
    collections: [
      { name: "authors", fields: [string("name"), relation("boss", "authors")] },
      {
        name: "posts",
        fields: [
          string("title"),
          { name: "n", type: "integer" },
          { name: "score", type: "float" },
          { name: "on", type: "boolean" },
          { name: "due", type: "datetime" },
          { name: "meta", type: "json" },
          relation("author", "authors"),
          relation("by", "users", { owner: true }),
        ],
      },
      { name: "comments", fields: [string("text"), relation("post", "posts")] },
      { name: "odd", fields: [string("rowid"), string("select"), string("in"), string("expand"), string("toString")] },
    ],
    settings: { SERVICE_LOG_SLOW_QUERY: "0" },
  });
  const { request } = api;
  const ann = await api.register("ann@example.com");

  async function create(collection: string, body: object): Promise<string> {
    const answer = await request<{ id: string }>("POST", `/api/${collection}`, { body, token: ann.accessToken });
    expect(answer.status).toBe(201);
    return answer.body.id;
  }

  async function list(path: string, parameters: Record<string, string>, token?: string): Promise<RecordPage> {
    const search = new URLSearchParams(parameters);
    const answer = await request<RecordPage>("GET", `${path}?${search}`, token === undefined ? {} : { token });
    if (answer.status !== 200) throw new Error(`${path}?${search}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async function refusal(path: string, search: string, token?: string): Promise<[number, unknown]> {
    const { status, body } = await request("GET", `${path}?${search}`, token === undefined ? {} : { token });
    return [status, body["error"]?.["message"]];
  }

  const boss = await create("authors", { name: "Boss" });
  const ada = await create("authors", { name: "Ada", boss });
  const gone = await create("authors", { name: "Gone" });
  const posts: string[] = [];
  for (let n = 0; n < 12; n++)
    posts.push(
      await create("posts", {
        title: n % 4 === 0 ? null : `t${n % 3}`,
        n,
        score: n / 2 - 2,
        on: [true, false, null][n % 3],
        due: n % 2 === 0 ? `2026-03-0${1 + (n % 5)}` : null,
        meta: n === 5 ? null : { size: n, list: ["a", `b${n}`] },
        author: [ada, boss, gone, null][n % 4],
      }),
    );
  await request("DELETE", `/api/authors/${gone}`, { token: ann.accessToken });
  for (let n = 0; n < 5; n++) await create("comments", { text: `c${n}`, post: posts[n % 2] });
  return { api, request, ann, boss, ada, posts, create, list, refusal };
}
