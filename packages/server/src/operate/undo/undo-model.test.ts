/**
 * Undo against a model: random requests, batches, imports, cascades, functions and migrations, and random undos, also of undos. After
 * each undo, the service and the model have the same records, and have left the same changes.
 */
import { expect, test } from "bun:test";
import type { JsonValue, UndoState } from "@socle/protocol";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import { differences, reverse, type State } from "../../../test/undo-model.ts";

const sequences = isLong ? 10_000 : 25;
const stepsOfSequence = 5;
/** The requests that an undo may name; older requests are forgotten. */
const kept = 60;

const random = randomNumbers(randomSeed("undo model"));
const below = (bound: number): number => Math.floor(random() * bound);
const pick = <T>(of: readonly T[]): T | undefined => of[below(of.length)];

/** A field of the collection of tasks, which the migrations change. */
type Field = { readonly name: string } & Record<string, JsonValue>;
const permissions = {
  read: "public",
  create: "authenticated",
  update: "authenticated",
  delete: "authenticated",
} as const;
const firstFields: Field[] = [
  { name: "title", type: "string", unique: true },
  { name: "n", type: "integer" },
  { name: "tags", type: "string", multiple: true },
  { name: "team", type: "relation", collection: "teams", onDelete: "cascade" },
  { name: "helper", type: "relation", collection: "teams", onDelete: "clear" },
  { name: "number", type: "integer", sequence: true },
];
const api = await openScripts({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }], permissions },
    { name: "tasks", fields: firstFields, permissions },
    { name: "orders", fields: [{ name: "work", type: "json" }], permissions },
  ],
  files: {
    "functions/orders/work.ts": `
      export const onCreate = ({ record, db }) => db.transaction(async (tx) => {
        for (const { collection, id, body } of record.work)
          if (id === null) await tx.collection(collection).create(body);
          else if (body === null) await tx.collection(collection).delete(id);
          else await tx.collection(collection).update(id, body);
      });`,
  },
  settings: { SERVICE_SCRIPTS_RETRIES: "0" },
});
api.service.undos.start(new AbortController().signal);
const admin = await api.admin();
const users = await Promise.all(["ann@example.com", "bob@example.com"].map((email) => api.register(email)));

/** The present name and fields of the collection of tasks. */
let tasks = "tasks";
let fields: readonly Field[] = firstFields;
let made = 0;

/** All records, by collection. The model has the name `tasks` also while the collection has another name. */
function state(): State {
  const rows = (name: string): Map<string, Record<string, JsonValue>> =>
    new Map(
      api.service.database.reader
        .all<Record<string, JsonValue>>(`SELECT * FROM "${name}"`)
        .map(({ _seq, ...record }) => [String(record["id"]), record]),
    );
  return new Map([
    ["teams", rows("teams")],
    ["tasks", rows(tasks)],
    ["orders", rows("orders")],
  ]);
}

/** Changes that an undo may name, with the states around the changes. */
interface Done {
  readonly body: object;
  /** The user of the request; null for an admin or a run. */
  readonly actor: string | null;
  /** A time before the change, and after the change before. */
  readonly at: string;
  readonly before: State;
  readonly after: State;
  /** Whether a record was changed more than once: an undo takes each change back by itself, and the model knows the net change alone. */
  readonly hasSteps?: boolean;
}

/** Oldest first. */
const done: Done[] = [];

/** Does a piece of work, and keeps the work for an undo. @param work answers the body that names the work. */
async function keep(actor: string | null, work: () => Promise<object>): Promise<void> {
  await Bun.sleep(2);
  const [before, at] = [state(), new Date().toISOString()];
  const body = await work();
  done.push({ body, actor, at, before, after: state() });
}

/** A random undo: the body, and the changes that the body names, newest first. */
function randomUndo(): { body: object; changes: readonly Done[] } {
  done.splice(0, done.length - kept);
  const simple = [...done.keys()].filter((i) => done[i]?.hasSteps !== true);
  const first = simple[simple.length - 1 - Math.floor(random() ** 2 * simple.length)] ?? 0;
  const { at: since, body } = done[first] as Done;
  const by = random() < 0.2 ? pick(users)?.user.id : undefined;
  if (by === undefined) return { body, changes: done.slice(first, first + 1) };
  return {
    body: { by, since },
    changes: done
      .slice(first)
      .filter(({ actor }) => actor === by)
      .toReversed(),
  };
}

const idsOf = (name: string): string[] => [...(state().get(name)?.keys() ?? [])];

