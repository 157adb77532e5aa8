/** Rooms with the executable: members over real sockets and over three processes, ends of rights, definitions that change, and faults of definitions. */
import { expect, test } from "bun:test";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isLong, post, project, type Running, serve, socle, until } from "./kit.ts";
import { readersOf } from "./processes-kit.ts";
import { RoomClient } from "./room-socket.ts";

const collections = [
  {
    name: "boards",
    fields: [
      { name: "title", type: "string" },
      { name: "isOpen", type: "boolean" },
    ],
    permissions: { read: "public", create: "public", update: "public", delete: "public" },
  },
];
const rooms = {
  board: { name: "board", key: { collection: "boards" }, join: "isOpen = true", presence: ["n"], events: ["hi"] },
  lobby: { key: "string", join: '@key != "closed"', presence: ["n"], events: ["hi"] },
};

async function projectWithRooms(definitions: { readonly [name: string]: object } = rooms): Promise<string> {
  const cwd = await project({ collections });
  await mkdir(join(cwd, "rooms"));
  for (const [name, definition] of Object.entries(definitions)) await writeRoom(cwd, name, definition);
  return cwd;
}

async function writeRoom(cwd: string, name: string, definition: object): Promise<void> {
  await Bun.write(join(cwd, "rooms", `${name}.json`), JSON.stringify(definition));
}

async function board({ url }: Running): Promise<string> {
  const answer = await post(`${url}/api/boards`, { title: "x", isOpen: true });
  return ((await answer.json()) as { id: string }).id;
}

