/** Expansions under a rule by membership: on the event loop while the rule looks at few records, otherwise on a thread. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { readWithoutTime } from "../../../test/loop-reads.ts";
import { system } from "../../base/kernel/index.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const { service, request, register } = await openApi({
  collections: [
    { name: "teams", fields: [] },
    { name: "members", fields: [relation("team", "teams"), relation("user", "users")], permissions: { read: "admin" } },
    {
      name: "projects",
      fields: [{ name: "name", type: "string" }, relation("team", "teams")],
      permissions: { read: "team.members(team).user = @user.id" },
    },
    { name: "posts", fields: [relation("project", "projects")] },
  ],
  settings: { SERVICE_CACHE_SIZE: "0" },
});
const { records } = service;
const make = async (name: string, body: object): Promise<string> =>
  (await records.create(name, system, { ...body })).record.id;
const [few, many, none] = [await register("few@x.org"), await register("many@x.org"), await register("none@x.org")];
const team = await make("teams", {});
const post = await make("posts", { project: await make("projects", { name: "p", team }) });
await make("members", { team, user: few.user.id });
const body = { team, user: many.user.id };
await Promise.all(Array.from({ length: 6_000 }, () => records.create("members", system, { ...body })));

readWithoutTime(service.database);
const onThreads = spyOn(service.database, "task");
afterEach(() => {
  onThreads.mockClear();
});

test.each([
  ["few memberships on the event loop", few.accessToken, "p", 0],
  ["no membership on the event loop", none.accessToken, undefined, 0],
  ["many memberships on a thread", many.accessToken, "p", 1],
])("%s", async (_, token, expected, threads) => {
  const named = { expand: { project: expected === undefined ? null : { name: expected } } };
  const list = await request("GET", "/api/posts?limit=5&fields=project.name", { token });
  expect(list.body["items"] as unknown).toEqual([named]);
  expect(onThreads).toHaveBeenCalledTimes(threads);
  const one = await request("GET", `/api/posts/${post}?fields=project.name`, { token });
  expect(one.body as unknown).toEqual(named);
  expect(onThreads).toHaveBeenCalledTimes(2 * threads);
});
