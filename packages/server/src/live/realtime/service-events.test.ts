/** `realtime.serviceEvents`: the listeners who hear events of auth, storage, functions and jobs, live and in a replay. */
import { expect, test } from "bun:test";
import type { EventSource } from "@socle/protocol";
import { openServer, type TestServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const channels = [
  "auth.login",
  "auth.logout",
  "storage.uploaded",
  "storage.deleted",
  "function.completed",
  "function.failed",
  "job.failed",
  "system.collection.created",
];

/** Writes an event as the service would. */
async function tell(server: TestServer, type: string, payload: object): Promise<void> {
  const { database, events } = server.service;
  const [source = ""] = type.split(".");
  await database.transact((tx) =>
    events.append(tx, { type, source: source as EventSource, payload, principal: system }),
  );
}

async function world(setting?: string) {
  const settings = setting === undefined ? {} : { SERVICE_REALTIME_SERVICE_EVENTS: setting };
  const server = await openServer({ collections: [{ name: "end", fields: [] }], settings });
  const [ann, bob] = [await server.register("ann@x.org"), await server.register("bob@x.org")];
  const tokens = { ann: ann.accessToken, bob: bob.accessToken, admin: await server.admin(), nobody: undefined };
  const since = (await server.service.events.at(server.service.events.flushedSeq))?.id ?? "";
  const connect = async (from?: string): Promise<Record<string, TestSocket>> => {
    const sockets: Record<string, TestSocket> = {};
    for (const [name, token] of Object.entries(tokens)) {
      const socket = await server.connect(token);
      for (const channel of [...channels, "end.created"]) await socket.subscribe(channel, from);
      sockets[name] = socket;
    }
    return sockets;
  };
  /** The events that each has heard, once an event that all hear has come. */
  const heard = async (sockets: Record<string, TestSocket>): Promise<Record<string, string[]>> => {
    const isEnd = (frame: TestSocket["frames"][number]) => frame.type === "event" && frame.event.type === "end.created";
    const all: Record<string, string[]> = {};
    for (const [name, socket] of Object.entries(sockets)) {
      await until(() => socket.frames.some(isEnd));
      all[name] = (await socket.types()).filter((type) => type !== "end.created").toSorted();
    }
    return all;
  };
  return { server, ann, connect, heard, since };
}

const forUser = ["auth.login", "auth.logout", "storage.deleted", "storage.uploaded"];
const runs = ["function.completed", "function.failed", "job.failed"];
const made = ["system.collection.created"];
const everything = [...forUser, ...runs, ...made];

test.each([
  [undefined, { ann: everything, bob: everything, nobody: everything }],
  ["all", { ann: everything, bob: everything, nobody: everything }],
  ["own", { ann: [...forUser, ...made], bob: made, nobody: [] }],
  ["admin", { ann: [], bob: [], nobody: [] }],
])("%s", async (setting, expected) => {
  const { server, ann, connect, heard, since } = await world(setting);
  const live = await connect();
  const userId = ann.user.id;
  await tell(server, "auth.login", { userId, role: "authenticated" });
  await tell(server, "auth.logout", { userId, role: "authenticated" });
  const form = new FormData();
  form.set("file", new File(["a"], "a.txt", { type: "text/plain" }));
  const uploaded = await fetch(`${server.url}/api/storage/upload`, {
    method: "POST",
    headers: { Authorization: `Bearer ${ann.accessToken}` },
    body: form,
  });
  expect(uploaded.status).toBe(201);
  await tell(server, "storage.deleted", { id: "fil_1", userId });
  await tell(server, "function.completed", { function: "a" });
  await tell(server, "function.failed", { function: "a", error: "secret" });
  await tell(server, "job.failed", { job: "a", error: "secret" });
  await tell(server, "system.collection.created", { name: "more" });
  await server.service.records.create("end", system, {});
  const all = Object.fromEntries(
    Object.entries({ ...expected, admin: everything }).map(([name, types]) => [name, types.toSorted()]),
  );
  expect(await heard(live)).toEqual(all);
  const later = await connect(since);
  // The sign-ins of before are not among the missed events.
  expect(await heard(later)).toEqual(all);
  for (const name of ["ann", "bob", "nobody"])
    expect(JSON.stringify([live[name]?.frames, later[name]?.frames])).not.toContain("secret");
});
