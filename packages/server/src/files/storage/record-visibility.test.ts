/** Files of the visibility `record`: a reader of a record that points to a file may download the file, and no other caller may. */
import { describe, expect, test } from "bun:test";
import { fileForm, formType } from "../../../test/forms.ts";
import { png } from "../../../test/images.ts";
import { indexTexts } from "../../../test/indexes.ts";
import { openApi } from "../../../test/kit.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const image = { name: "image", type: "file" };
const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });

const collections = [
  { name: "teams", fields: [{ name: "name", type: "string" }], permissions: { read: "admin" } },
  { name: "members", fields: [relation("team", "teams"), relation("user", "users")], permissions: { read: "admin" } },
  { name: "open", fields: [image] },
  { name: "users_only", fields: [image], permissions: { read: "authenticated" } },
  { name: "own", fields: [image, { ...relation("by", "users"), owner: true }], permissions: { read: "owner" } },
  { name: "closed", fields: [image], permissions: { read: "admin" } },
  {
    name: "team_posts",
    fields: [image, relation("team", "teams")],
    permissions: { read: "team.members(team).user = @user.id" },
  },
  {
    name: "hidden",
    fields: [
      { ...image, permissions: { read: "admin" } },
      { name: "photo", type: "file", permissions: { read: "by = @user.id" } },
      relation("by", "users"),
    ],
  },
  {
    name: "album",
    fields: [{ ...image, name: "images", multiple: true }],
    permissions: { read: "authenticated", update: "authenticated" },
  },
  { name: "other_field", fields: [{ name: "text", type: "string" }] },
];

async function open() {
  const api = await openServer({ collections });
  const { request, service } = api;
  const root = await api.admin();
  const [owner, ann, bob] = [
    await api.register("owner@x.org"),
    await api.register("ann@x.org"),
    await api.register("bob@x.org"),
  ];
  const tokens = { nobody: undefined, owner: owner.accessToken, ann: ann.accessToken, bob: bob.accessToken, root };
  type Caller = keyof typeof tokens;
  const store = async (visibility = "record", content: string | Uint8Array = "content", filename = "a.txt") => {
    const body = fileForm(content, { filename, visibility });
    const headers = { "Content-Type": formType };
    const answer = await request("POST", "/api/storage/upload", { body, token: owner.accessToken, headers });
    expect(answer.status).toBe(201);
    return String(answer.body["id"]);
  };
  const make = async (name: string, values: object): Promise<string> =>
    (await service.records.create(name, system, { ...values })).record.id;
  const as = (caller: Caller): { token?: string } => {
    const token = tokens[caller];
    return token === undefined ? {} : { token };
  };
  /** The statuses of a download without a token, and by the owner, Ann, Bob and an admin. */
  const statuses = async (id: string, query = "", method = "GET", headers: Record<string, string> = {}) => {
    const callers: Caller[] = ["nobody", "owner", "ann", "bob", "root"];
    return Promise.all(
      callers.map(
        async (caller) => (await request(method, `/api/storage/${id}${query}`, { ...as(caller), headers })).status,
      ),
    );
  };
  return { api, request, service, root, owner, ann, bob, as, store, make, statuses };
}

const world = await open();
const { ann, as, bob, make, request, service, statuses, store } = world;

