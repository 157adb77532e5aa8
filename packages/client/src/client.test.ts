/**
 * The types of the client: `npm run check` fails if a line below a `@ts-expect-error` is accepted. Also the errors of a
 * runtime without a WebSocket, and of the answers of endpoints.
 */
import { afterAll, expect, test } from "bun:test";
import type { SystemFields } from "@socle/protocol";
import { type NewRecord, SocleClient, SocleError } from "./index.ts";

interface Post extends SystemFields {
  title: string;
  done: boolean;
  slug: string | null;
  tags?: string[];
  views?: number | null;
}

/** In the form of `socle types`. */
interface Collections {
  posts: {
    record: { id: string; createdAt: string; updatedAt: string; title: string; slug: string | null; writer: string };
    create: { title: string; slug?: string | null; writer: string };
    update: { title?: string; slug?: string | null; writer?: string };
    owner: "writer";
  };
  notes: {
    record: { id: string; createdAt: string; updatedAt: string; text: string | null };
    create: { text?: string | null };
    update: {
      text?: string | null;
      stock?: number | null | { $increment: number };
      posts?: string[] | { $add?: string[]; $remove?: string[] };
    };
    owner: never;
  };
  users: {
    record: { id: string; createdAt: string; updatedAt: string; email: string; name: string | null };
    create: { name: string };
    update: { name?: string };
    owner: never;
  };
}

test("create requires the required fields", () => {
  const right: NewRecord<Post>[] = [
    { title: "a", done: false },
    { title: "a", done: true, slug: null, tags: [] },
  ];
  // @ts-expect-error title is missing
  right.push({ done: false });
  // @ts-expect-error done is missing
  right.push({ title: "a" });
  // @ts-expect-error null is no title
  right.push({ title: null, done: true });
  // @ts-expect-error system fields are the service's
  right.push({ title: "a", done: true, createdAt: "x" });
  expect(right).toHaveLength(6);
});

test("a client of a project knows its collections", () => {
  // Nothing is sent: these functions are for the compiler alone.
  const checks = (client: SocleClient<Collections>, plain: SocleClient): unknown[] => [
    () => client.collection("posts").create({ title: "a" }),
    () => client.collection("posts").create({ title: "a", writer: "usr_1", slug: null }),
    () => client.collection("notes").create({}),
    async () => (await client.collection("posts").get("rec_1")).title.toUpperCase(),
    () => client.collection("posts").update("rec_1", { slug: null }),
    // @ts-expect-error title is missing
    () => client.collection("posts").create({ slug: "a" }),
    // @ts-expect-error the field does not exist
    () => client.collection("notes").create({ titel: "a" }),
    // @ts-expect-error null is no title
    () => client.collection("posts").update("rec_1", { title: null }),
    // @ts-expect-error the collection does not exist
    () => client.collection("post"),
    () => client.collection("notes").update("rec_1", { stock: { $increment: -1 }, posts: { $add: ["a"] } }),
    // @ts-expect-error a number of a sum
    () => client.collection("notes").update("rec_1", { stock: { $increment: "1" } }),
    // @ts-expect-error a text takes no operator
    () => client.collection("notes").update("rec_1", { text: { $add: ["a"] } }),
    () =>
      client.batch([
        { method: "create", collection: "posts", body: { title: "a" } },
        {
          method: "update",
          collection: "notes",
          id: "rec_1",
          body: { stock: { $increment: 1 }, posts: { $add: [{ $ref: 0 }], $remove: ["rec_2"] } },
        },
        { method: "update", collection: "notes", id: "rec_2", body: { posts: [{ $ref: 0 }, "rec_2"] } },
      ]),
    async () => (await client.collection("users").get("usr_1")).name?.toUpperCase(),
    () => client.collection("users").update("usr_1", { name: "a" }),
    // @ts-expect-error the email is no field to write
    () => client.collection("users").update("usr_1", { email: "a@example.com" }),
    // @ts-expect-error users register
    () => client.collection("users").create({ name: "a" }),
    () => client.register({ email: "a@example.com", password: "x", name: "a" }),
    // @ts-expect-error name is missing
    () => client.register({ email: "a@example.com", password: "x" }),
    () => plain.register({ email: "a@example.com", password: "x", name: "a" }),
    // @ts-expect-error an operator that does not exist
    () => client.batch([{ method: "update", collection: "notes", id: "rec_1", body: { posts: { $ad: ["a"] } } }]),
    () => plain.collection<Post>("posts").update("rec_1", { views: { $increment: 1 }, tags: { $remove: ["a"] } }),
    // @ts-expect-error a boolean takes no operator
    () => plain.collection<Post>("posts").update("rec_1", { done: { $increment: 1 } }),
    () => plain.collection("anything").update("rec_1", { count: { $increment: 1 } }),
    () => plain.collection("anything").create({ any: "thing" }),
    () => plain.collection<Post>("posts").create({ title: "a", done: true }),
    // @ts-expect-error done is missing
    () => plain.collection<Post>("posts").create({ title: "a" }),
  ];
  expect(checks(new SocleClient<Collections>({ baseUrl: "" }), new SocleClient({ baseUrl: "" }))).toHaveLength(27);
});

test("without a WebSocket, subscribe names the option to pass", () => {
  const own = globalThis.WebSocket;
  Reflect.deleteProperty(globalThis, "WebSocket");
  try {
    const client = new SocleClient({ baseUrl: "http://127.0.0.1:1" });
    expect(() => client.subscribe("posts.*", () => undefined)).toThrow(/has no WebSocket.*webSocket: WebSocket/);
  } finally {
    globalThis.WebSocket = own;
  }
});

const answers: Record<string, () => Response> = {
  service: () =>
    Response.json({ error: { code: "validation_error", message: "no", details: [{ field: "a" }] } }, { status: 400 }),
  text: () => new Response("There is no such order\n", { status: 404 }),
  json: () => Response.json({ reason: "sold out" }, { status: 409 }),
  odd: () => Response.json({ error: "sold out" }, { status: 422 }),
  nothing: () => Response.json(null, { status: 403 }),
  page: () => new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "Content-Type": "text/html" } }),
  long: () => new Response("x".repeat(2_000), { status: 400 }),
  empty: () => new Response(null, { status: 429, headers: { "Retry-After": "7" } }),
};
const server = Bun.serve({
  port: 0,
  fetch: ({ url }) => answers[url.slice(url.lastIndexOf("/") + 1)]?.() ?? new Response(null, { status: 500 }),
});
afterAll(() => server.stop(true));

test.each([
  ["service", 400, "validation_error", "no", { error: expect.objectContaining({ message: "no" }) }],
  ["text", 404, "not_found", "There is no such order", "There is no such order\n"],
  ["json", 409, "conflict", "HTTP 409", { reason: "sold out" }],
  ["odd", 422, "bad_request", "HTTP 422", { error: "sold out" }],
  ["nothing", 403, "forbidden", "HTTP 403", null],
  ["page", 502, "unavailable", "HTTP 502", "<h1>Bad gateway</h1>"],
  ["long", 400, "bad_request", "HTTP 400", "x".repeat(2_000)],
  ["empty", 429, "rate_limited", "HTTP 429", ""],
])("the error of an endpoint: %s", async (path, status, code, message, body) => {
  const client = new SocleClient({ baseUrl: server.url.origin });
  const thrown: unknown = await client.function(path).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(SocleError);
  expect(thrown).toMatchObject({ status, code, message });
  expect((thrown as SocleError).body).toEqual(body);
  expect((thrown as SocleError).details).toHaveLength(path === "service" ? 1 : 0);
});
