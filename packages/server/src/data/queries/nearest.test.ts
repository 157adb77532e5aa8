/**
 * Vectors: lists by `nearest` beside a model that compares all vectors, while records come, change and go; with vectors in memory and
 * without. Rules, refusals, definitions, the trash, undo, transfer.
 */
import { expect, test } from "bun:test";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

interface Item {
  readonly id: string;
  readonly n: number;
  readonly embedding: number[] | null;
}
interface Page {
  readonly items: Item[];
  readonly nextCursor: string | null;
  readonly total?: number;
}

const dimensions = 7;
const vector = { name: "embedding", type: "vector", dimensions };
const n = { name: "n", type: "integer" };

/** The distance for a comparison, of the numbers with 32 bits: the model. */
function distanceOf(a: readonly number[], b: readonly number[], metric: "cosine" | "l2"): number {
  const [x, y] = [a.map(Math.fround), b.map(Math.fround)];
  const dot = (p: readonly number[], q: readonly number[]): number =>
    p.reduce((sum, each, i) => sum + each * (q[i] ?? 0), 0);
  if (metric === "cosine") return 1 - dot(x, y) / (Math.sqrt(dot(x, x)) * Math.sqrt(dot(y, y)));
  return x.reduce((sum, each, i) => sum + (each - (y[i] ?? 0)) ** 2, 0);
}

async function query(api: Pick<TestApi, "request">, collection: string, body: object, token: string): Promise<Page> {
  const answer = await api.request<Page>("POST", `/api/${collection}/query`, { body, token });
  expect([body, answer.status, answer.body]).toEqual([body, 200, answer.body]);
  return answer.body;
}

async function importInto(api: Pick<TestApi, "request">, collection: string, items: readonly object[], token: string) {
  const body = items.map((item) => JSON.stringify(item)).join("\n");
  const headers = { "Content-Type": "application/x-ndjson" };
  const answer = await api.request("POST", `/api/${collection}/import`, { body, headers, token });
  expect([answer.status, answer.body["imported"]]).toEqual([200, items.length as never]);
}

for (const [metric, memory] of [
  ["cosine", "1MiB"],
  ["l2", "1MiB"],
  ["cosine", "0"],
] as const)
  test(`lists by nearest equal the model (${metric}, ${memory} of memory) while records come, change and go`, async () => {
    const random = randomNumbers(randomSeed(`nearest ${metric} ${memory}`));
    const below = (most: number): number => Math.floor(random() * most);
    const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
    // Few values, so that many distances are equal.
    const numbers = (): number[] => {
      const made = Array.from({ length: dimensions }, () => (random() < 0.5 ? below(3) - 1 : random() * 2 - 1));
      return made.some((each) => each !== 0) ? made : [1, ...made.slice(1)];
    };
    const fields = [n, { ...vector, metric }];
    const permissions = { read: "n != 5", create: "public", update: "public", delete: "public" };
    const settings = { SERVICE_LIMITS_VECTOR_MEMORY: memory };
    const api = await openApi({ collections: [{ name: "notes", fields, permissions, trash: "30d" }], settings });
    const { accessToken: token } = await api.register("ann@example.com");
    const admin = await api.admin();
    // The records in the order of creation.
    let stored = Array.from({ length: 1_500 }, (_, i): Item => {
      const id = `rec_${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`;
      return { id, n: below(100), embedding: random() < 0.1 ? null : numbers() };
    });
    await importInto(api, "notes", stored, admin);
    const trashed: Item[] = [];
    const change = async (): Promise<void> => {
      const item = pick(stored);
      const path = `/api/notes/${item.id}`;
      const replace = (next: Partial<Item>): void => {
        stored = stored.map((each) => (each.id === item.id ? { ...each, ...next } : each));
      };
      const turn = random();
      if (turn < 0.3) {
        const embedding = random() < 0.2 ? null : numbers();
        expect((await api.request("PUT", path, { body: { embedding }, token: admin })).status).toBe(200);
        replace({ embedding });
      } else if (turn < 0.6) {
        const body = { n: below(100), embedding: random() < 0.2 ? null : numbers() };
        const { status, body: made } = await api.request("POST", "/api/notes", { body, token: admin });
        expect(status).toBe(201);
        stored.push({ id: String(made["id"]), ...body });
      } else if (turn < 0.9) {
        // The last record: the next takes over the hidden number.
        const gone = random() < 0.5 ? (stored.at(-1) as Item) : item;
        expect((await api.request("DELETE", `/api/notes/${gone.id}`, { token: admin })).status).toBe(204);
        stored = stored.filter(({ id }) => id !== gone.id);
        trashed.push(gone);
      } else if (trashed.length > 0) {
        const back = trashed.pop() as Item;
        expect((await api.request("POST", `/api/notes/${back.id}/restore`, { token: admin })).status).toBe(200);
        // A restored record may stand at another place in the order of creation.
        stored.push(back);
      }
    };
    let few = 0;
    for (let round = 0; round < 40; round++) {
      for (let i = below(6); i > 0; i--) await change();
      const wanted = random() < 0.3 ? (pick(stored).embedding ?? numbers()) : numbers();
      const [filter, holds] = pick<[string, (item: Item) => boolean]>([
        ["", () => true],
        ["n < 50", (item) => item.n < 50],
        ["n = 7", (item) => item.n === 7],
        ["n = 1000", () => false],
      ]);
      const matching = stored.filter((item) => item.n !== 5 && item.embedding !== null && holds(item));
      const distances = new Map(
        matching.map(({ id, embedding }) => [id, distanceOf(embedding ?? [], wanted, metric)] as const),
      );
      const sort = `nearest(embedding, ${JSON.stringify(wanted)})`;
      const limit = 100 + below(600);
      const found: Item[] = [];
      const parameters = { sort, limit, ...(filter !== "" && { filter }) };
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: Page = await query(api, "notes", { ...parameters, ...(cursor !== "" && { cursor }) }, token);
        found.push(...page.items);
        cursor = page.nextCursor;
        expect(page.items.length).toBeLessThanOrEqual(limit);
      }
      const ids = found.map(({ id }) => id);
      expect([parameters, ids.toSorted()]).toEqual([parameters, matching.map(({ id }) => id).toSorted()]);
      for (const [i, id] of ids.entries())
        expect((distances.get(id) ?? 0) >= (distances.get(ids[i - 1] ?? "") ?? Number.NEGATIVE_INFINITY)).toBe(true);
      // The pages are those of the whole list, and the stored numbers are the answered numbers.
      const whole = await query(api, "notes", { ...parameters, limit: 1_000, count: "exact" }, token);
      expect([whole.total, whole.items.map(({ id }) => id)]).toEqual([matching.length, ids.slice(0, 1_000)]);
      for (const { id, embedding } of found.slice(0, 10))
        expect(embedding?.map(Math.fround)).toEqual(stored.find((each) => each.id === id)?.embedding?.map(Math.fround));
      const offset = below(20);
      const part = await query(api, "notes", { ...parameters, limit: 5, offset }, token);
      expect(part.items.map(({ id }) => id)).toEqual(ids.slice(offset, offset + 5));
      if (ids.length < 50) few += 1;
    }
    expect(few).toBeGreaterThan(3);
    expect(api.log.filter((line) => /FATAL|ERROR/.test(line))).toEqual([]);
  });
