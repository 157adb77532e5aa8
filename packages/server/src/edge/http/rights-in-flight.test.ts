/**
 * Rights that end while a request is under way: the headers came before the end, the body comes after the end. Every changing
 * route, with everything that can end a right (contract, "Authentication": a right is checked at the
 * use).
 */
// Promises: A1.
import { expect, spyOn, test } from "bun:test";
import { fileForm, formType } from "../../../test/forms.ts";
import { makeKey } from "../../../test/keys.ts";
import { openApi, setRole, type TestApi } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { PausedBody } from "../../../test/paused-body.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

const password = "correct horse";

/** A signed-in user. The token is the access token, or an API key of the user; `by` is the actor of the user's events. */
interface Caller {
  readonly id: string;
  readonly token: string;
  readonly accessToken: string;
  readonly sessionId: string;
  readonly by: string;
}

/** The world of a test: a caller, the caller's objects, and another admin that can end the caller's rights. */
interface World {
  readonly api: TestApi;
  readonly caller: Caller;
  readonly other: { readonly id: string; readonly token: string };
  readonly record: string;
  readonly file: string;
}

const notes = {
  name: "notes",
  fields: [{ name: "text", type: "string" }],
  permissions: { read: "public", create: "authenticated", update: "owner", delete: "owner" },
};

const service = await openApi({ collections: [notes], settings: { SERVICE_LIMITS_RATE_REGISTER: "off" } });
const admin = await service.admin();

let users = 0;

/** Sets the collections of the service. */
async function setCollections(collections: readonly object[]): Promise<void> {
  const { status } = await service.request("PUT", "/api/admin/schema.json", { token: admin, body: { collections } });
  expect(status).toBe(200);
}

/** A new world: the users and their objects are new; the rules of `notes` are as at the start. */
async function world(role: "admin" | "authenticated", holds: "token" | "key" = "token"): Promise<World> {
  const api = service;
  const signIn = async (name: string): Promise<Caller> => {
    users += 1;
    const { user, accessToken } = await api.register(`${name}-${users}@example.com`);
    const { sessionId } = await api.service.auth.callers.authenticate(accessToken);
    return { id: user.id, token: accessToken, accessToken, sessionId, by: user.id };
  };
  let caller = await signIn("caller");
  const other = await signIn("other");
  await setRole(api.service, other.id, "admin");
  if (role === "admin") await setRole(api.service, caller.id, "admin");
  await setCollections([notes]);
  if (holds === "key") {
    const scopes = role === "admin" ? ["admin"] : ["*:read", "*:write"];
    const { id, key } = await makeKey(api, { token: caller.accessToken, scopes });
    caller = { ...caller, token: key, by: id };
  }
  const record = await api.request("POST", "/api/notes", { token: caller.token, body: { text: "before" } });
  const file = await api.request("POST", "/api/storage/upload", {
    token: caller.token,
    body: fileForm("before"),
    headers: { "Content-Type": formType },
  });
  expect([record.status, file.status]).toEqual([201, 201]);
  return { api, caller, other, record: String(record.body["id"]), file: String(file.body["id"]) };
}

/** A world without records of earlier worlds, with a list that is too long for a piece of an answer: 40 records of 20 kB. */
async function worldOfList(role: "admin" | "authenticated", holds: "token" | "key" = "token"): Promise<World> {
  await setCollections([]);
  const place = await world(role, holds);
  const body = { text: "x".repeat(20_000) };
  const operations = Array.from({ length: 40 }, () => ({ method: "create", collection: "notes", body }));
  const { status } = await service.request("POST", "/api/batch", { token: place.other.token, body: { operations } });
  expect(status).toBe(200);
  return place;
}

