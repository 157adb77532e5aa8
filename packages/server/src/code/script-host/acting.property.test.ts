/**
 * `db.as` against HTTP: whatever the schema, the rules and the records, a read or write of code under the rules of a caller has the
 * outcome of the same request with the caller's access token. A read is made alone, in a transaction, and after a write of the
 * transaction. A write is made over HTTP and taken back, and then made by code on an equal record.
 */
import { expect, test } from "bun:test";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { type Actor, type Asked, type Cast, openCast } from "../../../test/rules/cast.ts";
import { Generator } from "../../../test/rules/generate.ts";
import { Model, type ModelCollection, type ModelRecord, ownerField, recordItems } from "../../../test/rules/model.ts";
import { questionsFor } from "../../../test/rules/questions.ts";
import { openScripts } from "../../../test/scripts.ts";
import { listen } from "../../../test/sockets.ts";

/** Reads and writes that are compared, each of which may be made in several ways. */
const comparisons = isLong ? 20_000 : 250;
const perSchema = isLong ? 250 : 125;

/** Makes a request as calls of `db.as`. `way`: alone, in a transaction, after a write of a transaction, or as a batch. */
const handler = `export const access = "public";
const rollback = new Error("taken back");
async function call(db, { method, path, body }) {
  const url = new URL(path, "http://x");
  const [, , name, id] = url.pathname.split("/");
  const records = db.collection(name);
  if (method === "POST") return await records.create(body);
  if (method === "PUT") return await records.update(id, body);
  if (method === "DELETE") return (await records.delete(id)) && null;
  if (id !== undefined) return await records.get(id);
  if (url.search === "") return { items: [...await records.list()] };
  const { items, nextCursor, total } = await records.list(Object.fromEntries(url.searchParams));
  return { items, nextCursor, total };
}
export const POST = async (request, { db }) => {
  const { as, way, ...asked } = await request.json();
  try {
    if (way === "alone") return Response.json({ body: await call(db.as(as), asked) });
    if (way === "batch") {
      const [, , collection, id] = asked.path.split("/");
      const method = { POST: "create", PUT: "update", DELETE: "delete" }[asked.method];
      const operation = { method, collection, ...(id && { id }), ...(asked.body && { body: asked.body }) };
      return Response.json({ body: (await db.as(as).batch([operation]))[0] });
    }
    if (asked.method !== "GET") return Response.json({ body: await db.transaction((tx) => call(tx.as(as), asked)) });
    let found;
    await db.transaction(async (tx) => {
      if (way === "own") await tx.ending.create({ n: 1 });
      found = await call(tx.as(as), asked);
      if (way === "own") throw rollback;
    }).catch((error) => { if (error !== rollback) throw error; });
    return Response.json({ body: found });
  } catch (error) {
    return Response.json({ error: { code: error.code ?? String(error), details: error.details } });
  }
};`;

type Way = "alone" | "transaction" | "own" | "batch";

/** The outcome of a request, in a form that can be compared. */
interface Outcome {
  readonly body?: unknown;
  readonly error?: { readonly code: string; readonly details: unknown };
}

/** An outcome without values that differ between two equal requests: the tokens of cursors and, for writes, ids and times. */
function comparable({ body, error }: Outcome, isWrite: boolean): Outcome {
  if (error !== undefined) return { error: { code: error.code, details: error.details ?? null } };
  if (typeof body !== "object" || body === null) return { body: null };
  if (isWrite) return { body: { ...body, id: "", createdAt: "", updatedAt: "" } };
  const page = body as { nextCursor?: string | null };
  return { body: "nextCursor" in body ? { ...body, nextCursor: page.nextCursor !== null } : body };
}

class Comparison {
  readonly #cast: Cast;
  readonly #generator: Generator;
  #collections: readonly ModelCollection[];
  #model: Model;
  #secrets = 0;
  done = 0;
  /** The codes of the compared refusals, and how many calls were not refused. */
  readonly outcomes = new Map<string, number>();

  constructor(cast: Cast, choose: (bound: number) => number) {
    this.#cast = cast;
    this.#generator = new Generator(choose);
    this.#collections = this.#generator.collections();
    this.#model = new Model(this.#collections, new Map());
  }

