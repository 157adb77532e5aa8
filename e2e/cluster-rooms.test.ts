/** Rooms of a cluster: members and messages cross three instances, and clients that join again are members again after a leader was killed. */
// Promises: C2.
import { expect, test } from "bun:test";
import type { SocketPage } from "@socle/protocol";
import { live } from "../packages/client/src/entries/live.ts";
import { createClient, type Room } from "../packages/client/src/index.ts";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { post, until } from "./kit.ts";
import { RoomClient } from "./room-socket.ts";

const boards = {
  name: "boards",
  fields: [{ name: "isOpen", type: "boolean" }],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
};
const files = {
  "collections/boards.json": JSON.stringify(boards),
  "rooms/board.json": JSON.stringify({
    key: { collection: "boards" },
    join: "isOpen = true",
    presence: ["n"],
    events: ["hi"],
  }),
};
const admin = { email: "admin@example.com", password: "correct horse" };
const settings = { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password };
const cluster = await startCluster(3, { files, settings });
const { instances } = cluster;

async function board(at: TestInstance): Promise<string> {
  const answer = await post(`${at.url}/api/boards`, { isOpen: true });
  return ((await answer.json()) as { id: string }).id;
}

/** Tries until a client is a member. */
async function member(at: TestInstance, id: string, n: number): Promise<RoomClient> {
  for (;;)
    try {
      const client = await RoomClient.open(at.url);
      await client.join("board", id, { n });
      return client;
    } catch {
      await Bun.sleep(100);
    }
}

function numbers(client: RoomClient, id: string): unknown[] {
  return client
    .members("board", id)
    .map(({ state }) => state["n"])
    .toSorted();
}

test("members and messages cross the instances, and a right that ends takes the members of each instance out", async () => {
  const leader = await cluster.leader();
  const id = await board(leader);
  const clients = await Promise.all(instances.map((at, n) => member(at, id, n)));
  for (const client of clients) await until(() => numbers(client, id).length === 3);
  for (const client of clients) expect(numbers(client, id)).toEqual([0, 1, 2]);
  for (const [n, client] of clients.entries()) {
    client.send({ action: "state", room: "board", key: id, state: { n: n + 10 } });
    for (let i = 0; i < 20; i++)
      client.send({ action: "send", room: "board", key: id, event: "hi", payload: n * 100 + i });
  }
  for (const client of clients) await until(() => client.payloads.length === 40);
  for (const [n, client] of clients.entries()) {
    expect(numbers(client, id)).toEqual([10, 11, 12]);
    for (const other of [0, 1, 2].filter((each) => each !== n)) {
      const heard = client.payloads.filter((payload) => Math.floor(Number(payload) / 100) === other);
      expect(heard).toEqual(Array.from({ length: 20 }, (_, i) => other * 100 + i));
    }
  }
  const headers = { "Content-Type": "application/json" };
  await fetch(`${leader.url}/api/boards/${id}`, { method: "PUT", headers, body: JSON.stringify({ isOpen: false }) });
  for (const client of clients) await until(() => client.errors.includes("forbidden"));
});

test("each instance follows a changed collection of a rule, and takes changed files of rooms at a reload", async () => {
  const leader = await cluster.leader();
  const login = await post(`${leader.url}/api/auth/login`, admin);
  const { accessToken } = (await login.json()) as { accessToken: string };
  const define = async (fields: object[], more: object = {}): Promise<void> => {
    const answer = await fetch(`${leader.url}/api/admin/collections/boards`, {
      method: "PUT",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ ...boards, fields, ...more }),
    });
    expect(answer.status).toBe(200);
  };
  const id = await board(leader);
  const clients = await Promise.all(instances.map((at, n) => member(at, id, n)));
  await define([{ name: "title", type: "string" }]);
  for (const client of clients) await until(() => client.errors.includes("forbidden"));
  await define(boards.fields);
  const again = await board(leader);
  const back = await Promise.all(instances.map((at, n) => member(at, again, n)));
  for (const client of back) await until(() => numbers(client, again).length === 3);
  const lobby = { key: "string", join: "public", presence: ["n"], events: [] };
  for (const { folder, running } of instances) {
    await Bun.write(`${folder}/rooms/lobby.json`, JSON.stringify(lobby));
    running.signal("SIGHUP");
  }
  // A client tries until its instance has the room.
  const inLobby = async (client: RoomClient, n: number): Promise<void> => {
    while (client.members("lobby", "k").length === 0) await client.join("lobby", "k", { n }).catch(() => Bun.sleep(50));
    await until(() => client.members("lobby", "k").length === 3);
  };
  await Promise.all(back.map(inLobby));
  expect(back.flatMap(({ code, errors }) => [code, ...errors.filter((each) => each !== "invalid_room")])).toEqual([
    null,
    null,
    null,
  ]);
});

