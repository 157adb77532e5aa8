/** Read rules that a thread decides: the right callers hear each change once, in order; the others do not; writes do not wait. */
import { expect, test } from "bun:test";
import { setRole } from "../../../test/kit.ts";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
/** Looks at the long notes of all members, many times: too long for the event loop of any machine. */
const terms = Array.from({ length: 10 }, (_, n) => `note ~ "none ${n}"`);
const rule = `team.members(team)[${[...terms, "note ~ @user.id"].join(" || ")}]`;
const others = 150;

async function open() {
  const server = await openServer({
    collections: [
      { name: "teams", fields: [] },
      { name: "members", fields: [relation("team", "teams"), { name: "note", type: "text" }] },
      {
        name: "letters",
        fields: [
          { name: "text", type: "string" },
          { name: "inside", type: "string", permissions: { read: `text = "open" || ${rule}` } },
          relation("team", "teams"),
        ],
        permissions: { read: `text = "public" || ${rule}` },
      },
      { name: "end", fields: [{ name: "n", type: "integer" }] },
    ],
  });
  const { records } = server.service;
  const make = async (name: string, values: object): Promise<string> =>
    (await records.create(name, system, { ...values })).record.id;
  const change = (id: string, values: object) => records.update("letters", system, { record: id, body: { ...values } });
  const teamOf = async (userId: string): Promise<{ team: string; membership: string }> => {
    const team = await make("teams", {});
    await server.service.database.transactLong("test", async (tx) => {
      const row = "INSERT INTO members (id, createdAt, updatedAt, team, note) VALUES (?, ?, ?, ?, ?)";
      const at = "2026-01-01T00:00:00.000Z";
      for (let n = 0; n < others; n++)
        await tx.run(row, `rec_${team}_${n}`, at, at, team, `${n} é`.padEnd(10_000, "x"));
    });
    return { team, membership: await make("members", { team, note: userId }) };
  };
  const [ann, bob] = [await server.register("ann@x.org"), await server.register("bob@x.org")];
  const times = (): number => server.service.limits.totals().find(([name]) => name === "ruleTime")?.[1] ?? 0;
  const listen = async (token?: string): Promise<TestSocket> => {
    const socket = await server.connect(token);
    for (const channel of ["letters.*", "end.created"]) await socket.subscribe(channel);
    return socket;
  };
  return {
    server,
    records,
    make,
    change,
    ann,
    bob,
    red: await teamOf(ann.user.id),
    blue: await teamOf(bob.user.id),
    listen,
    times,
  };
}

/** The events of letters: the type, and the text with a mark for the field inside. */
function heardBy(socket: TestSocket): string[] {
  return socket.frames.flatMap((frame) => {
    if (frame.type !== "event" || !frame.event.type.startsWith("letters.")) return [];
    const { type, payload } = frame.event;
    return [`${type.slice("letters.".length)} ${payload["text"] ?? "-"}${Object.hasOwn(payload, "inside") ? "+" : ""}`];
  });
}

function endsOf(socket: TestSocket): unknown[] {
  return socket.frames.flatMap((frame) =>
    frame.type === "event" && frame.event.type === "end.created" ? [frame.event.payload["n"]] : [],
  );
}

test("a change is sent to the listeners who may read the record, with their readable fields, and to no others", async () => {
  const world = await open();
  const { make, change, red, blue } = world;
  const admin = await world.server.admin();
  const tokens = [world.ann.accessToken, world.bob.accessToken, undefined, admin];
  const sockets = await Promise.all(tokens.map(world.listen));
  const id = await make("letters", { text: "a", inside: "i", team: red.team });
  await change(id, { text: "b", team: blue.team });
  await change(id, { text: "public" });
  await change(id, { text: "open" });
  await world.records.delete("letters", system, id);
  await make("letters", { text: "public", inside: "i", team: red.team });
  await until(() => sockets.every((socket) => heardBy(socket).at(-1)?.startsWith("created public") === true));
  expect(world.times()).toBeGreaterThan(0);
  expect(sockets.map(heardBy)).toEqual([
    ["created a+", "deleted -", "created public", "deleted -", "created public+"],
    ["created b+", "updated public+", "updated open+", "deleted -", "created public"],
    ["created public", "deleted -", "created public"],
    ["created a+", "updated b+", "updated public+", "updated open+", "deleted -", "created public+"],
  ]);
});

test("rights count at the moment of sending; a role that changes while changes wait misses nothing and receives nothing twice", async () => {
  const world = await open();
  const { make, red, blue, ann } = world;
  await world.server.admin();
  const socket = await world.listen(ann.accessToken);
  await make("letters", { text: "1", team: red.team });
  await until(() => heardBy(socket).length === 1);
  await world.records.delete("members", system, red.membership);
  await make("letters", { text: "2", team: red.team });
  await make("letters", { text: "public" });
  await until(() => heardBy(socket).at(-1)?.startsWith("created public") === true);
  await make("members", { team: red.team, note: ann.user.id });
  // Letters wait for the thread while the caller changes; the other collection goes on.
  await Promise.all(["3", "4", "5"].map((text) => make("letters", { text, team: red.team })));
  await make("end", { n: 1 });
  await setRole(world.server.service, ann.user.id, "admin");
  await make("letters", { text: "6", team: blue.team });
  await setRole(world.server.service, ann.user.id, "authenticated");
  await make("letters", { text: "7", team: blue.team });
  await make("letters", { text: "8", team: red.team });
  await until(() => heardBy(socket).includes("created 8+"));
  await make("end", { n: 2 });
  await until(() => endsOf(socket).includes(2));
  expect(endsOf(socket)).toEqual([1, 2]);
  expect(world.times()).toBeGreaterThan(0);
  // The letter of the other team is told if the caller is still an admin then.
  const letters = heardBy(socket).filter((text) => text !== "created 6+");
  expect(letters).toEqual(["1+", "public", "3+", "4+", "5+", "8+"].map((text) => `created ${text}`));
});

test("a role that changes while changes of a collection wait loses no change of another collection", async () => {
  const world = await open();
  const { make, red, ann } = world;
  const socket = await world.listen(ann.accessToken);
  await make("letters", { text: "first", team: red.team });
  await until(() => heardBy(socket).length === 1);
  const texts = Array.from({ length: 6 }, (_, n) => `${n}`);
  await Promise.all(texts.map((text) => make("letters", { text, team: red.team })));
  await setRole(world.server.service, ann.user.id, "public");
  for (const text of texts) await make("end", { n: Number(text) });
  await until(() => heardBy(socket).length >= texts.length + 1);
  await make("end", { n: texts.length });
  await until(() => endsOf(socket).includes(texts.length));
  expect(endsOf(socket)).toEqual([...texts.keys(), texts.length]);
  expect(heardBy(socket)).toEqual(["first", ...texts].map((text) => `created ${text}+`));
});
