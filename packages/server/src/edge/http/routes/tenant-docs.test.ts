/** The collections that docs/tenants.md prints: two workspaces, and no user of a workspace reaches the other. */
import { expect, test } from "bun:test";
import type { StoredRecord, TokenResponse } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

const page = await Bun.file(new URL("../../../../../../docs/tenants.md", import.meta.url)).text();
const blocks = [...page.matchAll(/```json\n\/\/ \S+\n([\s\S]*?)```/g)];
const collections = blocks.map(([, json = ""]): object => JSON.parse(json));
const api = await openApi({ collections });
const admin = await api.admin();

async function made(name: string, body: object, token: string): Promise<string> {
  const answer = await api.request<StoredRecord>("POST", `/api/${name}`, { body, token });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

interface Team {
  readonly owner: TokenResponse;
  readonly workspace: string;
  readonly membership: string;
  readonly project: string;
  readonly issue: string;
}

async function team(name: string): Promise<Team> {
  const owner = await api.register(`${name}@example.com`);
  const workspace = await made("workspaces", { name }, admin);
  const membership = await made("members", { workspace, user: owner.user.id, role: "owner" }, admin);
  const project = await made("projects", { name, workspace }, owner.accessToken);
  const issue = await made("issues", { title: name, project }, owner.accessToken);
  return { owner, workspace, membership, project, issue };
}

const [ours, theirs] = [await team("ours"), await team("theirs")];
const { accessToken: token, user } = ours.owner;

async function status(method: string, path: string, body?: object): Promise<number> {
  return (await api.request(method, path, { token, ...(body !== undefined && { body }) })).status;
}

test("a user cannot make himself a member of a workspace", async () => {
  for (const role of ["owner", "member", "guest"]) {
    const body = { workspace: theirs.workspace, user: user.id, role };
    expect(await status("POST", "/api/members", body)).toBe(403);
  }
  expect(await status("PUT", `/api/members/${ours.membership}`, { workspace: theirs.workspace })).toBe(403);
  const friend = await api.register("friend@example.com");
  const body = { workspace: ours.workspace, user: friend.user.id, role: "owner" };
  const membership = await made("members", body, token);
  for (const change of [{ workspace: theirs.workspace }, { workspace: theirs.workspace, user: user.id }])
    expect(await status("PUT", `/api/members/${membership}`, change)).toBe(403);
  expect(await status("GET", `/api/workspaces/${theirs.workspace}`)).toBe(404);
});

test("an owner changes and removes the others, and not himself", async () => {
  const other = await api.register("other@example.com");
  const membership = await made("members", { workspace: ours.workspace, user: other.user.id, role: "guest" }, token);
  const path = `/api/members/${membership}`;
  expect(await status("PUT", path, { role: "member" })).toBe(200);
  const raised = await api.request("PUT", path, { token: other.accessToken, body: { role: "owner" } });
  expect(raised.status).toBe(403);
  expect(await status("DELETE", path)).toBe(204);
  expect(await status("DELETE", `/api/members/${ours.membership}`)).toBe(403);
  expect(await status("PUT", `/api/members/${ours.membership}`, { role: "guest" })).toBe(403);
});

test("an issue neither leaves for another workspace nor joins from another workspace, also by its author", async () => {
  expect(await status("PUT", `/api/issues/${ours.issue}`, { project: theirs.project })).toBe(403);
  expect(await status("POST", "/api/issues", { title: "x", project: theirs.project })).toBe(403);
  for (const [method, body] of [["GET"], ["PUT", { title: "x" }], ["DELETE"]] as const)
    expect(await status(method, `/api/issues/${theirs.issue}`, body)).toBe(404);
  const list = await api.request<{ items: StoredRecord[] }>("GET", "/api/issues", { token });
  expect(list.body.items.map(({ id }) => id)).toEqual([ours.issue]);
});

test("an issue has labels of its own workspace alone, also by a member of both", async () => {
  const both = await api.register("both@example.com");
  for (const { workspace } of [ours, theirs])
    await made("members", { workspace, user: both.user.id, role: "member" }, admin);
  const label = (name: string, workspace: string): Promise<string> =>
    made("labels", { name, workspace }, both.accessToken);
  const [own, foreign] = [await label("bug", ours.workspace), await label("bug", theirs.workspace)];
  const create = async (labels: string[]): Promise<number> => {
    const body = { title: "labelled", project: ours.project, labels };
    return (await api.request("POST", "/api/issues", { token: both.accessToken, body })).status;
  };
  expect([await create([]), await create([own]), await create([foreign]), await create([own, foreign])]).toEqual([
    201, 201, 403, 403,
  ]);
  const issue = await made("issues", { title: "stays", project: ours.project, labels: [own] }, both.accessToken);
  const change = async (body: object): Promise<number> =>
    (await api.request("PUT", `/api/issues/${issue}`, { token: both.accessToken, body })).status;
  expect([await change({ labels: [own, foreign] }), await change({ project: theirs.project })]).toEqual([403, 403]);
  expect(await change({ project: theirs.project, labels: [foreign] })).toBe(200);
});

test("a former member changes nothing, also in own records", async () => {
  const author = await api.register("author@example.com");
  const membership = await made("members", { workspace: ours.workspace, user: author.user.id, role: "member" }, token);
  const issue = await made("issues", { title: "mine", project: ours.project }, author.accessToken);
  expect(await status("DELETE", `/api/members/${membership}`)).toBe(204);
  const change = { token: author.accessToken, body: { title: "still mine" } };
  expect((await api.request("PUT", `/api/issues/${issue}`, change)).status).toBe(404);
});
