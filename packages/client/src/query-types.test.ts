/**
 * The types of queries and endpoints: `npm run check` fails if a line below a `@ts-expect-error` is accepted, or another line is
 * refused. The types of results are compared exactly.
 */
import { expect, test } from "bun:test";
import { createClient, type ProjectTypes } from "./index.ts";

interface Project extends ProjectTypes {
  collections: {
    projects: {
      record: {
        id: string;
        createdAt: string;
        updatedAt: string;
        name: string;
        status: "paid" | "open";
        client: string | null;
      };
      create: { name: string; status: "paid" | "open" };
      update: { name?: string; status?: "paid" | "open" };
      owner: never;
      unique: "name";
      relations: { client: "clients" };
    };
    clients: {
      record: { id: string; createdAt: string; updatedAt: string; name: string };
      create: { name: string };
      update: { name?: string };
      owner: never;
      relations: Record<never, never>;
    };
    tasks: {
      record: {
        id: string;
        createdAt: string;
        updatedAt: string;
        title: string;
        done: boolean;
        n: number | null;
        tags: string[];
        meta: import("@socle/protocol").JsonValue;
        project: string | null;
        helpers: string[];
        place: { lat: number; lon: number } | null;
        embedding: number[] | null;
        writer: string | null;
      };
      create: { title: string; done?: boolean; n?: number | null; project?: string | null; writer: string };
      update: { title?: string; done?: boolean; n?: number | null | { $increment: number } };
      owner: "writer";
      relations: { project: "projects"; helpers: "clients"; writer: "users" };
    };
    comments: {
      record: { id: string; createdAt: string; updatedAt: string; text: string; task: string };
      create: { text: string; task: string };
      update: { text?: string };
      owner: never;
      relations: { task: "tasks" };
    };
  };
  endpoints: {
    "POST /orders/[id]/pay": {
      params: { id: string };
      query: unknown;
      body: { amount: number };
      answer: { paid: boolean };
    };
    "GET /orders": { params: object; query: { page: string }; body: unknown; answer: { ids: string[] } };
    "GET /files/[...rest]": { params: { rest: string[] }; query: unknown; body: unknown; answer: unknown };
    "GET /get": { params: object; query: unknown; body: unknown; answer: number };
    "GET /": { params: object; query: unknown; body: unknown; answer: string };
  };
  queries: { board: { args: { project: string }; value: { open: number } }; all: { args: unknown; value: string[] } };
}

const socle = createClient<Project>({ baseUrl: "" });
const { tasks, comments, clients, projects } = socle;

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles if the types are the same; the query is not sent. */
function gives<Wanted>(): <Item>(
  query: PromiseLike<{ items: Item[] }>,
  ...same: Same<Item, Wanted> extends true ? [] : [never]
) => void {
  return () => undefined;
}

test("conditions follow the fields, the relations, and the relations back", () => {
  tasks.where({ done: false, n: { gte: 3 }, project: { status: "paid" } });
  tasks.where({ title: "a" }).where({ n: null, tags: "x", createdAt: { gt: new Date() } });
  tasks.where({ title: ["a", "b"], n: { in: [1, null], ne: 3 }, tags: { contains: "x" } });
  tasks.where({ project: null, writer: { email: "a@example.com" } });
  tasks.where({ project: "rec_1", helpers: { some: { name: "Ada" }, none: { name: { contains: "x" } } } });
  tasks.where({ "comments(task)": { every: { text: { contains: "x" } } } });
  tasks.where({ meta: { size: { gte: 3 }, tags: { any: "thing" } } });
  tasks.where({ $or: [{ done: true }, { $not: { n: { lt: 1 } } }], $and: [{ title: "a" }] });
  projects.where({ "tasks(project)": { some: { done: true, project: { name: "x" } } } });
  comments.where({ task: { project: { client: { name: "x" } } } });
  tasks.filter("done = true && n > 3").filter`title ~ ${"x"}`;
  tasks.where({ place: null }).where({ place: { ne: null } });
  // @ts-expect-error: a place is compared with null alone
  tasks.where({ place: { lat: 1, lon: 2 } });
  // @ts-expect-error: no field of this name
  tasks.where({ don: false });
  // @ts-expect-error: a boolean is no text
  tasks.where({ done: "false" });
  // @ts-expect-error: a number is not compared with a text
  tasks.where({ n: { gte: "3" } });
  // @ts-expect-error: no operator of this name
  tasks.where({ n: { above: 3 } });
  // @ts-expect-error: not one of the values
  tasks.where({ project: { status: "payed" } });
  // @ts-expect-error: the target has no field of this name
  tasks.where({ project: { titel: "x" } });
  // @ts-expect-error: a multiple relation needs a quantifier
  tasks.where({ helpers: { name: "Ada" } });
  // @ts-expect-error: the collection has no relation back of this name
  tasks.where({ "comments(project)": { some: {} } });
  // @ts-expect-error: a condition without a value
  tasks.where({ title: undefined });
  // @ts-expect-error: no collection of this name
  socle.task;
  expect(tasks.where({ n: 1 }).where({ n: 2 })).not.toBe(tasks.where({ n: 1 }));
});

