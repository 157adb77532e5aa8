/** The world of the tests of subscriptions with a filter: teams, tasks, comments and notes, and the events that a socket receives. */

import { system } from "../src/base/kernel/index.ts";
import { parseDefinition } from "../src/data/collections/index.ts";
import { migrate } from "./kit.ts";
import { openServer, type TestSocket, until } from "./sockets.ts";

export const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });

const collections = [
  {
    name: "teams",
    fields: [{ name: "name", type: "string" }, relation("lead", "users")],
    permissions: { read: "authenticated" },
  },
  {
    name: "tasks",
    fields: [
      { name: "title", type: "string" },
      { name: "status", type: "string" },
      { name: "body", type: "text" },
      relation("team", "teams"),
      relation("assignee", "users"),
    ],
  },
  { name: "comments", fields: [{ name: "text", type: "string" }, relation("task", "tasks")] },
  {
    name: "notes",
    fields: [
      { name: "text", type: "string" },
      { ...relation("by", "users"), owner: true },
    ],
    permissions: { read: "owner" },
  },
  { name: "end", fields: [{ name: "n", type: "integer" }] },
];

export async function openFilterWorld(settings: Record<string, string> = {}) {
  const server = await openServer({ collections, settings });
  const { records, events } = server.service;
  const make = async (name: string, values: object): Promise<string> =>
    (await records.create(name, system, { ...values })).record.id;
  const change = (name: string, id: string, values: object) =>
    records.update(name, system, { record: id, body: { ...values } });
  const place = async (): Promise<string> => (await events.at(events.flushedSeq))?.id ?? "";
  const define = async (definition: object): Promise<void> => {
    await migrate(server.service, { define: [await parseDefinition(definition)], drop: [] });
  };
  return { server, records, make, change, place, define };
}

export type FilterWorld = Awaited<ReturnType<typeof openFilterWorld>>;

/** The events that a socket has heard: subscription, type, and the title, text or payload. */
export async function heard(
  world: FilterWorld,
  socket: TestSocket,
): Promise<(readonly [string | null, string, unknown])[]> {
  const answers = () => socket.frames.filter((frame) => frame.type === "subscribed" && frame.channel === "end.created");
  const before = answers().length;
  socket.send({ action: "subscribe", channel: "end.created" });
  await until(() => answers().length > before);
  const end = await world.make("end", { n: 1 });
  await until(() => socket.frames.some((frame) => frame.type === "event" && frame.event.payload["id"] === end));
  return socket.frames.flatMap((frame) => {
    if (frame.type !== "event" || frame.event.type === "end.created") return [];
    const { type, payload } = frame.event;
    return [[frame.id ?? null, type.replace(/^.*\./, ""), payload["title"] ?? payload["text"] ?? payload] as const];
  });
}
