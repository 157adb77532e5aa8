/** Realtime of users with fields: who hears which fields of a registration, an update, a change of the account and a deletion. */
import { expect, test } from "bun:test";
import { setRole } from "../../../test/kit.ts";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const end = { name: "end", fields: [{ name: "n", type: "integer" }] };
const fields = [
  { name: "name", type: "string" },
  { name: "note", type: "string", permissions: { read: "owner" } },
];

/** The events of users that a socket hears of a story, with the names of the fields beside the name. */
async function heardBy(permissions: object): Promise<{ [listener: string]: string[] }> {
  const server = await openServer({ collections: [{ name: "users", fields, permissions }, end] });
  const { records, database, auth } = server.service;
  const [ann, admin] = [await server.register("ann@example.com"), await server.admin()];
  const tokens = { nobody: undefined, ann: ann.accessToken, admin };
  const sockets: [string, TestSocket][] = [];
  for (const [name, token] of Object.entries(tokens)) {
    const socket = await server.connect(token);
    for (const channel of ["users.*", "end.created"]) socket.send({ action: "subscribe", channel });
    await until(() => socket.frames.filter(({ type }) => type === "subscribed").length === 2);
    sockets.push([name, socket]);
  }
  const form = { email: "ben@example.com", password: "correct horse", name: "Ben", note: "n" };
  await auth.registrations.register(form);
  const user = auth.users.findByEmail(form.email);
  if (user === null) throw new Error("Ben was not registered");
  await records.update("users", system, { record: ann.user.id, body: { name: "Ann" } });
  await records.update("users", system, { record: user.id, body: { name: "Benno" } });
  await setRole(server.service, user.id, "public");
  await database.transact((tx) => auth.users.delete(tx, user.id, system));
  await records.create("end", system, { n: 1 });
  const heard: { [listener: string]: string[] } = {};
  for (const [name, socket] of sockets) {
    await until(() => socket.frames.some((frame) => frame.type === "event" && frame.event.type === "end.created"));
    heard[name] = (await socket.events())
      .filter(({ type }) => type.startsWith("users."))
      .map(({ type, payload }) => {
        const told = ["email", "role", "verified", "note"].filter((field) => Object.hasOwn(payload, field));
        return `${type.slice("users.".length)} ${Reflect.get(payload, "name") ?? "-"} ${told.join()}`.trim();
      });
  }
  return heard;
}

const whole = "email,role,verified,note";
const forAdmins = [
  `created Ben ${whole}`,
  `updated Ann ${whole}`,
  `updated Benno ${whole}`,
  `updated Benno ${whole}`,
  "deleted -",
];

test("by default, a user receives only events of the own record, and admins of all records", async () => {
  expect(await heardBy({})).toEqual({ nobody: [], ann: [`updated Ann ${whole}`], admin: forAdmins });
});

test("users that others may read are sent without the account fields and the fields with rules", async () => {
  expect(await heardBy({ read: "authenticated" })).toEqual({
    nobody: [],
    ann: ["created Ben", `updated Ann ${whole}`, "updated Benno", "updated Benno", "deleted -"],
    admin: forAdmins,
  });
});