describe("a file is downloaded by", () => {
  const nobodyElse = [401, 200, 403, 403, 200];

  test("its owner and admins while no record points to the file", async () => {
    const id = await store();
    await make("other_field", { text: id });
    expect(await statuses(id)).toEqual(nobodyElse);
  });

  const cases: [string, object | ((team: string) => object), number[]][] = [
    ["open", {}, [200, 200, 200, 200, 200]],
    ["users_only", {}, [401, 200, 200, 200, 200]],
    ["own", { by: ann.user.id }, [401, 200, 200, 403, 200]],
    ["own", {}, nobodyElse],
    ["closed", {}, nobodyElse],
    ["team_posts", (team: string) => ({ team }), [401, 200, 200, 403, 200]],
    ["hidden", {}, nobodyElse],
  ];
  test.each(cases)("readers of a record of %s that points to the file", async (name, values, expected) => {
    const team = await make("teams", { name: "red" });
    await make("members", { team, user: ann.user.id });
    const id = await store("record", png(40, 40), "a.png");
    const record = await make(name, { image: id, ...(typeof values === "function" ? values(team) : values) });
    expect(await statuses(id)).toEqual(expected);
    expect(await statuses(id, "", "HEAD")).toEqual(expected);
    expect(await statuses(id, "?thumb=16x16")).toEqual(expected);
    const partial = await statuses(id, "", "GET", { Range: "bytes=0-1" });
    expect(partial).toEqual(expected.map((status) => (status === 200 ? 206 : status)));
    expect(await statuses(id, "/link", "POST")).toEqual(expected);
    // The right to read is not the right to delete.
    expect((await request("DELETE", `/api/storage/${id}`, as("ann"))).status).toBe(403);
    await service.records.update(name, system, { record, body: { image: null } });
    expect(await statuses(id)).toEqual(nobodyElse);
  });

  test("readers of the field that points to the file, if fields have rules", async () => {
    const id = await store();
    await make("hidden", { photo: id, by: bob.user.id });
    expect(await statuses(id)).toEqual([401, 200, 403, 200, 200]);
  });

  test("nobody by a deleted record, or a membership that has ended", async () => {
    const team = await make("teams", { name: "blue" });
    const membership = await make("members", { team, user: bob.user.id });
    const [first, second] = [await store(), await store()];
    const gone = await make("team_posts", { team, image: first });
    await make("team_posts", { team, image: second });
    expect([await statuses(first), await statuses(second)]).toEqual([
      [401, 200, 403, 200, 200],
      [401, 200, 403, 200, 200],
    ]);
    await service.records.delete("team_posts", system, gone);
    expect(await statuses(first)).toEqual(nobodyElse);
    await service.records.delete("members", system, membership);
    expect(await statuses(second)).toEqual(nobodyElse);
  });

  test("readers of a record with the file among others in an array, as long as the array has the file", async () => {
    const [first, second] = [await store(), await store()];
    const album = await make("album", { images: [second, first] });
    const readers = [401, 200, 200, 200, 200];
    expect([await statuses(first), await statuses(second)]).toEqual([readers, readers]);
    const uses = await request("GET", `/api/admin/storage/${first}/records`, as("root"));
    expect(uses.body["items"]).toEqual([{ collection: "album", field: "images", id: album }] as never);
    await service.records.update("album", system, { record: album, body: { images: [second] } });
    expect([await statuses(first), await statuses(second)]).toEqual([nobodyElse, readers]);
    await service.records.delete("album", system, album);
    expect(await statuses(second)).toEqual(nobodyElse);
  });

  test("the visibility of its moment", async () => {
    const id = await store("protected");
    await make("open", { image: id });
    expect(await statuses(id)).toEqual(nobodyElse);
    for (const [visibility, expected] of [
      ["record", [200, 200, 200, 200, 200]],
      ["protected", nobodyElse],
      ["public", [200, 200, 200, 200, 200]],
    ] as const) {
      const changed = await request("PATCH", `/api/admin/storage/${id}`, { ...as("root"), body: { visibility } });
      expect([changed.status, changed.body["visibility"] as unknown]).toEqual([200, visibility]);
      expect(await statuses(id)).toEqual([...expected]);
    }
  });
});

