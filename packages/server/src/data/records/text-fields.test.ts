/** Fields of text: formats, and texts that are unique without regard to case, over HTTP and through migrations. */
import { describe, expect, test } from "bun:test";
import type { DroppedEntry } from "@socle/protocol";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const api = await openApi({
  collections: [
    {
      name: "people",
      fields: [
        text("email", { format: "email" }),
        text("site", { format: "url" }),
        text("notes", { type: "text", format: "markdown" }),
        text("pages", { format: "url", multiple: true }),
      ],
    },
    { name: "tags", fields: [text("name", { unique: "nocase" }), { name: "n", type: "integer" }] },
  ],
});
const { request, service } = api;
const admin = await api.admin();

const post = (collection: string, body: object): Promise<Answer> => request("POST", `/api/${collection}`, { body });

async function add(collection: string, body: object): Promise<string> {
  const answer = await post(collection, body);
  expect([answer.status, answer.body["error"]]).toEqual([201, undefined]);
  return String(answer.body["id"]);
}

function detailsOf({ status, body }: Answer): [number, unknown] {
  return [status, body["error"]?.["details"]];
}

const nameProblem = { field: "name", rule: "unique", message: "name is taken by another record" };
const takenName: [number, unknown] = [400, [nameProblem]];

/** The rows of the tables of folded texts of a collection, with the texts of the records. */
async function folded(collection: string, field: string): Promise<unknown[]> {
  const { reader } = service.database;
  return reader.all(
    `SELECT value FROM "_folded_${collection}.${field}" JOIN "${collection}" ON _seq = record ORDER BY value`,
  );
}

/** Restores the values that a migration dropped. */
async function restore(collection: string): Promise<Answer> {
  const { items } = (await request<{ items: DroppedEntry[] }>("GET", "/api/admin/dropped", { token: admin })).body;
  return change("POST", `/dropped/${items.find((each) => each.collection === collection)?.id}/restore`, {});
}

async function change(method: string, path: string, body: object): Promise<Answer> {
  return request(method, `/api/admin${path}`, { token: admin, body });
}

