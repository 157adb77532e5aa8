/** Frameworks behind catch-all endpoints, as docs/frameworks.md prints the files; and schemas of three libraries, with the types of the values. */
import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { printedProject, root, serve, socle } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const { cwd, paths } = await printedProject("frameworks.md");
symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));
const open = 'export const access: EndpointAccess = "public";\n';
/** An endpoint with the same schemas in three libraries. The handler asserts the types of the values. */
function checked(imports: string, schemas: { body: string; query: string; answer: string }): string {
  return `${imports}\n${open}
export const POST = endpoint({ body: ${schemas.body}, query: ${schemas.query}, answer: ${schemas.answer} }, ({ body, query, params, user }) => {
  const n: number = body.n;
  const tag: string | undefined = query.tag;
  // @ts-expect-error: the schema of the body has no such value.
  body.more;
  // @ts-expect-error: a number is no string.
  const text: string = body.n;
  return { n: n + 1, tag: tag ?? user?.email ?? String(params["id"] ?? text) };
});
// @ts-expect-error: the schema of the answer asks for a number.
export const PUT = endpoint({ answer: ${schemas.answer} }, () => ({ n: "x", tag: "y" }));
`;
}
await write(cwd, {
  ".env": `BETTER_AUTH_SECRET=${crypto.randomUUID()}${crypto.randomUUID()}\nBETTER_AUTH_TELEMETRY=0\n`,
  "endpoints/checked/zod.ts": checked('import { z } from "zod";', {
    body: "z.object({ n: z.int().min(1) })",
    query: "z.object({ tag: z.string().optional() })",
    answer: "z.object({ n: z.number(), tag: z.string() })",
  }),
  "endpoints/checked/valibot.ts": checked('import * as v from "valibot";', {
    body: "v.object({ n: v.pipe(v.number(), v.integer(), v.minValue(1)) })",
    query: "v.object({ tag: v.optional(v.string()) })",
    answer: "v.objectAsync({ n: v.number(), tag: v.string() })",
  }),
  "endpoints/checked/arktype.ts": checked('import { type } from "arktype";', {
    body: 'type({ n: "number.integer >= 1" })',
    query: 'type({ "tag?": "string" })',
    answer: 'type({ n: "number", tag: "string" })',
  }),
});
const server = await serve(cwd);
const api = `${server.url}/api/function`;

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const all = { "Content-Type": "application/json", Origin: server.url, ...headers };
  return fetch(`${api}${path}`, { method: "POST", headers: all, body: JSON.stringify(body) });
}

test("the files type-check, and load", async () => {
  expect(paths).toHaveLength(5);
  const { code, stdout } = await socle(["check"], { cwd });
  expect([stdout, code]).toEqual(["", 0]);
});

test("Hono", async () => {
  const made = await post("/shop/orders", { amount: 5 });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  expect(await (await fetch(`${api}/shop/orders/${id}`)).json()).toMatchObject({ id, amount: 5 });
  const missing = await fetch(`${api}/shop/orders/rec_none`);
  expect([missing.status, await missing.text()]).toEqual([404, "404 Not Found"]);
  expect((await fetch(`${api}/shop`)).status).toBe(404);
  expect((await fetch(`${api}/shop/orders/${id}`, { method: "HEAD" })).status).toBe(200);
});

test("tRPC", async () => {
  const made = (await (await post("/trpc/create", { amount: 6 })).json()) as { result: { data: { id: string } } };
  const input = encodeURIComponent(JSON.stringify({ 0: made.result.data.id, 1: "rec_none" }));
  const batch = await fetch(`${api}/trpc/order,order?batch=1&input=${input}`);
  expect([batch.status, await batch.json()]).toEqual([
    200,
    [{ result: { data: expect.objectContaining({ amount: 6 }) } }, { result: { data: null } }],
  ]);
  const refused = await post("/trpc/create", { amount: 0 });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("BAD_REQUEST")]);
});

test("GraphQL Yoga", async () => {
  const { id } = (await (await post("/shop/orders", { amount: 7 })).json()) as { id: string };
  const query = "query ($id: ID!) { order(id: $id) { amount } }";
  const answer = await post("/graphql", { query, variables: { id } });
  expect([answer.status, await answer.json()]).toEqual([200, { data: { order: { amount: 7 } } }]);
  const wrong = await post("/graphql", { query: "{ nothing }" });
  expect(await wrong.json()).toMatchObject({ errors: [{ message: expect.stringContaining("nothing") }] });
});

test("better-auth: sign-up and sign-in, with cookies that stay apart", async () => {
  const credentials = { email: "eva@example.com", password: "correct horse" };
  const cookiesOf = ({ headers }: Response): string[] => headers.getSetCookie();
  const sent = (cookies: readonly string[]): string => cookies.map((cookie) => cookie.split(";")[0]).join("; ");
  const up = await post("/auth/sign-up/email", { ...credentials, name: "Eva" });
  expect([up.status, cookiesOf(up).length > 0]).toEqual([200, true]);
  const wrong = await post("/auth/sign-in/email", { ...credentials, password: "wrong horse" });
  expect([wrong.status, cookiesOf(wrong)]).toEqual([401, []]);
  const signedIn = await post("/auth/sign-in/email", { ...credentials, rememberMe: false });
  const cookies = cookiesOf(signedIn);
  expect(signedIn.status).toBe(200);
  expect(cookies.length).toBeGreaterThan(1);
  for (const cookie of cookies) expect(cookie).toMatch(/^better-auth\.\w+=[^,]+$/);
  const session = await fetch(`${api}/auth/get-session`, { headers: { Cookie: sent(cookies) } });
  expect(await session.json()).toMatchObject({ user: { email: credentials.email, name: "Eva" } });
  expect(await (await fetch(`${api}/auth/get-session`)).json()).toBeNull();
  const out = await post("/auth/sign-out", {}, { Cookie: sent(cookies) });
  expect(out.status).toBe(200);
  expect(await (await fetch(`${api}/auth/get-session`, { headers: { Cookie: sent(cookies) } })).json()).toBeNull();
});

describe.each(["zod", "valibot", "arktype"])("%s", (library) => {
  test("checks requests and answers", async () => {
    const good = await post(`/checked/${library}?tag=x`, { n: 1 });
    expect([good.status, await good.json()]).toEqual([200, { n: 2, tag: "x" }]);
    const bad = await post(`/checked/${library}?tag=x&tag=y`, { n: 0.5 });
    expect(bad.status).toBe(400);
    const { error } = (await bad.json()) as { error: { code: string; details: { field: string; rule: string }[] } };
    expect(error.code).toBe("validation_error");
    expect([...new Set(error.details.map(({ field, rule }) => `${rule} ${field}`))].sort()).toEqual([
      "schema body.n",
      "schema query.tag",
    ]);
    const wrong = await fetch(`${api}/checked/${library}`, { method: "PUT" });
    expect(wrong.status).toBe(500);
  });
});
