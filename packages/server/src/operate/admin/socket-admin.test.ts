import { expect, test } from "bun:test";
import type { Page, SocketEntry } from "@socle/protocol";
import { openServer, until } from "../../../test/sockets.ts";

const server = await openServer({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }], permissions: { read: "public" } }],
});
const admin = await server.admin();
const member = await server.register("member@example.com");

async function sockets(query = ""): Promise<Page<SocketEntry>> {
  const answer = await fetch(`${server.url}/api/admin/sockets${query}`, {
    headers: { Authorization: `Bearer ${admin}` },
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Page<SocketEntry>;
}

test("the open sockets are listed with caller, channels and live queries, and closed sockets are not", async () => {
  const own = await server.connect(member.accessToken, "203.0.113.7");
  const anonymous = await server.connect(undefined, "203.0.113.8");
  own.send({ action: "subscribe", channel: "posts.*", filter: 'title = "a"' });
  own.send({ action: "subscribe", id: "q", query: { collection: "posts", sort: "title", limit: 5 } });
  anonymous.send({ action: "subscribe", channel: "posts.created" });
  await until(() => own.frames.length >= 3 && anonymous.frames.length === 1);
  const { items, total } = await sockets();
  expect(total).toBe(2);
  expect(items[0]).toMatchObject({
    userId: member.user.id,
    email: "member@example.com",
    role: "authenticated",
    isKey: false,
    address: "203.0.113.7",
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
