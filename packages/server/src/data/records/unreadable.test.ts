/** The answers of creates and updates to callers without the right to read the record. */
import { describe, expect, test } from "bun:test";
import type { PermissionRule } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const reads: readonly PermissionRule[] = ["public", "authenticated", "owner", "admin"];
const fields = [
  { name: "title", type: "string" },
  { name: "secret", type: "string" },
  { name: "due", type: "datetime" },
  { name: "by", type: "relation", collection: "users", owner: true },
];
const { request, register, admin, service } = await openApi({
  collections: [
    ...reads.map((read) => ({
      name: `read_${read}`,
      fields,
      permissions: { read, create: "public", update: "public" },
    })),
    { name: "owner_changes", fields, permissions: { read: "admin", create: "authenticated", update: "owner" } },
  ],
});
const tokens = {
  nobody: undefined,
  member: (await register("member@example.com")).accessToken,
  owner: (await register("owner@example.com")).accessToken,
  admin: await admin(),
};
type Caller = keyof typeof tokens;
const callers = ["nobody", "member", "owner", "admin"] as const;

/** The callers that may read a record of `owner`. */
const mayRead: { readonly [rule in PermissionRule]: readonly Caller[] } = {
  public: callers,
  authenticated: ["member", "owner", "admin"],
  owner: ["owner", "admin"],
  admin: ["admin"],
};

function as(caller: Caller): { token?: string } {
  const token = tokens[caller];
  return token === undefined ? {} : { token };
}

const whole = ["by", "createdAt", "due", "id", "secret", "title", "updatedAt"];

describe.each(reads)("read: %s", (read) => {
  const path = `/api/read_${read}`;
  test.each(callers)("an update by %s", async (caller) => {
    const made = await request("POST", path, { ...as("owner"), body: { title: "t", secret: "hidden" } });
    const isReader = mayRead[read].includes(caller);
    const put = async (body: object) => {
      const answer = await request("PUT", `${path}/${made.body["id"]}`, { ...as(caller), body });
      expect(answer.status).toBe(200);
      return answer.body as unknown as Record<string, unknown>;
    };
    const sent: readonly [object, string[]][] = [
      [{}, []],
      [{ title: "t" }, ["title"]],
      [{ title: "new", due: null }, ["due", "title"]],
      [{ id: "x", createdAt: "y" }, []],
    ];
    for (const [body, named] of sent) {
      const answer = await put(body);
      const expected = isReader ? whole : ["createdAt", "id", "updatedAt", ...named].sort();
      expect(Object.keys(answer).sort()).toEqual(expected);
      expect(answer["id"]).toBe(made.body["id"] as unknown);
      if (!isReader) expect(JSON.stringify(answer)).not.toContain("hidden");
    }
    // Values come as stored.
    expect(await put({ due: "2026-03-01" })).toMatchObject({ due: "2026-03-01T00:00:00.000Z" });
  });

  test.each(callers)("a creation by %s", async (caller) => {
    const seq = await lastSeq(service);
    const answer = await request("POST", path, { ...as(caller), body: { title: "t" } });
    expect(answer.status).toBe(201);
    // A signed-in caller owns the new record; an anonymous caller owns no record.
    const isReader = read === "owner" ? caller !== "nobody" : mayRead[read].includes(caller);
    expect(Object.keys(answer.body).sort()).toEqual(isReader ? whole : ["createdAt", "id", "title", "updatedAt"]);
    // The event has the whole record all the same.
    const [event] = await eventsSince(service, seq);
    expect(Object.keys(event?.payload ?? {}).sort()).toEqual(whole);
  });
});

test("an owner with the right to change a record and without the right to read the record", async () => {
  const made = await request("POST", "/api/owner_changes", { ...as("owner"), body: { title: "t" } });
  await request("PUT", `/api/owner_changes/${made.body["id"]}`, { ...as("admin"), body: { secret: "hidden" } });
  const answer = await request("PUT", `/api/owner_changes/${made.body["id"]}`, { ...as("owner"), body: {} });
  expect([answer.status, Object.keys(answer.body).sort()]).toEqual([200, ["createdAt", "id", "updatedAt"]]);
});
