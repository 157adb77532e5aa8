/** Multiple fields in events: subscriptions filter by items, and a replay sends a field that has turned multiple as a list. */
import { expect, test } from "bun:test";
import { heard, openFilterWorld } from "../../../test/filter-world.ts";
import { until } from "../../../test/sockets.ts";

const world = await openFilterWorld();
const { server, make, change, place, define } = world;
const ann = await server.register("ann@example.com");
const notes = (more: object) => ({
  name: "notes",
  fields: [
    { name: "text", type: "string" },
    { name: "tag", type: "string", ...more },
  ],
});

test("a filter receives records that get an item as created, and records that lose the item as deleted", async () => {
  await define(notes({ multiple: true }));
  const socket = await server.connect(ann.accessToken);
  for (const [id, filter] of [
    ["a", 'tag = "x"'],
    ["b", 'tag != "x"'],
  ])
    await socket.ask({ action: "subscribe", channel: "notes.*", filter, id });
  const id = await make("notes", { text: "n", tag: ["y"] });
  await change("notes", id, { tag: ["y", "x"] });
  await change("notes", id, { tag: ["x", "y"] });
  await change("notes", id, { tag: [] });
  expect(await heard(world, socket)).toEqual([
    ["b", "created", "n"],
    ["a", "created", "n"],
    ["b", "deleted", { id }],
    ["a", "updated", "n"],
    ["a", "deleted", { id }],
    ["b", "created", "n"],
  ]);
});

test("a field that has turned multiple is an array in a replay, and its filter holds for the present value", async () => {
  await define(notes({}));
  const since = await place();
  const id = await make("notes", { text: "old", tag: "x" });
  await define(notes({ multiple: true }));
  const socket = await server.connect(ann.accessToken);
  for (const [name, filter] of [
    ["a", 'tag = "x"'],
    ["b", "tag = null"],
  ])
    await socket.ask({ action: "subscribe", channel: "notes.*", filter, id: name, since });
  await socket.ask({ action: "subscribe", channel: "notes.*", since });
  expect(await heard(world, socket)).toEqual([
    ["a", "created", "old"],
    [null, "created", "old"],
  ]);
  const payloads = (await socket.events()).flatMap(({ type, payload }) => (type === "notes.created" ? [payload] : []));
  expect(payloads.map(({ tag }) => tag)).toEqual([["x"], ["x"]]);
  expect(payloads.map((payload) => payload["id"])).toEqual([id, id]);
});

test("a filter through lists of lists ends beyond its processor time", async () => {
  const { server, make, change, define } = await openFilterWorld({ SERVICE_LIMITS_FILTER_TIME: "5ms" });
  const ann = await server.register("ann@example.com");
  const self = { type: "relation", collection: "links", multiple: true };
  await define({
    name: "links",
    fields: [
      { name: "text", type: "string" },
      { name: "to", ...self },
    ],
  });
  const ids: string[] = [];
  for (let i = 0; i < 60; i++) ids.push(await make("links", { text: "end" }));
  for (const id of ids) await change("links", id, { to: ids });
  const [socket, other] = [await server.connect(ann.accessToken), await server.connect()];
  await other.subscribe("links.*", undefined, { filter: 'to.text ~ "none"', id: "two" });
  await socket.subscribe("links.*", undefined, { filter: 'to.to.to.text ~ "none"', id: "three" });
  await make("links", { text: "new", to: ids });
  const errors = () => [...socket.frames, ...other.frames].filter(({ type }) => type === "error");
  await until(() => errors().length > 0);
  expect(errors()).toMatchObject([{ code: "filter_too_expensive", channel: "links.*", id: "three" }]);
});