function taskBody(part: number): Record<string, JsonValue> {
  made += 1;
  const teams = idsOf("teams");
  const value = ({ name, type, ...rest }: Field): JsonValue => {
    if (rest["unique"] === true) return below(10) === 0 ? `often ${below(3)}` : `task ${made}`;
    if (rest["multiple"] === true) return pick([["a"], ["a", "b"], []]) ?? null;
    return type === "relation" ? (pick([...teams.slice(-3), null]) ?? null) : below(5);
  };
  const asked = fields.filter((field) => field["sequence"] === undefined && random() < part);
  return Object.fromEntries(asked.map((field) => [field.name, value(field)]));
}

/** A random change of a record; `id` is null for a creation, and `body` for a deletion. */
interface Change {
  readonly collection: string;
  readonly id: string | null;
  readonly body: Record<string, JsonValue> | null;
}

function randomChange(): Change {
  const kind = random();
  const [allTasks, allTeams] = [idsOf("tasks"), idsOf("teams")];
  const [task, team] = [pick(allTasks), pick(allTeams)];
  // The time of a sequence does not grow with the number of sequences.
  const [order, ...orders] = idsOf("orders");
  if (order !== undefined && orders.length > 20 && kind > 0.9) return { collection: "orders", id: order, body: null };
  if (team !== undefined && allTeams.length > 20 && kind < 0.3) return { collection: "teams", id: team, body: null };
  if (task !== undefined && allTasks.length > 40 && kind < 0.6) return { collection: tasks, id: task, body: null };
  if (kind < 0.12 || team === undefined) return { collection: "teams", id: null, body: { name: `team ${made++}` } };
  if (kind < 0.2) return { collection: "teams", id: team, body: null };
  if (kind < 0.55 || task === undefined) return { collection: tasks, id: null, body: taskBody(0.8) };
  if (kind < 0.88) return { collection: tasks, id: task, body: taskBody(0.4) };
  return { collection: tasks, id: task, body: null };
}

/** Random changes of different records: the model knows the net change of a record alone, and an undo takes each change back by itself. */
function differing(most: number): Change[] {
  const ids = new Set<string>();
  return Array.from({ length: most }, randomChange).filter(({ collection, id, body }) => {
    // The deletion of a team changes the tasks of the team, too.
    if (id === null) return true;
    const isFirst = !ids.has(id) && !(collection === "teams" && body === null);
    ids.add(id);
    return isFirst;
  });
}

const methodOf = ({ id, body }: Change): "POST" | "PUT" | "DELETE" =>
  id === null ? "POST" : body === null ? "DELETE" : "PUT";

/** The steps, each up to a random number. */
const steps: readonly [end: number, step: () => Promise<void>][] = [
  [0.2, batch],
  [0.32, importRecords],
  [0.4, order],
  [0.46, migrate],
  [1, single],
];

async function single(): Promise<void> {
  const user = users[below(2)];
  const change = randomChange();
  const path = `/api/${change.collection}${change.id === null ? "" : `/${change.id}`}`;
  await keep(user?.user.id ?? null, async () => {
    const { accessToken: token = "" } = user ?? {};
    const answer = await api.request(methodOf(change), path, { token, ...(change.body && { body: change.body }) });
    return { request: answer.headers.get("x-request-id") };
  });
}

async function batch(): Promise<void> {
  const changes = differing(4);
  const operations = changes.map((change) => ({
    method: { POST: "create", PUT: "update", DELETE: "delete" }[methodOf(change)],
    collection: change.collection,
    ...(change.id !== null && { id: change.id }),
    ...(change.body !== null && { body: change.body }),
  }));
  await keep(null, async () => {
    const answer = await api.request("POST", "/api/batch", { body: { operations }, token: admin });
    return { batch: answer.headers.get("x-request-id") };
  });
}

async function importRecords(): Promise<void> {
  const lines = Array.from({ length: 1 + below(6) }, () => JSON.stringify(taskBody(0.7))).join("\n");
  const headers = { "Content-Type": "application/x-ndjson" };
  await keep(null, async () => {
    const options = { body: lines, token: admin, headers };
    const answer = await api.request<{ import: string }>("POST", `/api/${tasks}/import`, options);
    return { import: answer.body.import };
  });
}