  async run(): Promise<void> {
    const generator = this.#generator;
    for (const user of this.#cast.users) await this.#cast.setRole(user, "authenticated");
    await this.#define([]);
    await this.#define(this.#model.definitions());
    for (const name of generator.names) for (let left = 3; left > 0; left--) await this.#make(name, this.#body(name));
    await this.#refresh();
    while (this.done < perSchema) {
      const { name } = generator.of(this.#collections);
      if (generator.rarely(2)) await this.#write(name);
      else {
        const { path } = generator.of(questionsFor(this.#model, name, generator));
        for (const caller of this.#cast.callers) await this.#read(caller, path);
      }
      if (generator.rarely(8)) await this.#change();
    }
  }

  async #define(definitions: readonly object[]): Promise<void> {
    const ending = { name: "ending", fields: [{ name: "n", type: "integer" }] };
    await this.#cast.must("PUT", "/api/admin/schema.json", { collections: [ending, ...definitions] });
  }

  async #change(): Promise<void> {
    const generator = this.#generator;
    const kind = generator.of(["role", "rules", "record"] as const);
    if (kind === "role")
      await this.#cast.setRole(
        generator.of(this.#cast.users),
        generator.of(["authenticated", "admin", "public"] as const),
      );
    else if (kind === "rules") {
      this.#collections = generator.changedRules(this.#collections);
      await this.#define(new Model(this.#collections, new Map()).definitions());
    } else {
      const name = generator.of(generator.names);
      const record = generator.of(this.#model.records(name));
      await this.#cast.must("PUT", `/api/${name}/${record.id}`, this.#body(name));
    }
    await this.#refresh();
  }

  async #read(caller: Actor, path: string): Promise<void> {
    const asked = { method: "GET", path };
    const way = this.#generator.of(["alone", "transaction", "own"] as const);
    const expected = await this.#overHttp(caller, asked);
    this.#compare([way, caller.name, path], [await this.#byCode(caller, asked, way), expected], false);
  }

  /** The same write over HTTP and by code, each on the same state. */
  async #write(name: string): Promise<void> {
    const generator = this.#generator;
    const caller = generator.of(this.#cast.callers);
    const method = generator.of(["POST", "PUT", "DELETE"] as const);
    const way = generator.of(["alone", "transaction", "batch"] as const);
    const before = this.#body(name);
    const all = generator.rarely(4) ? before : this.#body(name);
    const values = Object.entries(all).filter(([field]) =>
      field === ownerField ? generator.rarely(4) : !generator.rarely(3),
    );
    const body = method === "DELETE" ? undefined : Object.fromEntries(values);
    const attempt = async (send: (asked: Asked) => Promise<Outcome>): Promise<[Outcome, unknown]> => {
      const id = method === "POST" ? null : await this.#make(name, before);
      const path = `/api/${name}${id === null ? "" : `/${id}`}`;
      const outcome = await send({ method, path, ...(body !== undefined && { body }) });
      const made = id ?? (outcome.body as { id?: string } | undefined)?.id;
      const stored = made === undefined ? null : await this.#cast.get(this.#cast.admin, `/api/${name}/${made}`);
      if (stored?.status === 200) await this.#cast.must("DELETE", `/api/${name}/${made}`);
      return [outcome, stored?.status === 200 ? comparable({ body: stored.body }, true) : null];
    };
    const [expected, expectedState] = await attempt((asked) => this.#overHttp(caller, asked));
    const [outcome, state] = await attempt((asked) => this.#byCode(caller, asked, way));
    const at = [way, caller.name, method, name, JSON.stringify(body), JSON.stringify(before)];
    if (way === "alone") this.#compare(at, [outcome, expected], true);
    // A batch names the operation in each detail, and a transaction answers the given values.
    else {
      const codes = [outcome, expected].map(({ error }) => error?.code ?? "done");
      expect([...at, codes[0]]).toEqual([...at, codes[1]]);
      this.#count(codes[0] ?? "");
    }
    expect([...at, state]).toEqual([...at, expectedState]);
  }

  #compare(at: readonly unknown[], [outcome, expected]: readonly [Outcome, Outcome], isWrite: boolean): void {
    expect([...at, comparable(outcome, isWrite)]).toEqual([...at, comparable(expected, isWrite)]);
    this.#count(outcome.error?.code ?? "done");
  }

  #count(outcome: string): void {
    this.done += 1;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  async #overHttp(caller: Actor, asked: Asked): Promise<Outcome> {
    const { status, body } = await this.#cast.request(caller, asked);
    return status < 300 ? { body: status === 204 ? null : body } : (body as Outcome);
  }

  async #byCode({ id: as }: Actor, asked: Asked, way: Way): Promise<Outcome> {
    const body = { as, way, ...asked };
    return (await (await this.#cast.server.answer("POST", "/api/function/as", { body })).json()) as Outcome;
  }

  async #make(name: string, body: object): Promise<string> {
    return ((await this.#cast.must("POST", `/api/${name}`, body)) as ModelRecord).id;
  }

  #body(name: string): { [field: string]: unknown } {
    const generator = this.#generator;
    this.#secrets += 1;
    const values = generator.values({ users: this.#cast.userIds, files: this.#cast.fileIds }, `secret${this.#secrets}`);
    const relations = [...(generator.targets.get(name) ?? [])].map(([field, target]) => {
      const found = this.#model.records(target).map(({ id }) => id);
      return [field, field === recordItems ? generator.some(found) : generator.of([...found, null])];
    });
    return { ...values, ...Object.fromEntries(relations), [ownerField]: generator.of([...this.#cast.userIds, null]) };
  }

  async #refresh(): Promise<void> {
    const tables = new Map<string, ModelRecord[]>();
    for (const name of this.#generator.names) {
      const { items } = (await this.#cast.must("GET", `/api/${name}`)) as { items: ModelRecord[] };
      tables.set(name, items.reverse());
    }
    this.#model = new Model(this.#collections, tables);
  }
}

test("a read or write under the rules of a caller has the outcome of HTTP", async () => {
  const random = randomNumbers(randomSeed("db.as"));
  const cast = await openCast(async (options) => {
    const api = await openScripts({ ...options, files: { "endpoints/as.ts": handler } });
    return { ...api, ...listen(api) };
  });
  const outcomes = new Map<string, number>();
  const wanted = ["done", "forbidden", "not_found", "unauthorized"];
  const lacks = (): boolean => wanted.some((code) => !outcomes.has(code));
  // Rules are random: a few comparisons in a row may have no rule that asks for a token.
  for (let done = 0; done < comparisons || (lacks() && done < 20 * comparisons); ) {
    const comparison = new Comparison(cast, (bound) => Math.floor(random() * bound));
    await comparison.run();
    done += comparison.done;
    for (const [code, n] of comparison.outcomes) outcomes.set(code, (outcomes.get(code) ?? 0) + n);
  }
  console.log(`db.as: ${JSON.stringify(Object.fromEntries(outcomes))}`);
  expect(wanted.filter((code) => !outcomes.has(code))).toEqual([]);
  expect(cast.server.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
}, 1_800_000);