describe("formats", () => {
  test("a text of another form is refused by name, with what is allowed, and nothing is written", async () => {
    const seq = await lastSeq(service);
    const answer = await post("people", {
      email: "ann",
      site: "javascript:alert(1)",
      notes: "# fine",
      pages: ["https://a.de", "b"],
    });
    const [status, details] = detailsOf(answer);
    expect([status, details]).toEqual([
      400,
      [
        {
          field: "email",
          rule: "type",
          message: expect.stringMatching(/^email must be an e-mail address such as "ann@example.com"/),
        },
        {
          field: "site",
          rule: "type",
          message: expect.stringMatching(/^site must be an address such as .* begins with https:\/\/ or http:\/\//),
        },
        { field: "pages", item: 1, rule: "type", message: expect.stringMatching(/^pages\[1\] must be an address/) },
      ],
    ]);
    expect(await eventsSince(service, seq)).toEqual([]);
    expect((await post("people", { email: "" })).status).toBe(400);
  });

  test("a text of the form, and null, are stored unchanged; a change is checked, too", async () => {
    const values = { email: "Ann@Example.com", site: "https://example.com/Ä", notes: "# Ä\n<b>", pages: ["http://a"] };
    const id = await add("people", values);
    expect((await request("GET", `/api/people/${id}`)).body).toMatchObject(values);
    expect((await request("PUT", `/api/people/${id}`, { body: { email: "x" } })).status).toBe(400);
    expect((await request("PUT", `/api/people/${id}`, { body: { email: null } })).body).toMatchObject({ email: null });
    expect((await request("PUT", `/api/people/${id}`, { body: { pages: { $add: ["c"] } } })).status).toBe(400);
  });

  test("an import takes an empty cell as null, and reports a wrong text", async () => {
    const body = 'email,notes\r\n"",a\r\n,\r\nb@example.com,\r\nbad,x\r\n';
    const headers = { "Content-Type": "text/csv" };
    const answer = await api.request("POST", "/api/people/import?dryRun=true", { token: admin, body, headers });
    expect(answer.body).toMatchObject({ imported: 2, rejected: 1 });
    expect(JSON.stringify(answer.body["problems"])).toContain("email must be an e-mail address");
  });

  test("a migration to a format names the records that break it", async () => {
    expect(
      (await change("POST", "/collections", { name: "old", fields: [text("a"), text("many", { multiple: true })] }))
        .status,
    ).toBe(201);
    const good = await add("old", { a: "a@b.de", many: ["https://a.de"] });
    const bad = await add("old", { a: "no", many: ["https://a.de", "x"] });
    const body = { fields: [text("a", { format: "email" }), text("many", { multiple: true, format: "url" })] };
    const answer = await change("PUT", "/collections/old", body);
    const message = String(answer.body["error"]?.["message"]);
    expect([answer.status, message]).toEqual([
      400,
      expect.stringMatching(
        /field "a" cannot have "format" "email": 1 record has a text that is not an e-mail address/,
      ),
    ]);
    expect(message).toContain('field "many" cannot have "format" "url": 1 record');
    expect([message.includes(bad), message.includes(good)]).toEqual([true, false]);
    expect((await request("PUT", `/api/old/${bad}`, { body: { a: null, many: [] } })).status).toBe(200);
    expect((await change("PUT", "/collections/old", body)).status).toBe(200);
    expect((await post("old", { a: "no" })).status).toBe(400);
  });
});

describe("unique without regard to case", () => {
  test("a text in another case is taken by name, also of other alphabets; null never counts", async () => {
    const id = await add("tags", { name: "Straße" });
    for (const name of ["STRAßE", "straße", "straẞe"])
      expect(detailsOf(await post("tags", { name }))).toEqual(takenName);
    for (const name of ["strasse", null, null, "ΟΔΟΣ"]) await add("tags", { name });
    expect(detailsOf(await post("tags", { name: "οδος" }))).toEqual(takenName);
    const renamed = await request("PUT", `/api/tags/${id}`, { body: { name: "STRAßE" } });
    expect([renamed.status, renamed.body["name"] as unknown]).toEqual([200, "STRAßE"]);
    expect(detailsOf(await request("PUT", `/api/tags/${id}`, { body: { name: "Strasse" } }))).toEqual(takenName);
    expect((await request("GET", "/api/tags?filter=name%20%3D%20%22straße%22")).body["items"] as unknown).toEqual([]);
    await request("DELETE", `/api/tags/${id}`);
    await add("tags", { name: "straße" });
  });

  test("an upsert finds the record in any case, and writes the text as sent", async () => {
    const id = await add("tags", { name: "Upsert" });
    const answer = await request("PUT", "/api/tags?by=name", { body: { name: "UPSERT", n: 1 } });
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ id, name: "UPSERT", n: 1 })]);
    expect((await request("PUT", "/api/tags?by=name", { body: { name: "upsert2" } })).status).toBe(201);
  });

  test("a batch with two cases of a text is taken back whole", async () => {
    const operations = ["Two", "two"].map((name) => ({ method: "create", collection: "tags", body: { name } }));
    const answer = await request("POST", "/api/batch", { body: { operations } });
    expect([answer.status, answer.body["error"]?.["details"] as unknown]).toEqual([
      400,
      [{ ...nameProblem, operation: 1 }],
    ]);
    await add("tags", { name: "two" });
  });

  test("an import and a dry run report the row in another case; an update finds its record", async () => {
    const headers = { "Content-Type": "text/csv" };
    const send = (text: string, query: string) =>
      api.request("POST", `/api/tags/import${query}`, { token: admin, body: text, headers });
    await add("tags", { name: "Row" });
    for (const query of ["?dryRun=true", ""]) {
      const { body } = await send("name\r\nnew\r\nNEW\r\nROW\r\n", query);
      expect(body).toMatchObject({ imported: 1, rejected: 2 });
      expect(JSON.stringify(body["problems"])).toContain("name is taken by another");
    }
    // A dry run takes each transaction back.
    const many = Array.from({ length: 3_000 }, (_, i) => `many ${i}\r\n`).join("");
    expect((await send(`name\r\nfar\r\n${many}FAR\r\n`, "?dryRun=true")).body).toMatchObject({
      imported: 3_001,
      rejected: 1,
    });
    const { body } = await send("name,n\r\nrOW,7\r\n", "?update=name");
    expect(body).toMatchObject({ updated: 1, rejected: 0 });
    const found = await request("GET", "/api/tags?filter=n%20%3D%207");
    expect(found.body["items"]).toMatchObject([{ name: "rOW" }]);
  });

  test("a migration is refused with the clashing texts, and made once they are gone", async () => {
    const fields = (unique: boolean | "nocase", name = "a") => [
      text(name, { unique, ...(name !== "a" && { renamedFrom: "a" }) }),
    ];
    await change("POST", "/collections", { name: "moves", fields: fields(true) });
    const twin = await add("moves", { a: "ANN" });
    for (const a of ["Ann", "bob", null]) await add("moves", { a });
    const refused = await change("PUT", "/collections/moves", { fields: fields("nocase") });
    expect([refused.status, refused.body["error"]?.["message"]]).toEqual([
      400,
      expect.stringMatching(
        /^field "a" cannot be unique \("nocase"\): 2 records have a text that another has too, but for case: "ANN", "Ann" \(/,
      ),
    ]);
    expect((await post("moves", { a: "BOB" })).status).toBe(201);
    for (const id of [twin, (await request("GET", "/api/moves?filter=a%20%3D%20%22BOB%22")).body["items"]?.[0]?.["id"]])
      await request("DELETE", `/api/moves/${id}`);
    const plan = await change("PUT", "/collections/moves?dryRun=true", { fields: fields("nocase") });
    expect(JSON.stringify(plan.body)).toContain('"step":"unique","field":"a","on":true,"to":"nocase"');
    expect((await change("PUT", "/collections/moves", { fields: fields("nocase") })).status).toBe(200);
    expect((await post("moves", { a: "BOB" })).status).toBe(400);
    expect(await folded("moves", "a")).toEqual([{ value: "ann" }, { value: "bob" }]);
    expect((await change("PUT", "/collections/moves", { fields: fields("nocase", "b") })).status).toBe(200);
    expect((await post("moves", { b: "BOB" })).status).toBe(400);
    const renamed = { name: "moved", renamedFrom: "moves", fields: [text("b", { unique: "nocase" })] };
    expect((await change("PUT", "/collections/moves", renamed)).status).toBe(200);
    expect((await post("moved", { b: "Bob" })).status).toBe(400);
    expect(await folded("moved", "b")).toEqual([{ value: "ann" }, { value: "bob" }]);
    expect((await change("PUT", "/collections/moved", { fields: [text("b", { unique: true })] })).status).toBe(200);
    const sql = "SELECT name FROM sqlite_schema WHERE name GLOB '_folded_move*'";
    expect(await service.database.reader.all(sql)).toEqual([]);
    expect((await post("moved", { b: "BOB" })).status).toBe(201);
  });

  test("dropped values go back but for those that another record has in another case", async () => {
    await change("POST", "/collections", { name: "back", fields: [text("a"), text("o")] });
    const ids = [
      await add("back", { a: "Ann", o: "1" }),
      await add("back", { a: "ANN", o: "2" }),
      await add("back", { a: "Bob", o: "3" }),
      await add("back", { a: "Cy", o: "4" }),
    ];
    await change("PUT", "/collections/back", { fields: [text("o")] });
    await change("PUT", "/collections/back", { fields: [text("o"), text("a", { unique: "nocase" })] });
    await add("back", { a: "BOB" });
    const restored = await restore("back");
    expect<unknown>([restored.status, restored.body]).toEqual([200, { restored: 2, left: 2 }]);
    expect(await folded("back", "a")).toEqual([{ value: "ann" }, { value: "bob" }, { value: "cy" }]);
    const values = await Promise.all(
      ids.map(async (id) => (await request("GET", `/api/back/${id}`)).body["a"] as unknown),
    );
    expect(values).toEqual(["Ann", null, null, "Cy"]);
  });

  test("a deleted collection comes back with its folded texts; integrity holds", async () => {
    await change("POST", "/collections", { name: "gone", fields: [text("a", { unique: "nocase" })] });
    await add("gone", { a: "Ann" });
    expect((await request("DELETE", "/api/admin/collections/gone", { token: admin })).status).toBe(204);
    expect((await restore("gone")).status).toBe(200);
    expect((await post("gone", { a: "ANN" })).status).toBe(400);
    expect(
      (await service.database.reader.get<{ integrity_check: string }>("PRAGMA integrity_check"))?.integrity_check,
    ).toBe("ok");
  });
});
