/**
 * Anonymous users against the executable with two processes: an open socket and a live query of an anonymous user hear the claim at once, and each process has
 * the same rights; `socle check` lists the rules that let anonymous users in.
 */
import { expect, test } from "bun:test";
import type { RecordList, TokenResponse } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { TestSocket } from "../packages/server/test/sockets.ts";
import { inParallel, post, project, serve, singleService, socle, until } from "./kit.ts";

singleService("processes");

const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string" },
    { name: "by", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "@user.anonymous = false || by = @user.id", create: "authenticated", update: "owner" },
};
const config = {
  processes: 2,
  publicUrl: "https://notes.example.com",
  auth: { anonymous: true },
  mail: { from: "notes@example.com" },
  limits: { rate: { register: "off", login: "off", mail: "off", recipient: "off" } },
};
const rooms = { guests: "@user.anonymous = true", full: "@user.anonymous = false" };
const adminEmail = "admin@example.com";
const password = "correct horse";

test("a claim counts at once: on each process, on an open socket, and in a live query", async () => {
  const cwd = await project({ collections: [notes], config });
  for (const [name, join] of Object.entries(rooms))
    await Bun.write(`${cwd}/rooms/${name}.json`, JSON.stringify({ name, key: "string", join }));
  const server = await serve(cwd, {
    env: { SERVICE_ADMIN_EMAIL: adminEmail, SERVICE_ADMIN_PASSWORD: password },
  });
  const { url } = server;
  const admin = new SocleClient({ baseUrl: url });
  await admin.login({ email: adminEmail, password });
  await admin.collection("notes").create({ text: "the admin's" });
  const signedIn = (await (await post(`${url}/api/auth/anonymous`, {})).json()) as TokenResponse;
  const { user, accessToken } = signedIn;
  const headers = { Authorization: `Bearer ${accessToken}`, Connection: "close" };
  expect(user).toMatchObject({ email: null, anonymous: true, role: "authenticated" });
  expect((await post(`${url}/api/notes`, { text: "own" }, headers)).status).toBe(201);
  const texts = async (): Promise<string[]> => {
    const { items } = (await (await fetch(`${url}/api/notes`, { headers })).json()) as RecordList;
    return items.map(({ text }) => String(text)).sort();
  };
  expect(await texts()).toEqual(["own"]);
  const socket = await TestSocket.open(url, accessToken);
  /** The number of records in the window of the live query. */
  const shown = (): number => {
    const frame = socket.frames.findLast(({ type }) => type === "change" || type === "result");
    return frame?.type === "change"
      ? (frame.order?.length ?? 0)
      : frame?.type === "result"
        ? (frame.items?.length ?? 0)
        : 0;
  };
  socket.send({ action: "subscribe", channel: "notes.created" });
  socket.send({ action: "subscribe", id: "all", query: { collection: "notes" } });
  await until(() => socket.frames.some((frame) => frame.type === "result"));
  const roomFrames = (): string[] =>
    socket.frames.flatMap((frame) =>
      "room" in frame && frame.room !== undefined ? [`${frame.room} ${frame.type}`] : [],
    );
  for (const room of ["guests", "full"]) socket.send({ action: "join", room, key: "a" });
  await until(() => roomFrames().length === 2);
  expect(roomFrames().toSorted()).toEqual(["full error", "guests joined"]);
  await admin.collection("notes").create({ text: "before" });
  expect((await post(`${url}/api/auth/anonymous/claim`, { email: "ann@example.com", password }, headers)).status).toBe(
    202,
  );
  const { items } = await admin.admin.mails.list({ search: "ann@example.com" });
  const mail = await admin.admin.mails.get(String(items[0]?.id));
  const [, token = ""] = /token=(\S+)/.exec(mail.text) ?? [];
  expect(shown()).toBe(1);
  expect((await post(`${url}/api/auth/verify`, { token }, headers)).status).toBe(204);
  // Each request has a connection of its own, to any of the processes.
  await inParallel(Array(12).keys(), 4, async () => {
    const answer = await fetch(`${url}/api/auth/me`, { headers });
    expect(await answer.json()).toMatchObject({ user: { id: user.id, email: "ann@example.com", anonymous: false } });
    expect(await texts()).toEqual(["before", "own", "the admin's"]);
  });
  await until(() => shown() === 3);
  // The right to the room of guests has ended.
  await until(() => roomFrames().includes("guests error"));
  socket.send({ action: "join", room: "full", key: "a" });
  await until(() => roomFrames().includes("full joined"));
  await admin.collection("notes").create({ text: "after" });
  await until(() => socket.frames.some((frame) => frame.type === "event"));
  const heard = socket.frames.flatMap((frame) => (frame.type === "event" ? [frame.event.payload] : []));
  expect(heard).toMatchObject([{ text: "after" }]);
});

test("socle check lists the rules that let anonymous users in, and only while anonymous users are on", async () => {
  const line = 'notes: "create": "authenticated" lets anonymous users in, too (auth.anonymous)';
  const on = await socle(["check"], { cwd: await project({ collections: [notes], config }) });
  expect([on.code, on.stdout.includes(line), on.stdout.includes('"update"')]).toEqual([0, true, false]);
  const off = await socle(["check"], { cwd: await project({ collections: [notes] }) });
  expect(off.stdout).not.toContain("anonymous");
});
