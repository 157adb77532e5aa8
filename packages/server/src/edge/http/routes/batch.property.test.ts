/** Random batches against a model: the same records, the same refusals, and no trace of a refused batch. */
import { expect, test } from "bun:test";
import { type BatchResult, type ErrorBody, type StoredRecord, versionOf } from "@socle/protocol";
import fc from "fast-check";
import { eventsSince, lastSeq, openApi } from "../../../../test/kit.ts";
import { randomSeed } from "../../../../test/random.ts";

const fields = [
  { name: "slug", type: "string", unique: true },
  { name: "n", type: "integer", min: 0 },
  { name: "next", type: "relation", collection: "rows" },
];
const api = await openApi({ collections: [{ name: "rows", fields }] });

/** A record by place among all records, or by an operation of the batch, an earlier or a later operation. */
type Target = { readonly stored: number } | { readonly operation: number };

interface Plan {
  readonly method: "create" | "update" | "delete";
  readonly target: Target;
  readonly slug: string | null | undefined;
  readonly n: number | undefined;
  readonly next: Target | null | undefined;
  readonly version: "any" | "current" | "stale";
}

/** A seldom value, so that most batches get far. */
const seldom = <T>(often: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 25, arbitrary: often }, { weight: 1, arbitrary: rare });

function targetAt(index: number): fc.Arbitrary<Target> {
  const stored: fc.Arbitrary<Target> = fc.record({ stored: fc.nat(5) });
  const earlier: fc.Arbitrary<Target> = fc.record({ operation: fc.nat(Math.max(0, index - 1)) });
  return seldom(
    index === 0 ? stored : fc.oneof(stored, earlier),
    fc.record({ operation: fc.integer({ min: -1, max: 7 }) }),
  );
}

