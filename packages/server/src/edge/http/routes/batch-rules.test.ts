/** `POST /api/batch`: rules are looked at inside the transaction. */
import { expect, test } from "bun:test";
import type { BatchResult, ErrorBody } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../../test/kit.ts";

const signedIn = { read: "authenticated", create: "authenticated", update: "authenticated", delete: "authenticated" };
const isMember = "members(workspace)[user = @user.id]";
const collections = [
  {
    name: "workspaces",
    fields: [{ name: "name", type: "string" }],
    permissions: { ...signedIn, read: isMember, update: isMember },
  },
  {
    name: "members",
    fields: [
      // Only members read a workspace: without `anyTarget`, the first membership could not be made.
      { name: "workspace", type: "relation", collection: "workspaces", required: true, anyTarget: true },
      { name: "user", type: "relation", collection: "users", required: true },
    ],
    permissions: signedIn,
  },
  {
    name: "projects",
    fields: [
      { name: "name", type: "string", required: true },
      { name: "workspace", type: "relation", collection: "workspaces", required: true },
    ],
    permissions: { read: "workspace.members(workspace)[user = @user.id]" },
  },
];
const api = await openApi({ collections });
const { request, service } = api;
const ann = await api.register("ann@example.com");
const bob = await api.register("bob@example.com");

interface Batch {
  status: number;
  results: BatchResult[];
  error: ErrorBody["error"];
}

async function batch(operations: unknown, token: string): Promise<Batch> {
  const answer = await request<Omit<Batch, "status">>("POST", "/api/batch", { body: { operations }, token });
  return { status: answer.status, ...answer.body };
}

/** The batch fails and leaves nothing behind: no record, no event. */
async function refused(operations: unknown, token: string): Promise<Batch> {
  const counts = () => service.collections.all().map((collection) => service.records.count(collection));
  const [before, seq] = [counts(), await lastSeq(service)];
  const answer = await batch(operations, token);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(counts()).toEqual(before);
  expect(await eventsSince(service, seq)).toEqual([]);
  return answer;
}

const create = (body: object, collection: string) => ({ method: "create", collection, body });
const user = ann.user.id;
const found = (name: string) => [
  create({ name }, "workspaces"),
  create({ workspace: { $ref: 0 }, user }, "members"),
  create({ name: "first", workspace: { $ref: 0 } }, "projects"),
];

test("a rule is fulfilled by a record that an earlier operation made", async () => {
  const { status, results } = await batch(found("w"), ann.accessToken);
  expect(status).toBe(200);
  const id = results[2]?.body?.id;
  expect((await request("GET", `/api/projects/${id}`, { token: ann.accessToken })).status).toBe(200);
  expect((await request("GET", `/api/projects/${id}`, { token: bob.accessToken })).status).toBe(404);
});

test("and not by a later record, nor by a record of another caller", async () => {
  const [workspace, membership, project] = found("w");
  const swapped = [workspace, project, membership];
  expect((await refused(swapped, ann.accessToken)).status).toBe(403);
  const answer = await refused(found("w"), bob.accessToken);
  expect([answer.status, answer.error.details]).toMatchObject([
    403,
    [{ operation: 2, field: "collection", rule: "refused" }],
  ]);
});

test("a right that an operation takes away is gone for later operations", async () => {
  const { results } = await batch(found("w"), ann.accessToken);
  const [workspace, membership] = results.map(({ body }) => body?.id);
  const leaving = [
    { method: "delete", collection: "members", id: membership },
    { method: "update", collection: "workspaces", id: workspace, body: { name: "x" } },
  ];
  expect((await refused(leaving, ann.accessToken)).status).toBe(404);
  expect((await batch(leaving.toReversed(), ann.accessToken)).status).toBe(200);
});

test("a record that its creator may not read is returned with the fields of the body only", async () => {
  const { results } = await batch([create({ name: "hidden" }, "workspaces")], ann.accessToken);
  expect(Object.keys(results[0]?.body ?? {})).toEqual(["id", "createdAt", "updatedAt", "name"]);
});
