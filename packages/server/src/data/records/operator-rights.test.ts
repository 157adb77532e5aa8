/** Operators of updates, and the rights of the caller: to the targets that are added, to the present value, and to the new value. */
import { describe, expect, test } from "bun:test";
import { fileForm, formType } from "../../../test/forms.ts";
import { type Answer, openApi } from "../../../test/kit.ts";

const several = (name: string, type: string, more: object = {}) => ({ name, type, multiple: true, ...more });
const { request, admin, register } = await openApi({
  collections: [
    { name: "secrets", fields: [{ name: "name", type: "string" }], permissions: { read: "admin" } },
    {
      name: "posts",
      fields: [several("hidden", "relation", { collection: "secrets" }), several("files", "file")],
      permissions: { update: "public" },
    },
    {
      name: "guarded",
      fields: [
        { name: "open", type: "integer" },
        { name: "pin", type: "integer", permissions: { read: "admin", update: "public" } },
        { name: "fixed", type: "integer", permissions: { update: "admin" } },
        { name: "low", type: "integer", permissions: { update: "low < 10" } },
      ],
      permissions: { update: "public" },
    },
    {
      name: "box",
      fields: [{ name: "votes", type: "integer" }],
      permissions: { read: "admin", create: "public", update: "public" },
    },
    { name: "ruled", fields: [{ name: "n", type: "integer" }], permissions: { update: "n <= 10" } },
  ],
});
const root = await admin();
const { accessToken: ann } = await register("ann@example.com");

type Fields = Record<string, unknown>;
async function make(collection: string, body: object): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, token: root });
  expect([answer.status, answer.body["error"]]).toEqual([201, undefined as never]);
  return String(answer.body["id"]);
}
const put = (path: string, body: object, token = ann): Promise<Answer> =>
  request("PUT", `/api/${path}`, { body, token });
const read = async (path: string): Promise<Fields> =>
  (await request<Fields>("GET", `/api/${path}`, { token: root })).body;
const detailsOf = ({ body }: Answer): unknown => body["error"]?.["details"];

describe("references", () => {
  async function upload(token: string): Promise<string> {
    const options = { body: fileForm("content", { filename: "a.txt" }), token, headers: { "Content-Type": formType } };
    return String((await request("POST", "/api/storage/upload", options)).body["id"]);
  }

  test("each added id must point to a record that the caller may read; no other id is checked", async () => {
    const [secret, more] = [await make("secrets", { name: "s" }), await make("secrets", { name: "m" })];
    const id = await make("posts", { hidden: [secret] });
    const missing = (item: number, target: string) => [
      {
        field: "hidden",
        item,
        rule: "relation",
        message: `hidden[${item}] points to "${target}", but there is no such record of "secrets"`,
      },
    ];
    const add = (ids: string[], token?: string) => put(`posts/${id}`, { hidden: { $add: ids } }, token);
    expect(detailsOf(await add([more]))).toEqual(missing(1, more));
    expect(detailsOf(await add(["rec_x"]))).toEqual(missing(1, "rec_x"));
    expect((await add([secret])).status).toBe(200);
    expect((await add([more], root)).body["hidden"]).toEqual([secret, more] as never);
    // Ids that are removed point anywhere, and ids that stay may lead nowhere.
    expect((await put(`posts/${id}`, { hidden: { $remove: [more, "rec_x"] } })).body["hidden"]).toEqual([
      secret,
    ] as never);
    await request("DELETE", `/api/secrets/${secret}`, { token: root });
    expect((await add(["rec_x"])).status).toBe(400);
    expect((await put(`posts/${id}`, { hidden: { $remove: [secret] } })).body["hidden"]).toEqual([] as never);
  });

  test("each added file must be a stored file, also among many, and need not be readable by the caller", async () => {
    const [mine, theirs] = [await upload(ann), "fil_x"];
    const other = await upload(root);
    expect((await put(`posts/${await make("posts", {})}`, { files: { $add: [other] } })).body["files"]).toEqual([
      other,
    ] as never);
    const id = await make("posts", {});
    const add = (files: string[]) => put(`posts/${id}`, { files: { $add: files } });
    const many = await Array.fromAsync({ length: 55 }, () => upload(ann));
    const lost = [{ field: "files", rule: "file" }];
    expect(detailsOf(await add([mine, theirs]))).toMatchObject([{ ...lost[0], item: 1 }]);
    expect(detailsOf(await add([...many, theirs]))).toMatchObject([{ ...lost[0], item: 55 }]);
    expect((await add([mine])).body["files"]).toEqual([mine] as never);
    expect((await add(many)).body["files"]).toEqual([mine, ...many] as never);
    expect((await put(`posts/${id}`, { files: { $remove: [theirs, ...many] } })).body["files"]).toEqual([
      mine,
    ] as never);
  });
});

describe("rights", () => {
  test("a value that the caller may not read takes no operator of the caller", async () => {
    const id = await make("guarded", { open: 1, pin: 1 });
    const refused = await put(`guarded/${id}`, { open: { $increment: 1 }, pin: { $increment: 1 } });
    expect([refused.status, refused.body["error"]]).toEqual([
      403,
      {
        code: "forbidden",
        message: 'You may not read "pin"; an operator starts from the present value.',
        details: [
          {
            field: "pin",
            rule: "readonly",
            message: "You may not read pin; an operator starts from the present value",
          },
        ],
      },
    ] as never);
    // Refused before any problem could tell about the value, and also for operators that would change nothing.
    for (const pin of [{ $increment: Number.MAX_SAFE_INTEGER }, { $increment: 0 }, { $nosuch: 1 }])
      expect((await put(`guarded/${id}`, { pin })).status).toBe(403);
    expect((await put(`guarded/${id}`, { pin: { $increment: 1 } }, root)).body["pin"]).toBe(2 as never);
    expect((await put(`guarded/${id}`, { pin: 7 })).status).toBe(200);
    expect(await read(`guarded/${id}`)).toMatchObject({ open: 1, pin: 7 });
  });

  test("a record that the caller may not read takes no operator of the caller", async () => {
    const id = await make("box", { votes: 1 });
    const refused = await put(`box/${id}`, { votes: { $increment: 0 } });
    expect([refused.status, refused.body["error"]?.["details"]?.[0]?.["field"]]).toEqual([403, "votes"] as never);
    expect((await put(`box/${id}`, { votes: { $increment: 1 } }, root)).body["votes"]).toBe(2 as never);
  });

  test("a value that the caller may not write: the rule sees the value before and after", async () => {
    const id = await make("guarded", { fixed: 1, low: 8 });
    const increment = (field: string, by: number) => put(`guarded/${id}`, { [field]: { $increment: by } });
    const refused = await increment("fixed", 1);
    expect([refused.status, detailsOf(refused)]).toEqual([
      403,
      [{ field: "fixed", rule: "readonly", message: "You may not write fixed" }],
    ]);
    expect((await increment("fixed", 0)).status).toBe(200);
    expect((await increment("low", 1)).body["low"]).toBe(9 as never);
    expect((await increment("low", 1)).status).toBe(403);
    expect(await read(`guarded/${id}`)).toMatchObject({ fixed: 1, low: 9 });
  });

  test("the rule of the update sees the record after the change", async () => {
    const id = await make("ruled", { n: 9 });
    const up = async (): Promise<number> => (await put(`ruled/${id}`, { n: { $increment: 1 } })).status;
    expect([await up(), await up(), (await read(`ruled/${id}`))["n"]]).toEqual([200, 403, 10]);
  });
});