/** Everything that ends a right of the caller. Each end is done by another admin, or by the caller in another tab. */
const ends: { readonly [name: string]: (world: World) => Promise<{ status: number }> } = {
  "the caller is demoted": ({ api, caller, other }) =>
    api.request("PATCH", `/api/admin/users/${caller.id}`, { token: other.token, body: { role: "authenticated" } }),
  "the caller is deleted": ({ api, caller, other }) =>
    api.request("DELETE", `/api/admin/users/${caller.id}`, { token: other.token }),
  "the caller logs out": ({ api, caller }) => api.request("POST", "/api/auth/logout", { token: caller.token }),
  "the caller's password is changed": ({ api, caller, other }) =>
    api.request("POST", `/api/admin/users/${caller.id}/password`, {
      token: other.token,
      body: { password: "another password" },
    }),
  "an admin ends the session": ({ api, caller, other }) =>
    api.request("DELETE", `/api/admin/users/${caller.id}/sessions/${caller.sessionId}`, { token: other.token }),
  "the key is deleted": ({ api, caller }) =>
    api.request("DELETE", `/api/auth/keys/${caller.by}`, { token: caller.accessToken }),
  "the rule is changed": ({ api, other }) =>
    api.request("PUT", "/api/admin/collections/notes", {
      token: other.token,
      body: { permissions: { read: "admin" } },
    }),
  "the collection is dropped": ({ api, other }) =>
    api.request("DELETE", "/api/admin/collections/notes", { token: other.token }),
};

interface Change {
  readonly method: string;
  readonly path: (world: World) => string;
  readonly body?: (world: World) => unknown;
  /** The type of the body; JSON by default. */
  readonly type?: string;
  readonly role: "admin" | "authenticated";
  /** Whether the rule of the collection decides. */
  readonly isOfCollection?: boolean;
}

const schema = { collections: [{ name: "others", fields: [] }] };

/** Every route that changes something for a caller with a token. */
const changes: { readonly [name: string]: Change } = {
  "create a record": {
    method: "POST",
    path: () => "/api/notes",
    body: () => ({ text: "after" }),
    role: "authenticated",
    isOfCollection: true,
  },
  "update a record": {
    method: "PUT",
    path: ({ record }) => `/api/notes/${record}`,
    body: () => ({ text: "after" }),
    role: "authenticated",
    isOfCollection: true,
  },
  "delete a record": {
    method: "DELETE",
    path: ({ record }) => `/api/notes/${record}`,
    role: "authenticated",
    isOfCollection: true,
  },
  "send a batch": {
    method: "POST",
    path: () => "/api/batch",
    body: ({ record }) => ({
      operations: [
        { method: "create", collection: "notes", body: { text: "after" } },
        { method: "delete", collection: "notes", id: record },
      ],
    }),
    role: "authenticated",
    isOfCollection: true,
  },
  "import records": {
    method: "POST",
    path: () => "/api/notes/import",
    body: () => ({ text: "after" }),
    type: "application/x-ndjson",
    role: "admin",
  },
  "upload a file": {
    method: "POST",
    path: () => "/api/storage/upload",
    body: () => fileForm("after"),
    role: "authenticated",
  },
  "delete a file": { method: "DELETE", path: ({ file }) => `/api/storage/${file}`, role: "authenticated" },
  "log out": { method: "POST", path: () => "/api/auth/logout", body: () => ({}), role: "authenticated" },
  "make a user": {
    method: "POST",
    path: () => "/api/admin/users",
    body: () => ({ email: "new@example.com", password, role: "admin" }),
    role: "admin",
  },
  "change a role": {
    method: "PATCH",
    path: ({ other }) => `/api/admin/users/${other.id}`,
    body: () => ({ role: "public" }),
    role: "admin",
  },
  "set a password": {
    method: "POST",
    path: ({ other }) => `/api/admin/users/${other.id}/password`,
    body: () => ({ password: "taken over" }),
    role: "admin",
  },
  "delete a user": { method: "DELETE", path: ({ other }) => `/api/admin/users/${other.id}`, role: "admin" },
  "make a collection": {
    method: "POST",
    path: () => "/api/admin/collections",
    body: () => ({ name: "others", fields: [] }),
    role: "admin",
  },
  "change a collection": {
    method: "PUT",
    path: () => "/api/admin/collections/notes",
    body: () => ({ fields: [] }),
    role: "admin",
  },
  "plan a change of a collection": {
    method: "PUT",
    path: () => "/api/admin/collections/notes?dryRun=true",
    body: () => ({ fields: [] }),
    role: "admin",
  },
  "drop a collection": { method: "DELETE", path: () => "/api/admin/collections/notes", role: "admin" },
  "change the schema": { method: "PUT", path: () => "/api/admin/schema.json", body: () => schema, role: "admin" },
  "retry a function": { method: "POST", path: () => "/api/admin/functions/runs/run_none/retry", role: "admin" },
};