function planAt(index: number): fc.Arbitrary<Plan> {
  const [target, letters] = [targetAt(index), fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz")];
  return fc.record({
    method: fc.constantFrom("create", "create", "update", "update", "update", "delete"),
    target,
    slug: fc.oneof(fc.constantFrom(undefined, null), letters),
    n: seldom<number | undefined>(fc.constantFrom(undefined, 0, 1), fc.constant(-1)),
    next: fc.oneof<fc.Arbitrary<Target | null | undefined>[]>(
      fc.constantFrom(undefined, null),
      target,
      fc.record({ operation: fc.integer({ min: index, max: index + 1 }) }),
    ),
    version: seldom<Plan["version"]>(fc.constantFrom("any", "any", "current"), fc.constant("stale")),
  });
}

const batches = fc
  .integer({ min: 1, max: 8 })
  .chain((length) => fc.tuple(...Array.from({ length }, (_, i) => planAt(i))));

interface Row {
  readonly id: string;
  readonly slug: string | null;
  readonly n: number | null;
  readonly next: string | null;
  readonly updatedAt: string;
}

async function rows(): Promise<Row[]> {
  return (await api.request<{ items: Row[] }>("GET", "/api/rows")).body.items;
}

/** A text of the form of an id that no record has. */
const nobody = "rec_00000000-0000-7000-8000-000000000000";

/** The model: ids of new records are the ids of the operations, "#0". */
class Model {
  readonly rows: Map<string, { slug: string | null; n: number | null; next: string | null; isNew: boolean }>;
  readonly ids: string[];
  /** The operations so far that point to a record of a later operation, or to their own record, with the ids. */
  readonly ahead: (readonly [index: number, id: string])[] = [];
  /** The updates whose value another record has at the time: the value is put in place after the last operation. */
  readonly held: { readonly index: number; readonly id: string; readonly slug: string }[] = [];
  readonly #stored: readonly Row[];
  readonly #plans: readonly Plan[];

  constructor(stored: readonly Row[], plans: readonly Plan[]) {
    this.#stored = stored;
    this.#plans = plans;
    this.ids = [];
    for (const [index, { method, target }] of plans.entries())
      this.ids.push(method === "create" ? `#${index}` : this.idOf(target));
    this.rows = new Map(stored.map(({ id, slug, n, next }) => [id, { slug, n, next, isNew: false }]));
  }

  idOf(given: Target): string {
    return "stored" in given ? (this.#stored[given.stored]?.id ?? nobody) : (this.ids[given.operation] ?? nobody);
  }

  /** The status of an operation, which is done unless the status is an error. */
  apply(index: number, { method, target: given, slug, n, next, version }: Plan): number {
    const id = this.ids[index] ?? nobody;
    const row = method === "create" ? { slug: null, n: null, next: null, isNew: true } : this.rows.get(id);
    if (row === undefined) return 404;
    // A change in this batch has changed the version; that of a record that an operation names is not sent.
    const isStale = version === "stale" || (version === "current" && (row.isNew || "operation" in given));
    if (method !== "create" && version !== "any" && isStale) return 412;
    if (method === "delete") {
      this.rows.delete(id);
      return 204;
    }
    const pointed = next === undefined || next === null ? next : this.idOf(next);
    const isTaken = [...this.rows].some(([other, each]) => other !== id && each.slug === slug);
    const isMissing = typeof pointed === "string" && !this.rows.has(pointed) && pointed !== row.next;
    const isAhead = isMissing && pointed.startsWith("#") && Number(pointed.slice(1)) >= index;
    if (isAhead) this.ahead.push([index, pointed]);
    const isDangling = isMissing && !isAhead;
    const isHeld = typeof slug === "string" && isTaken && method === "update" && this.#mayBeFreed(index, id);
    if ((typeof slug === "string" && isTaken && !isHeld) || n === -1 || isDangling) return 400;
    if (isHeld) this.held.push({ index, id, slug });
    const isChanged = slug !== undefined || n !== undefined || next !== undefined;
    this.rows.set(id, {
      slug: slug === undefined || isHeld ? row.slug : slug,
      n: n === undefined ? row.n : n,
      next: pointed === undefined ? row.next : pointed,
      // The version is another now.
      isNew: row.isNew || isChanged,
    });
    return method === "create" ? 201 : 200;
  }

  /** Whether a later operation may free a value, and no later operation is about the record. */
  #mayBeFreed(index: number, id: string): boolean {
    const isAbout = this.ids.slice(index + 1).includes(id);
    const isLater = this.#plans.slice(index + 1).some(({ method }) => method !== "create");
    return !isAbout && (isLater || this.held.length > 0);
  }

  /** Puts the held values in place, in their order. Answers the first operation whose value another record has; -1 if all values are unique. */
  settle(): number {
    const waiting = new Map(this.held.map(({ id, slug }) => [id, slug]));
    const taken = new Set([...this.rows].flatMap(([id, { slug }]) => (waiting.has(id) ? [] : [slug])));
    for (const { index, id, slug } of this.held) {
      const row = this.rows.get(id);
      if (row === undefined || taken.has(slug)) return index;
      this.rows.set(id, { ...row, slug });
      taken.add(slug);
    }
    return -1;
  }
}

/** Whether a reference is malformed: 400 before anything is tried. */
function isMalformed(given: Target | null | undefined, end: number, plans: readonly Plan[]): boolean {
  if (given === null || given === undefined || "stored" in given) return false;
  const { operation } = given;
  return operation < 0 || operation >= end || plans[operation]?.method === "delete";
}

function operationOf({ method, target: given, slug, n, next, version }: Plan, stored: readonly Row[]): object {
  const idOf = (each: Target): unknown =>
    "stored" in each ? (stored[each.stored]?.id ?? nobody) : { $ref: each.operation };
  const body = {
    ...(slug !== undefined && { slug }),
    ...(n !== undefined && { n }),
    ...(next !== undefined && { next: next === null ? null : idOf(next) }),
  };
  if (method === "create") return { method, collection: "rows", body };
  const row = "stored" in given ? stored[given.stored] : undefined;
  const current = row === undefined ? '"unknown"' : versionOf(row);
  const ifMatch = version === "any" ? null : version === "current" ? current : '"stale"';
  return { method, collection: "rows", id: idOf(given), ifMatch, ...(method === "update" && { body }) };
}

test("random batches", async () => {
  await fc.assert(
    fc.asyncProperty(batches, async (plans) => {
      const stored = await rows();
      const seq = await lastSeq(api.service);
      const body = { operations: plans.map((each) => operationOf(each, stored)) };
      const answer = await api.request<{ results?: BatchResult[]; error?: ErrorBody["error"] }>("POST", "/api/batch", {
        body,
      });
      const malformed = plans.findIndex(
        ({ method, target: given, next }, i) =>
          (method !== "create" && isMalformed(given, i, plans)) ||
          (method !== "delete" && isMalformed(next, plans.length, plans)),
      );
      const model = new Model(stored, malformed < 0 ? plans : []);
      const statuses = malformed < 0 ? plans.map((each, i) => model.apply(i, each)) : [];
      const refused = statuses.findIndex((status) => status >= 400);
      // Relations to later operations are checked after the last operation.
      const [dangling = -1] = model.ahead.find(([, id]) => !model.rows.has(id)) ?? [];
      // A refusal in the middle refuses the values that were held back before, too: nobody knows whether they would be free at the end.
      const first = refused < 0 ? -1 : Math.min(refused, ...model.held.map(({ index }) => index));
      const early = malformed >= 0 ? malformed : first >= 0 ? first : dangling;
      const failed = early >= 0 ? early : model.settle();
      const events = await eventsSince(api.service, seq);
      if (failed >= 0) {
        expect(answer.status).toBe(failed === refused && refused >= 0 ? (statuses[refused] ?? 0) : 400);
        expect(answer.body.error?.details?.[0]?.operation).toBe(failed);
        expect(await rows()).toEqual(stored);
        expect(events).toEqual([]);
        return;
      }
      const results = answer.body.results ?? [];
      expect(results.map(({ status }) => status)).toEqual(statuses as never);
      const realId = (id: string | null): string | null =>
        id?.startsWith("#") === true ? (results[Number(id.slice(1))]?.body?.id ?? id) : id;
      const expected = [...model.rows].map(([id, { slug, n, next }]) => ({
        id: realId(id),
        slug,
        n,
        next: realId(next),
      }));
      const byId = (a: { id: string | null }, b: { id: string | null }): number =>
        String(a.id) < String(b.id) ? -1 : 1;
      const now = (await rows()).map(({ id, slug, n, next }) => ({ id, slug, n, next }));
      expect(now.toSorted(byId)).toEqual(expected.toSorted(byId) as never);
      const changing = plans.filter(
        ({ method, slug, n, next }) =>
          method !== "update" || slug !== undefined || n !== undefined || next !== undefined,
      );
      expect(events.map(({ type }) => type)).toEqual(changing.map(({ method }) => `rows.${method}d`));
      const last = results.findLast((each): each is BatchResult & { body: StoredRecord } => each.body !== null);
      const isThere = now.some(({ id }) => id === last?.body.id);
      if (last !== undefined && isThere)
        expect((await api.request("GET", `/api/rows/${last.body.id}`)).status).toBe(200);
    }),
    { seed: randomSeed("batches"), numRuns: 400 },
  );
});