test("items have the selected fields, with records in the place of ids", () => {
  gives<Project["collections"]["tasks"]["record"]>()(tasks.where({}));
  gives<{ id: string; title: string; project: { name: string } | null }>()(
    tasks
      .where({ done: false })
      .orderBy("-createdAt")
      .select("title", { project: ["name"] })
      .limit(50),
  );
  gives<{ id: string; project: string | null; n: number | null }>()(tasks.select("project", "n"));
  gives<{ id: string; helpers: { id: string; name: string }[] }>()(tasks.select({ helpers: ["id", "name"] }));
  gives<{ id: string; project: { client: { name: string } | null } | null }>()(
    tasks.select({ project: [{ client: ["name"] }] }),
  );
  gives<{ id: string; "comments(task)": { text: string }[]; writer: { email: string | null } | null }>()(
    tasks.select({ "comments(task)": ["text"], writer: ["email"] }),
  );
  gives<{ id: string; task: { title: string; project: { name: string } | null } | null }>()(
    comments.select({ task: ["title", { project: ["name"] }] }),
  );
  // @ts-expect-error: no field of this name
  tasks.select("titel");
  // @ts-expect-error: the target has no field of this name
  tasks.select({ project: ["titel"] });
  // @ts-expect-error: no relation
  tasks.select({ title: ["name"] });
  // @ts-expect-error: the field is not selected
  const unselected = async () => (await tasks.select("title")).items[0]?.done;
  // @ts-expect-error: the field of the related record is not selected
  const unselectedThere = async () => (await tasks.select({ project: ["name"] })).items[0]?.project?.status;
  expect([unselected, unselectedThere]).toHaveLength(2);
});

test("expansions, orders, groups and totals have types", () => {
  const names = async () => {
    const { items } = await tasks.expand("project.client", "helpers");
    return [items[0]?.project?.client?.name.length, items[0]?.helpers.map(({ name }) => name), items[0]?.title];
  };
  tasks.orderBy("project.name", "-n");
  // @ts-expect-error: no field of this name
  tasks.orderBy("-created");
  tasks.orderBy("distance(place, 52.52, 13.405)", `-distance(place,${1},${2})`, "title");
  comments.orderBy("distance(task.place,1,2)");
  tasks.orderBy(`nearest(embedding, ${JSON.stringify([0.1, 0.2])})`);
  comments.orderBy("nearest(task.embedding, [1])", "id");
  tasks.where({ embedding: null });
  // @ts-expect-error: a vector is compared with null alone
  tasks.where({ embedding: 5 });
  // @ts-expect-error: a vector has no order
  tasks.orderBy("embedding");
  // @ts-expect-error: a title is no vector
  tasks.orderBy("nearest(title, [1])");
  // @ts-expect-error: a place has no order
  tasks.orderBy("place");
  // @ts-expect-error: a title is no place
  tasks.orderBy("distance(title,1,2)");
  // @ts-expect-error: a list is not sorted by a multiple field
  tasks.orderBy("tags");
  // @ts-expect-error: no relation of this name
  tasks.expand("projekt");
  gives<{ done: boolean; "createdAt:month": string | null; count: number; "max(n)": number | null }>()(
    tasks.group("done", "createdAt:month").aggregate("count", "max(n)").orderBy("-count"),
  );
  gives<{ count: number; "avg(n)": number | null }>()(tasks.where({ done: true }).aggregate("count", "avg(n)"));
  // @ts-expect-error: no field of this name
  tasks.group("dne");
  // @ts-expect-error: groups are sorted by their parts
  tasks.group("done").orderBy("title");
  const total = async (): Promise<number> => (await tasks.withTotal()).total;
  const counted: () => Promise<number> = () => tasks.where({ done: true }).count();
  const first = async (): Promise<string | undefined> => (await tasks.select("title").first())?.title;
  const live = (): (() => void) =>
    tasks.select("title").live(({ items, status }) => [items[0]?.title, status === "live"]);
  expect([names, total, counted, first, live]).toHaveLength(5);
});