describe("a record gives a right only to a file that its writer could read", () => {
  const closed = [401, 200, 403, 403, 200];
  const everybody = [200, 200, 200, 200, 200];
  const write = async (method: string, path: string, body: object, caller: Parameters<typeof as>[0] = "bob") => {
    const { status, body: record } = await request(method, path, { ...as(caller), body });
    expect([method, path, status]).toEqual([method, path, method === "POST" && path !== "/api/batch" ? 201 : 200]);
    return record;
  };
  /** The records with rights by the table of files that a writer could not read. */
  const unread = (id: string): number =>
    service.database.reader.all("SELECT record FROM _unread_files WHERE file = ?", id).length;

  test("named by a create, an update, an operation of a batch, an array, or a caller without a token", async () => {
    const id = await store();
    await write("POST", "/api/open", { image: id });
    await write("POST", "/api/open", { image: id }, "nobody");
    await write("PUT", `/api/open/${await make("open", {})}`, { image: id });
    const create = { method: "create", collection: "open", body: { image: id } };
    await write("POST", "/api/batch", { operations: [create] });
    await write("POST", "/api/album", { images: [await store("public"), id] });
    const album = await make("album", { images: [] });
    await write("PUT", `/api/album/${album}`, { images: { $add: [id] } });
    const many: string[] = [];
    for (let i = 0; i < 60; i++) many.push(await store("public"));
    await write("POST", "/api/album", { images: [...many, id] });
    expect(await statuses(id)).toEqual(closed);
    expect(await statuses(id, "/link", "POST")).toEqual(closed);
    // No right by such a record makes a right by another one.
    await write("POST", "/api/users_only", { image: id }, "ann");
    expect(await statuses(id)).toEqual(closed);
    expect(unread(id)).toBe(8);
  });

  test("also after an admin has opened a protected file to the readers of its records", async () => {
    const id = await store("protected");
    const hidden = await write("POST", "/api/open", { image: id });
    await request("PATCH", `/api/admin/storage/${id}`, { ...as("root"), body: { visibility: "record" } });
    expect(await statuses(id)).toEqual(closed);
    await write("POST", "/api/open", { image: id }, "owner");
    expect(await statuses(id)).toEqual(everybody);
    expect(hidden["image"] as unknown).toBe(id);
  });

  test("and stays without the right while the id stays, whoever sends the record back", async () => {
    const id = await store();
    const { id: record } = await write("POST", "/api/open", { image: id });
    await write("PUT", `/api/open/${record}`, { image: id }, "owner");
    await write("PUT", `/api/open/${record}`, { image: id }, "root");
    expect(await statuses(id)).toEqual(closed);
    // A reader of the file names the file anew.
    await write("PUT", `/api/open/${record}`, { image: null }, "owner");
    await write("PUT", `/api/open/${record}`, { image: id }, "owner");
    expect(await statuses(id)).toEqual(everybody);
    // Without the record, Bob cannot read the file any more.
    await write("PUT", `/api/open/${record}`, { image: null });
    await write("PUT", `/api/open/${record}`, { image: id });
    expect(await statuses(id)).toEqual(closed);
  });

  test("a caller with the right to download the file passes the right on", async () => {
    const id = await store();
    await make("own", { by: bob.user.id, image: id });
    await write("POST", "/api/users_only", { image: id });
    expect(await statuses(id)).toEqual([401, 200, 200, 200, 200]);
    expect(unread(id)).toBe(0);
  });

  test("a deleted record leaves no trace, and a refused write neither", async () => {
    const id = await store();
    const { id: record } = await write("POST", "/api/open", { image: id });
    expect(unread(id)).toBe(1);
    expect((await request("DELETE", `/api/open/${record}`, as("bob"))).status).toBe(204);
    const refused = await request("POST", "/api/album", { ...as("bob"), body: { images: [id, "fil_x"] } });
    expect(refused.status).toBe(400);
    expect(unread(id)).toBe(0);
  });
});

test("caches store the file for the caller alone, and revalidate each time", async () => {
  const id = await store();
  await make("open", { image: id });
  const { headers, status } = await request("GET", `/api/storage/${id}`, as("ann"));
  expect([status, headers.get("cache-control")]).toEqual([200, "private, no-cache"]);
  const again = await request("GET", `/api/storage/${id}`, {
    ...as("ann"),
    headers: { "If-None-Match": headers.get("etag") ?? "" },
  });
  expect(again.status).toBe(304);
});

test("its event sends its name to callers who may download the file", async () => {
  const { api } = world;
  const since = (await service.events.at(service.events.flushedSeq))?.id ?? "";
  const live = await api.connect(ann.accessToken);
  await live.subscribe("storage.uploaded");
  const id = await store();
  const told = async (socket: typeof live): Promise<unknown> => {
    await until(() => socket.frames.some(({ type }) => type === "event"));
    return (await socket.events()).map(({ payload }) => [payload["id"], payload["filename"], payload["url"]]);
  };
  expect(await told(live)).toEqual([[id, null, null]]);
  await make("own", { image: id, by: ann.user.id });
  const [hers, his] = [await api.connect(ann.accessToken), await api.connect(bob.accessToken)];
  for (const socket of [hers, his]) await socket.subscribe("storage.uploaded", since);
  expect(await told(hers)).toEqual([[id, "a.txt", `/api/storage/${id}`]]);
  expect(await told(his)).toEqual([[id, null, null]]);
});

test("a data folder of an earlier version gets the indexes of its files at the start", async () => {
  const api = await openApi({ collections: [{ name: "posts", fields: [image, relation("by", "users")] }] });
  expect(await indexTexts(api.service, "posts")).toEqual(["by", "image"]);
  await api.service.database.transact((tx) => tx.run('DROP INDEX "posts.image"'));
  expect(await indexTexts(api.service, "posts")).toEqual(["by"]);
  await api.service.records.start();
  expect(await indexTexts(api.service, "posts")).toEqual(["by", "image"]);
  expect(api.log.filter((line) => line.includes("has all its indexes now"))).toHaveLength(1);
  await api.service.records.start();
  expect(api.log.filter((line) => line.includes("has all its indexes now"))).toHaveLength(1);
});
