/** Room links: members of any number cross a link in parts, as they are when they are told; a link that is too slow ends, and the log says so. */
// Promises: B1.
import { expect, spyOn, test } from "bun:test";
import type { TestApi } from "../../../test/kit.ts";
import { collections, rooms as definitions } from "../../../test/rooms.ts";
import { openServer, until } from "../../../test/sockets.ts";
import type { RoomNews, Rooms } from "../../live/rooms/index.ts";
import { linkRooms, type RoomAnswer, RoomLinks, type RoomQuestion } from "./room-links.ts";

const partMembers = 50;
const state = `{"n":"${"x".repeat(10_000)}"}`;
/** Rooms whose members are about 20 MiB. */
const many = 40;
const slow = ({ log }: TestApi): string[] =>
  log.filter((line) => line.includes("A link of rooms between two instances ended"));

/** An instance, with members that came from elsewhere. */
async function instance(name: string) {
  const api = await openServer({ rooms: definitions, collections });
  const { rooms } = api.parts.realtime;
  const elsewhere = { tell: () => undefined };
  rooms.connect(elsewhere);
  const idsOf = (key: string): string[] => Array.from({ length: partMembers }, (_, n) => `${name} ${key} ${n}`);
  const tell = (key: string, more: Partial<Extract<RoomNews, { type: "presence" }>>): void =>
    rooms.take(elsewhere, { type: "presence", room: "lobby", key, came: [], changed: [], left: [], ...more });
  return {
    api,
    rooms,
    come: (key: string, text = state) => tell(key, { came: idsOf(key).map((id) => [id, null, text]) }),
    leave: (key: string) => tell(key, { left: idsOf(key) }),
    idsOf,
  };
}

/** The states of all members by id. */
function membersOf(rooms: Rooms): Map<string, string> {
  const members = new Map<string, string>();
  const end = rooms.connect({
    tell(news) {
      if (news.type === "presence") for (const [id, , text] of news.came) members.set(id, text);
    },
  });
  end();
  return members;
}

/** Links a replica to a leader, over JSON. `on` sees each question before the leader, and each answer. */
function link(leader: Rooms, replica: Rooms, on: (asked: RoomQuestion, answer?: RoomAnswer) => unknown) {
  const links = new RoomLinks(() => leader);
  const stopping = new AbortController();
  const ask = async (question: RoomQuestion, signal: AbortSignal): Promise<RoomAnswer> => {
    await on(question);
    const answer = await links.answer(JSON.parse(JSON.stringify(question)) as RoomQuestion, signal);
    await on(question, answer);
    return JSON.parse(JSON.stringify(answer)) as RoomAnswer;
  };
  return { begun: linkRooms(replica, ask, stopping.signal), [Symbol.dispose]: () => stopping.abort() };
}

test("members of more than 16 MiB cross a link in parts, and are there when the link has begun", async () => {
  const [one, two] = [await instance("one"), await instance("two")];
  for (let n = 0; n < many; n++) {
    one.come(`a${n}`);
    two.come(`b${n}`);
  }
  const sizes: number[] = [];
  const opened: string[] = [];
  using linked = link(one.rooms, two.rooms, ({ kind, news, link: id }, answer) => {
    sizes.push(JSON.stringify(answer ?? news).length);
    if (kind === "open" && answer === undefined) opened.push(id);
  });
  await linked.begun;
  const all = 2 * many * partMembers;
  expect(membersOf(two.rooms).size).toBe(all);
  await until(() => membersOf(one.rooms).size === all);
  expect(Math.max(...sizes)).toBeLessThan(2 * 1024 ** 2);
  expect(opened).toHaveLength(1);
  expect([...slow(one.api), ...slow(two.api)]).toEqual([]);
});

test("members that leave, come and change while the members are told are told as they are", async () => {
  const [one, two] = [await instance("one"), await instance("two")];
  for (let n = 0; n < 20; n++) one.come(`a${n}`);
  using linked = link(one.rooms, two.rooms, ({ kind }, answer) => {
    if (kind !== "open" || answer === undefined) return;
    // These rooms are told after the answer.
    one.leave("a18");
    one.come("a19", '{"n":"changed"}');
    one.come("a20");
  });
  await linked.begun;
  await until(() => membersOf(two.rooms).size === 20 * partMembers);
  await Bun.sleep(200);
  const members = membersOf(two.rooms);
  expect(members).toEqual(membersOf(one.rooms));
  expect([members.has(one.idsOf("a18")[0] ?? ""), members.get(one.idsOf("a19")[0] ?? "")]).toEqual([
    false,
    '{"n":"changed"}',
  ]);
});

test("the start goes on without a leader that answers, and the link follows", async () => {
  const [one, two] = [await instance("one"), await instance("two")];
  one.come("a");
  let isAway = true;
  using linked = link(one.rooms, two.rooms, () => {
    if (isAway) throw new Error("The leader is away");
  });
  await linked.begun;
  expect(membersOf(two.rooms).size).toBe(0);
  isAway = false;
  await until(() => membersOf(two.rooms).size === partMembers);
});

test.each(["leader", "replica"] as const)(
  "a link whose other side does not take the news of the %s ends with a line in the log, once a minute, and begins again",
  async (full) => {
    const [one, two] = [await instance("one"), await instance("two")];
    const from = full === "leader" ? one : two;
    const kind = full === "leader" ? "ask" : "tell";
    let isSlow = false;
    const opened: string[] = [];
    using linked = link(one.rooms, two.rooms, async (asked, answer) => {
      if (asked.kind === "open" && answer === undefined) opened.push(asked.link);
      if (asked.kind === kind) await until(() => !isSlow, 20_000);
    });
    await linked.begun;
    const ended = spyOn(from.rooms, "warnOfSlowLink");
    for (const times of [1, 2]) {
      isSlow = true;
      await Bun.sleep(20);
      from.come("first");
      await Bun.sleep(100);
      for (let n = 0; n < many; n++) from.come(`${times} ${n}`);
      await until(() => ended.mock.calls.length >= times);
      isSlow = false;
      await until(() => opened.length > times);
      const other = full === "leader" ? two : one;
      await until(() => membersOf(other.rooms).size === membersOf(from.rooms).size);
    }
    expect(slow(from.api)).toHaveLength(1);
    expect(slow(from.api)[0]).toContain("limits.roomMessages");
  },
  60_000,
);