async function change({ url }: Running, id: string, body: object): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${url}/api/boards/${id}`, { method: "PUT", headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}

/** Members and messages of several sockets, and the end of a right, whichever process has a socket. */
async function meet(server: Running, sockets: number): Promise<RoomClient[]> {
  const id = await board(server);
  const clients = await Promise.all(Array.from({ length: sockets }, () => RoomClient.open(server.url)));
  const ids = await Promise.all(clients.map((client, n) => client.join("board", id, { n })));
  const states = (client: RoomClient): unknown[] => client.members("board", id).map(({ state }) => state["n"]);
  const all = Array.from({ length: sockets }, (_, n) => n);
  for (const client of clients) await until(() => states(client).length === sockets);
  for (const client of clients) expect(states(client).toSorted()).toEqual(all.toSorted());
  for (const [n, client] of clients.entries())
    client.send({ action: "send", room: "board", key: id, event: "hi", payload: n });
  for (const client of clients) await until(() => client.payloads.length >= sockets - 1);
  for (const [n, client] of clients.entries())
    expect(client.payloads.toSorted()).toEqual(all.filter((each) => each !== n).toSorted());
  clients[0]?.send({ action: "leave", room: "board", key: id });
  for (const client of clients.slice(1))
    await until(() => !client.members("board", id).some((member) => member.id === ids[0]));
  await change(server, id, { isOpen: false });
  for (const client of clients.slice(1)) await until(() => client.errors.length > 0);
  expect(clients.map(({ errors }) => errors)).toEqual(clients.map((_, n) => (n === 0 ? [] : ["forbidden"])));
  const again = clients[1]?.join("board", id).catch((error: Error) => error.message);
  expect(await again).toContain('"code":"forbidden"');
  return clients;
}

test("members hear each other, and a right that ends takes the member out", async () => {
  const server = await serve(await projectWithRooms());
  await meet(server, 4);
  const lobby = await RoomClient.open(server.url);
  await lobby.join("lobby", "k");
  expect(await lobby.join("lobby", "closed").catch((error: Error) => error.message)).toContain("forbidden");
  expect(lobby.code).toBe(null);
  await server.stop();
});

test("members and messages cross three processes; the members of a process that is killed have left", async () => {
  const server = await serve(await projectWithRooms(), { env: { SERVICE_PROCESSES: "3" }, single: "processes" });
  await meet(server, 24);
  const clients = await Promise.all(Array.from({ length: 24 }, () => RoomClient.open(server.url)));
  for (const client of clients) await client.join("lobby", "k");
  for (const client of clients) await until(() => client.members("lobby", "k").length === 24);
  const [killed = 0] = readersOf(server);
  process.kill(killed, "SIGKILL");
  await until(() => clients.some(({ code }) => code !== null));
  const left = (): RoomClient[] => clients.filter(({ code }) => code === null);
  // The sockets of the process close one after the other.
  await until(() => left().every((client) => client.members("lobby", "k").length === left().length));
  expect(left().length).toBeLessThan(24);
  await until(() => readersOf(server).length === 2);
  // The new process hears of the members of the others.
  const later = await Promise.all(Array.from({ length: 24 }, () => RoomClient.open(server.url)));
  for (const client of later) await client.join("lobby", "k");
  const everybody = [...left(), ...later];
  for (const client of everybody) await until(() => client.members("lobby", "k").length === everybody.length);
  later[0]?.send({ action: "send", room: "lobby", key: "k", event: "hi", payload: "late" });
  for (const client of everybody.slice(0, -1)) if (client !== later[0]) await until(() => client.payloads.length > 0);
  await server.stop();
});

test.each(isLong ? [1, 3] : [3])(
  "a reload takes changed definitions in %p processes, and keeps the former definitions beside a fault",
  async (processes) => {
    const cwd = await projectWithRooms();
    const server = await serve(cwd, { env: { SERVICE_PROCESSES: String(processes) }, single: "processes" });
    const clients = await Promise.all(Array.from({ length: 12 }, () => RoomClient.open(server.url)));
    for (const client of clients) await client.join("lobby", "a");
    await Bun.write(join(cwd, "rooms", "lobby.json"), "{");
    server.signal("SIGHUP");
    await until(() => server.output().includes("Rooms stay as they are"));
    for (const client of clients) await client.join("lobby", "b");
    // A process that starts has the definitions of the service, whatever the files say meanwhile.
    const [killed = 0] = readersOf(server);
    if (processes > 1) {
      process.kill(killed, "SIGKILL");
      await until(() => readersOf(server).length === 2 && !readersOf(server).includes(killed));
    }
    const later = await Promise.all(Array.from({ length: 12 }, () => RoomClient.openAgain(server.url)));
    for (const client of later) await client.join("lobby", "c");
    expect(server.output().split("Rooms stay as they are")).toHaveLength(2);
    await writeRoom(cwd, "lobby", { key: "string", join: '@key = "d"' });
    server.signal("SIGHUP");
    const open = [...clients, ...later].filter(({ code }) => code === null);
    for (const client of open) await until(() => client.errors.includes("forbidden"));
    for (const client of open) await client.join("lobby", "d");
    await rm(join(cwd, "rooms", "lobby.json"));
    server.signal("SIGHUP");
    for (const client of open) await until(() => client.errors.includes("invalid_room"));
    await server.stop();
  },
);

test("socle dev takes a changed definition, and keeps the former definition beside a fault", async () => {
  const cwd = await projectWithRooms();
  const server = await serve(cwd, { args: ["dev"] });
  const client = await RoomClient.open(server.url);
  await client.join("lobby", "a");
  await writeRoom(cwd, "lobby", { key: "string", join: "x = 1" });
  await until(() => server.output().includes("Rooms stay as they are"));
  expect(server.output()).toContain(join(cwd, "rooms", "lobby.json"));
  await client.join("lobby", "a");
  expect(client.errors).toEqual([]);
  await writeRoom(cwd, "lobby", { key: "string", join: '@key = "b"' });
  await until(() => client.errors.length > 0);
  expect(client.errors).toEqual(["forbidden"]);
  await client.join("lobby", "b");
  await rm(join(cwd, "rooms", "lobby.json"));
  await until(() => client.errors.length > 1);
  expect(client.errors[1]).toBe("invalid_room");
  await server.stop();
});

test("a definition with a fault stops the start, and socle check names file and position", async () => {
  const cwd = await projectWithRooms({
    board: { key: { collection: "boards" }, join: "isOpen = true && titel = 1" },
    hall: { key: { collection: "halls" }, join: "public" },
    lobby: { key: "string", join: "owner" },
    other: { key: "string", join: "@key = 5" },
    right: { key: "string", join: "@key = @user.id" },
  });
  const started = await socle(["serve"], { cwd });
  expect(started.code).toBe(2);
  const file = (name: string): string => join(cwd, "rooms", `${name}.json`);
  expect(started.stderr + started.stdout).toContain(`${file("board")}: "join", at position 18: `);
  const checked = await socle(["check"], { cwd });
  expect(checked.code).toBe(1);
  const lines = checked.stdout.split("\n").filter((line) => line.includes("rooms"));
  expect(lines).toEqual([
    expect.stringContaining(`${file("board")}: "join", at position 18: `),
    expect.stringContaining(`${file("hall")}: "key": there is no collection "halls"`),
    expect.stringContaining(`${file("lobby")}: "join": owner needs a key that is a record`),
    expect.stringContaining(`${file("other")}: "join", at position `),
  ]);
  for (const name of ["board", "hall", "lobby", "other"]) await rm(file(name));
  expect((await socle(["check"], { cwd })).code).toBe(0);
});
