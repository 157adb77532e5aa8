/**
 * Deletions by cascade: a listener whose rule or filter reaches through a record that is deleted in the same transaction hears that
 * the record behind is gone, live and in a replay; a listener that could not read the record hears nothing.
 */
import { expect, test } from "bun:test";
import { openServer, type TestSocket } from "../../../test/sockets.ts";

const relation = (name: string, collection: string, more: object = {}) => ({
  name,
  type: "relation",
  collection,
  ...more,
});
const string = (name: string) => ({ name, type: "string" });
const member = "project.members(project)[user = @user.id]";
const collections = [
  {
    name: "projects",
    fields: [
      string("name"),
      relation("owner", "users", { owner: true }),
      relation("parent", "projects", { onDelete: "cascade" }),
    ],
    permissions: { read: "authenticated", create: "authenticated" },
  },
  {
    name: "members",
    fields: [relation("project", "projects", { onDelete: "cascade" }), relation("user", "users")],
    permissions: { read: "authenticated", create: "authenticated" },
  },
  // The rules of these collections reach through the project.
  {
    name: "tasks",
    fields: [string("title"), relation("project", "projects", { onDelete: "cascade" })],
    permissions: { read: member, create: "authenticated" },
  },
  {
    name: "notes",
    fields: [string("title"), relation("project", "projects", { onDelete: "cascade" }), string("secret")],
    permissions: { read: "project.owner = @user.id || project.parent.owner = @user.id", create: "authenticated" },
  },
  {
    name: "links",
    fields: [string("title"), relation("project", "projects", { onDelete: "clear" })],
    permissions: { read: "project.owner = @user.id", create: "authenticated" },
  },
  {
    name: "comments",
    fields: [string("title"), relation("task", "tasks", { onDelete: "cascade" })],
    permissions: { read: "task.project.owner = @user.id", create: "authenticated" },
  },
  // The project goes without the record.
  {
    name: "loose",
    fields: [string("title"), relation("project", "projects")],
    permissions: { read: `project.owner = @user.id && ${member}`, create: "authenticated" },
  },
  {
    name: "open",
    fields: [
      string("title"),
      relation("project", "projects", { onDelete: "cascade" }),
      relation("many", "projects", { multiple: true }),
    ],
    permissions: { read: "authenticated", create: "authenticated" },
  },
];

async function world() {
  const server = await openServer({ collections });
  const admin = await server.admin();
  const [ann, ben] = [await server.register("ann@example.com"), await server.register("ben@example.com")];
  const make = async (collection: string, body: object, token = ann.accessToken): Promise<string> => {
    const answer = await server.request<{ id: string }>("POST", `/api/${collection}`, { body, token });
    expect([collection, answer.status, answer.body]).toEqual([collection, 201, answer.body]);
    return answer.body.id;
  };
  const project = async (more: object = {}) => {
    const id = await make("projects", { name: "p", ...more });
    await make("members", { project: id, user: ann.user.id });
    return id;
  };
  return { server, admin, ann, ben, make, project };
}

/** The deletions that a socket has heard, sorted: the collection and the id. */
async function deletions(socket: TestSocket): Promise<string[]> {
  const events = await socket.events();
  return events
    .filter(({ type }) => type.endsWith(".deleted"))
    .map(({ type, payload }) => `${type.split(".")[0]} ${(payload as { id: string }).id}`)
    .toSorted();
}

const types = ["tasks", "notes", "links", "comments", "open"].map((name) => `${name}.*`);

test("each way in which a parent goes with its records is published to the former readers of the records, and to nobody besides", async () => {
  const { server, admin, ann, ben, make, project } = await world();
  const top = await project();
  const inner = await project({ parent: top });
  const ids: string[] = [];
  for (const id of [top, inner]) {
    const task = await make("tasks", { title: "t", project: id });
    ids.push(`tasks ${task}`, `notes ${await make("notes", { title: "n", project: id })}`);
    ids.push(
      `links ${await make("links", { title: "l", project: id })}`,
      `comments ${await make("comments", { title: "c", task })}`,
    );
  }
  const filtered = await make("open", { title: "o", project: top, many: [inner] });
  const other = await make("open", { title: "o" });

  const sockets = { ann: await server.connect(ann.accessToken), ben: await server.connect(ben.accessToken) };
  const [start] = await server.service.events.read((await server.service.events.lastSeq()) - 1, 1);
  for (const socket of Object.values(sockets)) {
    for (const type of types.slice(0, -1)) await socket.subscribe(type);
    socket.send({ action: "subscribe", id: "by-owner", channel: "open.*", filter: "project.owner = @user.id" });
    socket.send({
      action: "subscribe",
      id: "by-item",
      channel: "open.*",
      filter: 'many.name = "p" && project.owner = @user.id',
    });
  }
  await Bun.sleep(50);
  expect((await server.request("DELETE", `/api/projects/${top}`, { token: admin })).status).toBe(204);
  const wanted = [...ids, `open ${filtered}`, `open ${filtered}`].toSorted();
  while ((await deletions(sockets.ann)).length < wanted.length) await Bun.sleep(10);
  expect(await deletions(sockets.ann)).toEqual(wanted);
  expect(await deletions(sockets.ben)).toEqual([]);

  // A client that was away hears the same.
  for (const [token, heard] of [
    [ann.accessToken, ids.toSorted()],
    [ben.accessToken, []],
  ] as const) {
    const socket = await server.connect(token);
    for (const type of types.slice(0, -1)) await socket.subscribe(type, start?.id);
    await Bun.sleep(200);
    expect(await deletions(socket)).toEqual([...heard]);
  }
  expect((await server.request("GET", `/api/open/${other}`, { token: ann.accessToken })).status).toBe(200);
});

test("a batch that deletes member, parent and child in any order", async () => {
  const { server, admin, ann, ben, make } = await world();
  const sockets = { ann: await server.connect(ann.accessToken), ben: await server.connect(ben.accessToken) };
  for (const socket of Object.values(sockets))
    for (const name of ["loose", "tasks"]) await socket.subscribe(`${name}.*`);
  const wanted: string[] = [];
  for (const order of ["member project loose", "loose member project", "project member loose"]) {
    const project = await make("projects", { name: order });
    const member = await make("members", { project, user: ann.user.id });
    const loose = await make("loose", { title: "n", project });
    wanted.push(`loose ${loose}`, `tasks ${await make("tasks", { title: "t", project })}`);
    const targets: Record<string, string> = { member, project, loose };
    const operations = order.split(" ").map((name) => {
      return { method: "delete", collection: name === "loose" ? name : `${name}s`, id: targets[name] };
    });
    // The cascade of the project deletes a member that no earlier operation deletes.
    const answer = await server.request("POST", "/api/batch", {
      body: {
        operations: operations.filter(({ collection }) => collection !== "members" || !order.startsWith("project")),
      },
      token: admin,
    });
    expect([order, answer.status, answer.body]).toEqual([order, 200, answer.body]);
  }
  while ((await deletions(sockets.ann)).length < wanted.length) await Bun.sleep(10);
  expect(await deletions(sockets.ann)).toEqual(wanted.toSorted());
  expect(await deletions(sockets.ben)).toEqual([]);
});