test("admins see the sockets of all instances, at each instance, and the name of an instance that does not answer", async () => {
  const leader = await cluster.leader();
  const [stopped, other] = (await cluster.replicas()) as [TestInstance, TestInstance];
  const login = await post(`${leader.url}/api/auth/login`, admin);
  const { accessToken, user } = (await login.json()) as { accessToken: string; user: { id: string } };
  for (const { url } of instances) await RoomClient.open(url, accessToken);
  const headers = { Authorization: `Bearer ${accessToken}` };
  const sockets = async (at: TestInstance): Promise<SocketPage> =>
    (await (await fetch(`${at.url}/api/admin/sockets?user=${user.id}`, { headers })).json()) as SocketPage;
  const places = ({ items }: SocketPage): unknown[] => items.map(({ instance, email }) => [instance, email]).toSorted();
  const all = instances.map(({ url }) => [url, admin.email]).toSorted();
  for (const at of instances) {
    const page = await sockets(at);
    expect([places(page), page.missing, page.total]).toEqual([all, [], 3]);
  }
  stopped.running.signal("SIGSTOP");
  try {
    const page = await sockets(leader);
    expect(page.missing).toEqual([{ instance: stopped.url, process: 0 }]);
    expect(places(page)).toEqual([leader, other].map(({ url }) => [url, admin.email]).toSorted());
  } finally {
    stopped.running.signal("SIGCONT");
  }
  // The path between instances is for instances alone: the leader has no such path.
  for (const at of instances) {
    const answer = await fetch(`${at.url}/_/cluster/sockets`, { method: "POST", body: "{}", headers });
    expect(answer.status).toBe(at === leader ? 405 : 404);
  }
});

test("the members of a leader that is killed have left; clients that join again are members again", async () => {
  const leader = await cluster.leader();
  const others = await cluster.replicas();
  const id = await board(leader);
  const clients = await Promise.all([leader, ...others].map((at, n) => member(at, id, n)));
  for (const client of clients) await until(() => numbers(client, id).length === 3);
  leader.running.signal("SIGKILL");
  await until(() => clients[0]?.code !== null);
  const again = async (at: TestInstance, client: RoomClient, n: number): Promise<RoomClient> => {
    // A replica that begins to lead closes the sockets.
    await until(() => client.code !== null || numbers(client, id).length === 3, 5_000).catch(() => undefined);
    return client.code === null ? client : member(at, id, n);
  };
  const [first, second] = others as [TestInstance, TestInstance];
  const joined = [await member(first, id, 0)];
  for (const [n, at] of [first, second].entries()) joined.push(await again(at, clients[n + 1] as RoomClient, n + 1));
  let members = joined;
  await until(async () => {
    members = await Promise.all(
      members.map((client, n) => (client.code === null ? client : member(n === 2 ? second : first, id, n))),
    );
    return members.every((client) => JSON.stringify(numbers(client, id)) === "[0,1,2]");
  });
  expect(await cluster.leader()).not.toBe(leader);
  members[0]?.send({ action: "send", room: "board", key: id, event: "hi", payload: "new" });
  for (const client of members.slice(1)) await until(() => client.payloads.includes("new"));
  await leader.start();
  const back = await member(leader, id, 3);
  for (const client of [...members, back]) await until(() => numbers(client, id).length === 4);
});

test("the client joins again by itself when the leader is killed, and its members are there again", async () => {
  const leader = await cluster.leader();
  const others = await cluster.replicas();
  const id = await board(leader);
  const clients = others.map(({ url }) => createClient({ baseUrl: url, live }));
  const rooms = clients.map((client, n) => client.room("board", id).join({ state: { n } }));
  const states = (room: Room): string =>
    JSON.stringify(
      room.members
        .get()
        .map(({ state }) => state["n"])
        .toSorted(),
    );
  const areTogether = (): boolean => rooms.every((room) => room.status.get() === "joined" && states(room) === "[0,1]");
  await until(areTogether);
  const seen = rooms.map(() => new Set<string>());
  for (const [n, room] of rooms.entries()) room.members.subscribe(() => seen[n]?.add(states(room)));
  const start = performance.now();
  leader.running.signal("SIGKILL");
  // One of the two instances leads now, and has closed its sockets.
  await until(
    async () => (await cluster.leader()) !== leader && rooms.some(({ status }) => status.get() === "offline"),
  );
  await until(areTogether);
  console.log(`Members again after ${Math.round(performance.now() - start)} ms`);
  const heard: unknown[] = [];
  rooms[1]?.on("hi", (payload) => heard.push(payload));
  rooms[0]?.send("hi", "again");
  await until(() => heard.length > 0);
  expect(heard).toEqual(["again"]);
  for (const client of clients) client.$source.live().close();
});
