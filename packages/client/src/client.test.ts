/**
 * The types of the client: `npm run check` fails where a line below a `@ts-expect-error` is accepted. And what it says in a
 * runtime without a WebSocket.
 */
import { expect, test } from "bun:test";
import type { SystemFields } from "@socle/protocol";
import { type NewRecord, SocleClient } from "./index.ts";

interface Post extends SystemFields {
  title: string;
  done: boolean;
  slug: string | null;
  tags?: string[];
}

/** As `socle types` writes it. */
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
    update: { text?: string | null };
    owner: never;
  };
}

test("create demands what is required", () => {
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
    // @ts-expect-error there is no such field
    () => client.collection("notes").create({ titel: "a" }),
    // @ts-expect-error null is no title
    () => client.collection("posts").update("rec_1", { title: null }),
    // @ts-expect-error there is no such collection
    () => client.collection("post"),
    () => plain.collection("anything").create({ any: "thing" }),
    () => plain.collection<Post>("posts").create({ title: "a", done: true }),
    // @ts-expect-error done is missing
    () => plain.collection<Post>("posts").create({ title: "a" }),
  ];
  expect(checks(new SocleClient<Collections>({ baseUrl: "" }), new SocleClient({ baseUrl: "" }))).toHaveLength(12);
});

test("without a WebSocket, subscribe says what to pass", () => {
  const own = globalThis.WebSocket;
  Reflect.deleteProperty(globalThis, "WebSocket");
  try {
    const client = new SocleClient({ baseUrl: "http://127.0.0.1:1" });
    expect(() => client.subscribe("posts.*", () => undefined)).toThrow(/has no WebSocket.*webSocket: WebSocket/);
  } finally {
    globalThis.WebSocket = own;
  }
});
