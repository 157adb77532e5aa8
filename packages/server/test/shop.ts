/** A small shop for the tests of transactions and hooks: items with a stock, orders, and an endpoint with a transaction. */
import { openScripts, type TestScripts } from "./scripts.ts";

export const items = {
  name: "items",
  fields: [
    { name: "title", type: "string", max: 20 },
    { name: "stock", type: "integer", min: 0 },
  ],
  search: ["title"],
};
const orders = {
  name: "orders",
  fields: [
    { name: "item", type: "relation", collection: "items" },
    { name: "buyer", type: "string", unique: true },
  ],
};

/** A service with an endpoint `run`. */
export function openShop(endpoint: string, more: { readonly [path: string]: string } = {}): Promise<TestScripts> {
  return openScripts({
    collections: [items, orders],
    files: { "endpoints/run.ts": `export const access = "public";\n${endpoint}`, ...more },
  });
}

/** The JSON of an endpoint's answer. */
export async function endpoint(
  api: TestScripts,
  path: string,
  more: { method: string; body?: object },
): Promise<unknown> {
  const { method, ...options } = more;
  const { bytes } = await api.request(method, `/api/function/${path}`, options);
  return JSON.parse(new TextDecoder().decode(bytes));
}

interface Told {
  readonly value?: unknown;
  readonly error?: string;
  readonly code?: string | null;
  readonly calls: number;
}

/** The answer of the endpoint `run`. */
export async function post(api: TestScripts, body: object = {}): Promise<Told> {
  return (await endpoint(api, "run", { method: "POST", body })) as Told;
}

/** The records of a collection, newest first. */
export async function all(api: TestScripts, collection: string): Promise<Record<string, unknown>[]> {
  return (await api.request("GET", `/api/${collection}`)).body["items"] as unknown as Record<string, unknown>[];
}

/** An endpoint whose transaction is `body`, and which answers the value or the error of the transaction. */
export function handler(body: string): string {
  return `export const POST = async (request, { db, jobs }) => {
    const given = await request.json();
    let calls = 0;
    try {
      const value = await db.transaction(async (tx) => { calls += 1; ${body} });
      return Response.json({ value: value ?? null, calls });
    } catch (error) {
      return Response.json({ error: error.message, code: error.code ?? null, calls });
    }
  };`;
}