/** An order, whose function changes records in a transaction. */
async function order(): Promise<void> {
  await Bun.sleep(2);
  const [before, at] = [state(), new Date().toISOString()];
  // The run changes no orders: changes of orders count for the request.
  const work = differing(3).filter(({ collection }) => collection !== "orders");
  const { headers } = await api.request("POST", "/api/orders", { body: { work }, token: admin });
  await api.scripts.settled();
  const path = "/api/admin/functions/runs?limit=1";
  const { body } = await api.request<{ items: { runId: string }[] }>("GET", path, { token: admin });
  const after = state();
  // The request has made the order, and the run all others.
  const between = new Map([...before, ["orders", after.get("orders") ?? new Map()]]);
  const request = { request: headers.get("x-request-id") };
  done.push({ body: request, actor: null, at, before, after: between });
  done.push({ body: { run: body.items[0]?.runId }, actor: null, at, before: between, after });
}

async function put(definition: object): Promise<void> {
  const path = `/api/admin/collections/${tasks}?confirm=true`;
  const { status, body } = await api.request("PUT", path, { body: { permissions, ...definition }, token: admin });
  expect([status, body["error"] ?? null]).toEqual([200, null]);
}

async function migrate(): Promise<void> {
  const kind = below(4);
  const title = fields[0]?.name === "title" ? "heading" : "title";
  if (kind === 0) {
    await put({
      name: tasks,
      fields: fields.map((field, i) => (i === 0 ? { ...field, name: title, renamedFrom: field.name } : field)),
    });
    fields = fields.map((field, i) => (i === 0 ? { ...field, name: title } : field));
  } else if (kind === 1) {
    const name = tasks === "tasks" ? "works" : "tasks";
    await put({ name, fields, renamedFrom: tasks });
    tasks = name;
  } else {
    const withExtra = fields.length === firstFields.length;
    fields = withExtra
      ? [...fields, { name: `extra${made++}`, type: "integer", default: 7 }]
      : fields.slice(0, firstFields.length);
    await put({ name: tasks, fields });
  }
}

async function undo(body: object): Promise<UndoState | null> {
  const answer = await api.request<{ id: string }>("POST", "/api/admin/undo", { body, token: admin });
  if (answer.status === 404) return null;
  expect([answer.status, answer.body]).toEqual([202, { id: expect.any(String) as never }]);
  let state: UndoState | null = null;
  await until(() => {
    state = api.service.undos.state(answer.body.id);
    return state.status !== "running";
  });
  return state;
}

test("after random changes and undos, the service and the model have the same records and the same left changes", async () => {
  const counts = { undos: 0, done: 0, left: 0 };
  for (let sequence = 0; sequence < sequences; sequence++) {
    for (let i = 0; i < stepsOfSequence; i++) {
      const at = random();
      await (steps.find(([end]) => at < end)?.[1] ?? single)();
    }
    const before = state();
    const { body, changes } = randomUndo();
    const presets = new Map(fields.map((field) => [field.name, field["default"] ?? null]));
    let expected: State = before;
    const [left, netless] = [new Set<string>(), new Set<string>()];
    for (const change of changes) {
      const reversed = reverse(expected, change, presets);
      expected = reversed.state;
      for (const id of reversed.left) left.add(id);
      for (const id of reversed.netless) netless.add(id);
    }
    const sure = (ids: Iterable<string>): string[] => [...ids].filter((id) => !netless.has(id)).toSorted();
    await Bun.sleep(2);
    const at = new Date().toISOString();
    const told = await undo(body);
    const after = state();
    const hasSteps = told?.done !== differences(before, after);
    done.push({ body: { undo: told?.id ?? "none" }, actor: null, at, before, after, hasSteps });
    const seen = { state: withoutTimes(after), left: sure(leftOf(told)) };
    const wanted = { state: withoutTimes(expected), left: sure(left) };
    expect({ sequence, body, ...seen }).toEqual({ sequence, body, ...wanted });
    counts.undos += 1;
    counts.done += told?.done ?? 0;
    counts.left += told?.leftCount ?? 0;
  }
  console.log(`undo model: ${JSON.stringify(counts)}`);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
}, 5_400_000);

function leftOf(told: UndoState | null): string[] {
  return [...new Set(told?.left.map(({ record }) => record))].toSorted();
}

/** The records without the time of the last change. */
function withoutTimes(of: State): object {
  return Object.fromEntries(
    [...of].map(([name, records]) => [
      name,
      [...records.values()]
        .map(({ updatedAt: _, ...record }) => record)
        .toSorted((a, b) => (String(a["id"]) < String(b["id"]) ? -1 : 1)),
    ]),
  );
}
