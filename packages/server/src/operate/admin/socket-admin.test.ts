/** Tests of the admin API of sockets: entries, pages, users, and processes that do not answer. */
import { expect, test } from "bun:test";
import type { SocketPage } from "@socle/protocol";
import { openServer, until } from "../../../test/sockets.ts";
import type { SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import { SocketAdmin } from "./socket-admin.ts";

const server = await openServer({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }], permissions: { read: "public" } }],
});
const admin = await server.admin();
const member = await server.register("member@example.com");

async function sockets(query = ""): Promise<SocketPage> {
  const answer = await fetch(`${server.url}/api/admin/sockets${query}`, {
    headers: { Authorization: `Bearer ${admin}` },
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as SocketPage;
}

test("the open sockets are listed with caller, channels and live queries, and closed sockets are not", async () => {
  const own = await server.connect(member.accessToken, "203.0.113.7");
  const anonymous = await server.connect(undefined, "203.0.113.8");
  own.send({ action: "subscribe", channel: "posts.*", filter: 'title = "a"' });
  own.send({ action: "subscribe", id: "q", query: { collection: "posts", sort: "title", limit: 5 } });
  anonymous.send({ action: "subscribe", channel: "posts.created" });
  await until(() => own.frames.length >= 3 && anonymous.frames.length === 1);
  const { items, total, missing } = await sockets();
  expect([total, missing]).toEqual([2, []]);
  expect(items[0]).toMatchObject({
    userId: member.user.id,
    email: "member@example.com",
    role: "authenticated",
    isKey: false,
    address: "203.0.113.7",
    instance: null,
    process: 0,
    waiting: 0,
    channels: [{ id: null, channel: "posts.*", filter: 'title = "a"' }],
    queries: [{ id: "q", of: "posts", parameters: "sort=title&limit=5" }],
    rooms: [],
  });
  expect(items[1]).toMatchObject({
    userId: null,
    email: null,
    role: null,
    channels: [{ id: null, channel: "posts.created", filter: null }],
    queries: [],
  });
  expect(JSON.stringify(items)).not.toContain(member.accessToken);

  expect((await sockets(`?user=${member.user.id}`)).items.map(({ id }) => id)).toEqual([items[0]?.id ?? ""]);
  expect(await sockets("?limit=1&offset=1")).toMatchObject({ items: [{ id: items[1]?.id }], total: 2 });
  expect((await sockets("?user=usr_nobody")).items).toEqual([]);

  own.socket.close();
  while ((await sockets()).total !== 1) await Bun.sleep(5);
  expect((await sockets(`?user=${member.user.id}`)).items).toEqual([]);
});

test("a long filter is cut in the list", async () => {
  const socket = await server.connect(member.accessToken);
  const filter = `title != "${"x".repeat(2_000)}"`;
  socket.send({ action: "subscribe", channel: "posts.*", filter });
  await until(() => socket.frames.length === 1);
  const { items } = await sockets(`?user=${member.user.id}`);
  expect(items[0]?.channels[0]?.filter).toBe(`${filter.slice(0, 300)}…`);
});

test("the sockets of all processes and instances are listed, and a process that does not answer is named", async () => {
  const listed = (await sockets()).items;
  const of = (name: string, number: number) => {
    const items = Array.from({ length: number }, (_, n) => ({ ...listed[0], id: `${name} ${n}`, userId: "usr_gone" }));
    return async ({ limit, offset }: SocketQuery): Promise<SocketPart> => ({
      items: items.slice(offset, offset + limit) as SocketPart["items"],
      total: number,
    });
  };
  const admins = new SocketAdmin({
    auth: server.service.auth,
    realtime: { list: () => ({ items: [], total: 0 }) },
    otherSockets: () =>
      new Map([
        [1, of("process", 3)],
        [2, () => Promise.reject(new Error("The process has ended"))],
      ]),
    cluster: {
      address: "http://here",
      sockets: async () =>
        new Map([
          ["http://silent", () => new Promise<SocketPart>(() => undefined)],
          ["http://away", of("away", 3)],
        ]),
    },
  });
  const missing = [
    { instance: "http://here", process: 2 },
    { instance: "http://silent", process: 0 },
  ];
  const page = async (limit: number, offset: number) => {
    const { items, ...rest } = await admins.list({ user: null, limit, offset });
    expect(rest).toEqual({ total: 6, missing });
    return items.map(({ id, instance, process, email }) => [id, instance, process, email]);
  };
  const [whole, part, later] = await Promise.all([page(10, 0), page(3, 2), page(10, 6)]);
  const here = [0, 1, 2].map((n) => [`process ${n}`, "http://here", 1, null]);
  const away = [0, 1, 2].map((n) => [`away ${n}`, "http://away", 0, null]);
  expect(whole).toEqual([...here, ...away]);
  expect(part).toEqual(whole.slice(2, 5));
  expect(later).toEqual([]);
});
