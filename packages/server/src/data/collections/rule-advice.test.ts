/** Advice in the log for read rules whose lists no index finds. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const message = "A read rule compares a field that has no index: lists look at every record";

const fields = [
  { name: "email", type: "string" },
  { name: "status", type: "string" },
  { name: "isOpen", type: "boolean" },
  { name: "data", type: "json" },
  relation("team", "teams"),
  relation("by", "users"),
];

const api = await openApi({
  collections: [
    {
      name: "groups",
      fields: [
        { name: "code", type: "string" },
        { name: "slug", type: "string", unique: true },
      ],
    },
    { name: "teams", fields: [{ name: "name", type: "string" }, relation("group", "groups")] },
    {
      name: "members",
      fields: [
        relation("team", "teams"),
        relation("user", "users"),
        relation("group", "groups"),
        { name: "role", type: "string" },
      ],
    },
    { name: "notes", fields },
  ],
});
const token = await api.admin();

async function adviceFor(read: string, indexes: readonly unknown[] = []): Promise<unknown[]> {
  const before = api.entries(message).length;
  const body = { name: "notes", fields, permissions: { read }, indexes };
  const { status } = await api.request("PUT", "/api/admin/collections/notes", { token, body });
  expect(status).toBe(200);
  return api
    .entries(message)
    .slice(before)
    .map(({ fields: told }) => told?.["index"]);
}

const email = 'add ["email"] to "indexes" of "notes"';
const code = 'add ["code"] to "indexes" of "groups"';

test.each<[string, readonly unknown[], unknown[]]>([
  ["public", [], []],
  ["by = @user.id", [], []],
  ["team.members(team).user = @user.id", [], []],
  ['team.members(team)[user = @user.id && role = "owner"]', [], []],
  ["email = @user.email", [], [email]],
  ["email = @user.email", [["email", "status"]], []],
  ["email = @user.email", [["status", "email"]], [email]],
  ['email in ("a", "b") || by = @user.id', [], [email]],
  ["email = @user.email && by = @user.id", [], []],
  ['team.group.code = "x"', [], [code]],
  ['team.group.slug = "x"', [], []],
  ['team.members(team).group.code = "x"', [], [code]],
  ['team.group.code = "x" || email = @user.email', [], [`${code}; ${email}`]],
  ['isOpen = true || data.a = "x"', [], []],
  ['!(email = @user.email) || email != "a"', [], []],
])("%s, with the indexes %j", async (read, indexes, expected) => {
  expect(await adviceFor(read, indexes)).toEqual(expected);
});

test("is given when the definition is applied, and not at each start", async () => {
  await adviceFor("email = @user.email");
  const told = api.entries(message);
  expect(told.at(-1)).toMatchObject({ level: "WARN", fields: { collection: "notes", rule: "email = @user.email" } });
  await api.service.collections.start();
  expect(api.entries(message)).toHaveLength(told.length);
});