/** Events that tell of a change of the caller's own, since a place in the log. */
async function changedBy({ api, caller }: World, since: number): Promise<string[]> {
  const events = await api.service.events.read(since, 1_000);
  return events.filter(({ actor, type }) => actor === caller.by && type !== "auth.logout").map(({ type }) => type);
}

async function lastPlace({ api }: World): Promise<number> {
  return (await api.service.events.read(0, 10_000)).at(-1)?.seq ?? 0;
}

/** Keeps the writer busy; `waiting` resolves once so many changes wait for the writer. */
async function holdWriter({ api }: World): Promise<{ waiting(n: number): Promise<void>; release(): void }> {
  const { database } = api.service;
  const hold = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  void database.transactLong("test", async () => {
    isHeld.resolve();
    await hold.promise;
  });
  await isHeld.promise;
  const asked = (["transactFor", "transactLongFor", "migrateFor"] as const).map((name) => spyOn(database, name));
  return {
    async waiting(n) {
      while (asked.reduce((sum, { mock }) => sum + mock.calls.length, 0) < n) await Bun.sleep(1);
    },
    release() {
      for (const spy of asked) spy.mockRestore();
      hold.resolve();
    },
  };
}

/** The request of a change: with a paused body, if the change has a body. */
function start(
  change: Change,
  world: World,
): { answer: Promise<{ status: number; body: object }>; body: PausedBody | null } {
  const { api, caller } = world;
  const given = change.body?.(world);
  const [method, path] = [change.method, change.path(world)];
  if (given === undefined) return { answer: api.request(method, path, { token: caller.token }), body: null };
  const isForm = given instanceof Uint8Array;
  const body = new PausedBody(isForm ? given : new TextEncoder().encode(JSON.stringify(given)));
  const headers = { "Content-Type": isForm ? formType : (change.type ?? "application/json") };
  return { answer: api.request(method, path, { token: caller.token, headers, body: body.stream }), body };
}

/** Changes that no API key makes, and the ends of rights of a token, or of a key. */
const closedToKeys = ["log out", "make a user", "change a role", "set a password", "delete a user"];
const endsOfTokens = ["the caller logs out", "the caller's password is changed", "an admin ends the session"];
const endsOfKeys = ["the key is deleted"];

/** Whether an end takes away the right to a change. */
function takesAway(end: string, change: Change, holds: "token" | "key"): boolean {
  if ((holds === "key" ? endsOfTokens : endsOfKeys).includes(end)) return false;
  if (end === "the caller is demoted") return change.role === "admin";
  if (end === "the rule is changed" || end === "the collection is dropped") return change.isOfCollection === true;
  return true;
}

const cases = (["token", "key"] as const).flatMap((holds) =>
  Object.entries(changes)
    .filter(([name]) => holds === "token" || !closedToKeys.includes(name))
    .flatMap(([name, change]) =>
      Object.entries(ends)
        .filter(([end]) => takesAway(end, change, holds))
        .map(([end, endRight]) => [name, holds, end, { change, endRight }] as const),
    ),
);