test("changes require the required fields", () => {
  // Nothing is sent.
  const checks: unknown[] = [
    () => tasks.create({ title: "x", n: 5 }, { optimistic: true }),
    () => tasks.update("rec_1", { n: { $increment: 1 } }),
    () => tasks.delete("rec_1", { signal: AbortSignal.timeout(1) }),
    () => clients.create({ name: "a" }),
    // @ts-expect-error: title is missing
    () => tasks.create({ n: 5 }),
    // @ts-expect-error: a number is no title
    () => tasks.create({ title: 5 }),
    // @ts-expect-error: no field of this name
    () => tasks.create({ title: "x", nn: 5 }),
    // @ts-expect-error: null is no title
    () => tasks.update("rec_1", { title: null }),
    () => projects.upsert({ name: "a", status: "open" }, { by: "name" }),
    () => tasks.upsert({ title: "x", n: { $increment: 1 } }, { by: "title" }),
    // @ts-expect-error: status is not unique
    () => projects.upsert({ name: "a", status: "open" }, { by: "status" }),
    // @ts-expect-error: status is missing
    () => projects.upsert({ name: "a" }, { by: "name" }),
    // @ts-expect-error: the field is missing
    () => projects.upsert({ name: "a", status: "open" }),
  ];
  expect(checks).toHaveLength(13);
});

test("a history has the types of the fields", () => {
  // Nothing is sent.
  const titleOf = async (): Promise<string | null | undefined> => {
    const { items, nextCursor } = await tasks.history("rec_1", { limit: 5, cursor: null });
    // @ts-expect-error: the number of a task is no text
    const wrong: string | undefined = items[0]?.changes.n?.after;
    // @ts-expect-error: no field of this name
    return [wrong, nextCursor].length === 2 ? items[0]?.changes.title?.before : items[0]?.changes.nothing;
  };
  expect(titleOf).toBeFunction();
});

test("a search over several collections answers records of these collections", () => {
  const checks: unknown[] = [
    async (): Promise<string | null | undefined> => {
      const [hit] = await socle.query({ search: "x", in: ["tasks", "comments"] });
      return hit?.collection === "tasks" ? hit.record.title : hit?.record.text;
    },
    async (): Promise<string[]> =>
      (await socle.query({ search: "x", in: ["tasks"] })).map(({ record }) => record.title),
    // @ts-expect-error: no collection of this name
    () => socle.query({ search: "x", in: ["task"] }),
    // @ts-expect-error: the collections are missing
    () => socle.query({ search: "x" }),
    async () => {
      const [hit] = await socle.query({ search: "x", in: ["tasks", "comments"] });
      // @ts-expect-error: the hit may be a comment, which has no title
      return hit?.record.title;
    },
    async (): Promise<string | undefined> =>
      (await createClient({ baseUrl: "" }).query({ search: "x", in: ["anything"] }))[0]?.record.id,
  ];
  expect(checks).toHaveLength(6);
});

test("endpoints and server queries have the types of the project", () => {
  const { endpoints, queries } = socle;
  const id = "rec_1";
  const checks: unknown[] = [
    async (): Promise<boolean> => (await endpoints.orders(id).pay.post({ amount: 5 })).paid,
    async (): Promise<string[]> => (await endpoints.orders.get({ query: { page: "1" } })).ids,
    () => endpoints.files("a", "b").get({ signal: AbortSignal.timeout(1) }),
    async (): Promise<number> => endpoints["/get"].get(),
    async (): Promise<string> => endpoints.get(),
    async (): Promise<number> => (await queries.board({ project: id })).open,
    async (): Promise<string[]> => queries.all(),
    () => queries.board({ project: id }).live(({ value }) => value?.open.toFixed()),
    // @ts-expect-error: the body is missing
    () => endpoints.orders(id).pay.post(),
    // @ts-expect-error: the amount is no number
    () => endpoints.orders(id).pay.post({ amount: "5" }),
    // @ts-expect-error: no endpoint at this path
    () => endpoints.orders(id).cancel.post({}),
    // @ts-expect-error: no method at this path
    () => endpoints.orders(id).pay.get(),
    // @ts-expect-error: the query is missing
    () => endpoints.orders.get(),
    // @ts-expect-error: the argument is missing
    () => queries.board(),
    // @ts-expect-error: no query of this name
    () => queries.bord({ project: id }),
  ];
  expect(checks).toHaveLength(15);
});

test("a client without types takes any collection, field and endpoint", () => {
  const any = createClient({ baseUrl: "" });
  const checks: unknown[] = [
    async () => (await any["anything"]?.where({ a: 1, b: { c: 2 } }).select("title"))?.items[0]?.["title"],
    () => any.collection("anything").create({ any: "thing" }),
    () =>
      any.endpoints["orders"]?.("5")
        ["pay"]?.post({ amount: 5 })
        .then((answer: unknown) => answer),
    () => any.queries["board"]?.({ project: "x" }),
  ];
  expect(checks).toHaveLength(4);
});
