/** Optimistic changes: shown at once, and shown until the socket has passed the position of the write, or the service refuses. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { live } from "./entries/live.ts";
import { createClient, type LiveState, type Socle, SocleError } from "./index.ts";
import { LiveServer, States } from "./testing/live-server.ts";

type Row = { [field: string]: unknown };

let server: LiveServer;
let client: Socle;
/** Answers the next write. */
let answer: (response: Response) => void;
beforeEach(() => {
  server = new LiveServer();
  const answers: Response[] = [];
  let wake = (): void => undefined;
  answer = (response) => {
    answers.push(response);
    wake();
  };
  server.answer = async () => {
    for (;;) {
      const next = answers.shift();
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  client = createClient({ baseUrl: server.url, live, retries: 0 });
});
afterEach(() => {
  client.close();
  server.stop();
});

const tasks = () => client.collection("tasks");
const written = (record: Row | null, position: number): Response =>
  record === null
    ? new Response(null, { status: 204, headers: { "Socle-Position": String(position) } })
    : Response.json(record, { headers: { "Socle-Position": String(position) } });
const idsOf = ({ items }: LiveState): unknown[] => items.map((item) => Reflect.get(Object(item), "id"));

async function open(query: { live(listener: (state: LiveState) => void): () => void }, items: Row[]) {
  const states = new States<LiveState>();
  const from = server.asked.length;
  query.live(states.add);
  const { id } = await server.next(from);
  server.send({ type: "result", id, seq: 10, items });
  await states.until(({ status }) => status === "live");
  return { id, states };
}

const row = (id: string, n: number, more: Row = {}): Row => ({ id, n, done: false, tags: [], ...more });

test("a new record stands at its place, until the socket has passed the write", async () => {
  const { states } = await open(tasks().where({ done: false }).orderBy("-n"), [row("1", 5), row("2", 1)]);
  const hidden = await open(tasks().where({ done: true }), []);
  const unknown = await open(tasks().where({ project: { status: "paid" } }), []);
  const creating = tasks().create({ n: 3, done: false }, { optimistic: true });
  expect(states.last.items).toMatchObject([{ id: "1" }, { n: 3, done: false, tags: [] }, { id: "2" }]);
  answer(written(row("3", 4), 20));
  expect(await creating).toMatchObject({ id: "3", n: 4 });
  // The values of the service count, and an event before the write changes nothing.
  server.send({ type: "position", seq: 19 });
  await states.until((state) => idsOf(state).join() === "1,3,2");
  expect(states.last.items[1]).toMatchObject(row("3", 4));
  server.send({ type: "position", seq: 20 });
  await states.until((state) => idsOf(state).join() === "1,2");
  for (const other of [hidden, unknown]) expect(other.states.all.every(({ items }) => items.length === 0)).toBe(true);
});

test("a result with the write replaces the change without a gap", async () => {
  const { id, states } = await open(tasks().orderBy("n"), [row("1", 1)]);
  const creating = tasks().create({ n: 2 }, { optimistic: true });
  answer(written(row("2", 2), 20));
  await creating;
  server.send({ type: "change", id, seq: 20, order: ["1", "2"], items: [row("2", 2, { from: "service" })] });
  await states.until((state) => Reflect.get(Object(state.items[1]), "from") === "service");
  expect(states.all.slice(2).every(({ items }) => items.length === 2)).toBe(true);
});

test("a record moves between windows, and operators start from the present value", async () => {
  const todo = await open(tasks().where({ done: false }), [row("1", 1, { tags: ["a", "b"] })]);
  const done = await open(tasks().where({ done: true }), []);
  const moving = tasks().update(
    "1",
    { done: true, n: { $increment: 2 }, tags: { $add: ["c"], $remove: ["a"] } },
    { optimistic: true },
  );
  expect(todo.states.last.items).toEqual([]);
  expect(done.states.last.items).toEqual([row("1", 3, { done: true, tags: ["b", "c"] })]);
  answer(Response.json({ error: { code: "forbidden", message: "no" } }, { status: 403 }));
  const thrown: unknown = await moving.catch((error: unknown) => error);
  expect(SocleError.is(thrown, "forbidden")).toBe(true);
  expect(todo.states.last.items).toEqual([row("1", 1, { tags: ["a", "b"] })]);
  expect(done.states.last.items).toEqual([]);
});

test("a deletion is shown at once, and a record that others have changed meanwhile returns with the refusal", async () => {
  const { id, states } = await open(tasks().orderBy("n"), [row("1", 1), row("2", 2)]);
  const deleting = tasks().delete("1", { optimistic: true });
  expect(idsOf(states.last)).toEqual(["2"]);
  server.send({ type: "change", id, seq: 15, order: ["1", "2"], items: [row("1", 1, { by: "another" })] });
  answer(Response.json({ error: { code: "conflict", message: "no" } }, { status: 409 }));
  await deleting.catch(() => undefined);
  await states.until((state) => Reflect.get(Object(state.items[0]), "by") === "another");
});

test("a selected window shows only its fields, and keeps the shown records", async () => {
  const project = { name: "p" };
  const raw = [{ id: "1", n: 1, expand: { project } }];
  const { states } = await open(
    tasks()
      .select("n", { project: ["name"] })
      .limit(2)
      .orderBy("n"),
    raw,
  );
  const updating = tasks().update("1", { n: 5, project: "rec_2", title: "x" }, { optimistic: true });
  expect(states.last.items).toEqual([{ id: "1", n: 5, project }]);
  answer(written({ id: "1", n: 6, project: "rec_2", title: "x" }, 20));
  await updating;
  expect(states.last.items).toEqual([{ id: "1", n: 6, project }]);
  const creating = tasks().create({ n: 2, title: "y" }, { optimistic: true });
  expect(states.last.items).toEqual([
    { id: expect.any(String), n: 2, project: null },
    { id: "1", n: 6, project },
  ]);
  answer(written({ id: "2", n: 9 }, 30));
  await creating;
  // The window has no place for more.
  void tasks()
    .create({ n: 10 }, { optimistic: true })
    .catch(() => undefined);
  expect(states.last.items).toHaveLength(2);
});

test("a change without a window is sent, and without optimistic nothing is shown", async () => {
  const creating = tasks().create({ n: 1 }, { optimistic: true });
  answer(written(row("1", 1), 5));
  expect(await creating).toMatchObject({ id: "1" });
  const { states } = await open(tasks().orderBy("n"), []);
  const plain = tasks().create({ n: 2 });
  expect(states.last.items).toEqual([]);
  answer(written(row("2", 2), 6));
  await plain;
  expect(states.last.items).toEqual([]);
});

test("the event of a create that comes before the answer is shown once, and each of two equal creates has an item", async () => {
  const old = row("0", 2);
  const { id, states } = await open(tasks().orderBy("n"), [old]);
  const shown = await open(tasks().select("n").where({ n: 2 }), [{ id: "0", n: 2 }]);
  const creates = [1, 2].map(() => tasks().create({ n: 2, done: false, tags: [] }, { optimistic: true }));
  // The record that was there before is another record.
  expect(states.last.items.length).toBe(3);
  server.send({ type: "change", id, seq: 20, order: ["0", "a"], items: [row("a", 2)] });
  server.send({ type: "change", id: shown.id, seq: 20, order: ["0", "a"], items: [{ id: "a", n: 2 }] });
  await states.until((state) => idsOf(state).includes("a"));
  await shown.states.until((state) => idsOf(state).includes("a"));
  // A new record stands for the event, and the other new record waits.
  for (const each of [states, shown.states]) {
    expect(each.last.items.length).toBe(3);
    expect(idsOf(each.last).filter((item) => String(item).startsWith("new_")).length).toBe(1);
  }
  answer(written(row("a", 2), 20));
  await Promise.race(creates);
  expect(states.last.items.length).toBe(3);
  expect(idsOf(states.last)).toContain("a");
  answer(written(row("b", 2), 30));
  await Promise.all(creates);
  await states.until((state) => idsOf(state).includes("b"));
  expect(idsOf(states.last).toSorted()).toEqual(["0", "a", "b"]);
});

test("an equal record of another user stays, and hides a new record until the answer alone", async () => {
  const { id, states } = await open(tasks().orderBy("n"), []);
  const creating = tasks().create({ n: 2 }, { optimistic: true });
  server.send({ type: "change", id, seq: 20, order: ["theirs", "other"], items: [row("theirs", 2), row("other", 3)] });
  await states.until((state) => idsOf(state).join() === "theirs,other");
  answer(written(row("mine", 2), 30));
  await creating;
  expect(idsOf(states.last).toSorted()).toEqual(["mine", "other", "theirs"]);
  // A refused change of an equal record leaves the record of the other user.
  const refused = tasks().create({ n: 3 }, { optimistic: true });
  answer(Response.json({ error: { code: "forbidden", message: "no" } }, { status: 403 }));
  await refused.catch(() => undefined);
  expect(idsOf(states.last).toSorted()).toEqual(["mine", "other", "theirs"]);
});