/** In `npm test`, a random part of the cases. */
const random = randomNumbers(randomSeed("rights in flight"));
const chosen = isLong ? cases : cases.filter(() => random() < 0.35);

test.each(chosen)("%s by a %s: refused when %s meanwhile", async (_name, holds, end, { change, endRight }) => {
  const place = await world(change.role, holds);
  let since = 0;
  let answer: { status: number; body: object };
  if (change.body === undefined) {
    // Without a body, both wait for the writer; the end comes first.
    since = await lastPlace(place);
    const writer = await holdWriter(place);
    const ended = endRight(place);
    await writer.waiting(1);
    const { answer: asked } = start(change, place);
    await writer.waiting(2);
    writer.release();
    answer = await asked;
    expect((await ended).status).toBeLessThan(300);
  } else {
    const { answer: asked, body } = start(change, place);
    await body?.isRead;
    const ended = await endRight(place);
    expect(ended.status).toBeLessThan(300);
    since = await lastPlace(place);
    body?.finish();
    answer = await asked;
  }
  expect([401, 403, ...(end === "the collection is dropped" ? [404] : [])]).toContain(answer.status);
  expect(await changedBy(place, since)).toEqual([]);
});

test.each(["token", "key"] as const)("with its right, each operation by a %s succeeds", async (holds) => {
  for (const [name, change] of Object.entries(changes)) {
    if (holds === "key" && closedToKeys.includes(name)) continue;
    const place = await world(change.role, holds);
    const { answer, body } = start(change, place);
    await body?.isRead;
    body?.finish();
    const { status } = await answer;
    expect([name, status < 300 || (name === "retry a function" && status === 404)]).toEqual([name, true]);
  }
});

/** The rights that end while a long list is under way: the answer breaks off, without newer records. */
const listEnds = Object.keys(ends).filter((end) => end !== "the caller is demoted");

test.each(listEnds)("a list that is read slowly breaks off when %s", async (end) => {
  const place = await worldOfList("authenticated", endsOfKeys.includes(end) ? "key" : "token");
  const { api, caller } = place;
  const endRight = ends[end];
  const permissions = { read: "authenticated" };
  await api.request("PUT", "/api/admin/collections/notes", { token: place.other.token, body: { permissions } });
  const list = await api.answer("GET", "/api/notes", { token: caller.token });
  const reader = list.body?.getReader();
  const first = await reader?.read();
  expect(first?.done).toBe(false);
  expect((await endRight?.(place))?.status).toBeLessThan(300);
  const late = await api.request("PUT", `/api/notes/${place.record}`, {
    token: place.other.token,
    body: { text: "late" },
  });
  expect(late.status).toBe(end === "the collection is dropped" ? 404 : 200);
  let rest = "";
  const broken = await (async () => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      rest += Buffer.from(part.value).toString();
    return null;
  })().catch((thrown: unknown) => thrown);
  expect(broken).toBeInstanceOf(Error);
  expect(rest).not.toContain("late");
  expect(api.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
});

test("a list that is read slowly with its right in force goes to its end", async () => {
  const { api, caller } = await worldOfList("authenticated");
  const list = await api.answer("GET", "/api/notes", { token: caller.token });
  const { items } = (await list.json()) as { items: object[] };
  expect(items).toHaveLength(41);
});

test("a demoted admin does not go on reading other users' data", async () => {
  const { api, caller, other } = await worldOfList("admin");
  const permissions = { read: "owner", create: "authenticated" };
  await api.request("PUT", "/api/admin/collections/notes", { token: other.token, body: { permissions } });
  const list = await api.answer("GET", "/api/notes", { token: caller.token });
  const reader = list.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await setRole(api.service, caller.id, "authenticated");
  let rest = "";
  const read = async (): Promise<null> => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      rest += Buffer.from(part.value).toString();
    return null;
  };
  expect(await read().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error);
  expect(rest.split('"rec_').length).toBeLessThan(40);
});
