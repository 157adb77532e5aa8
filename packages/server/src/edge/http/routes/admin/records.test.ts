/** `GET /api/admin/records/{id}`: the collection of a record, for admins. */
import { expect, test } from "bun:test";
import { openApi } from "../../../../../test/kit.ts";

test("a record is found whatever its collection; other ids and other callers learn nothing", async () => {
  const rule = { read: "admin", create: "public" };
  const { request, admin, register } = await openApi({
    collections: ["one", "two"].map((name) => ({ name, fields: [], permissions: rule, trash: "30d" })),
  });
  const token = await admin();
  const user = await register("user@example.com");
  const place = (id: string, as?: string) =>
    request("GET", `/api/admin/records/${encodeURIComponent(id)}`, as === undefined ? {} : { token: as });
  for (const collection of ["one", "two"]) {
    const id = String((await request("POST", `/api/${collection}`, { token, body: {} })).body["id"]);
    expect<unknown>((await place(id, token)).body).toEqual({ id, collection });
    expect((await place(id)).status).toBe(401);
    expect((await place(id, user.accessToken)).status).toBe(403);
    await request("DELETE", `/api/${collection}/${id}`, { token });
    expect((await place(id, token)).status).toBe(404);
  }
  for (const id of ["rec_00000000-0000-7000-8000-000000000000", "one", "' OR 1=1"])
    expect((await place(id, token)).status).toBe(404);
});
