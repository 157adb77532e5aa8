/** Files as people have files: each input in test/cases with the right result, over HTTP. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ImportReport, JsonValue } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const api = await openApi({
  collections: [
    {
      name: "countries",
      fields: [
        { name: "name", type: "string", required: true },
        { name: "code", type: "string", unique: true },
        { name: "region", type: "string", values: ["North", "South"] },
        { name: "independent", type: "boolean" },
        { name: "area", type: "float" },
      ],
    },
    {
      name: "people",
      fields: [
        { name: "name", type: "string" },
        { name: "age", type: "integer" },
        { name: "kg", type: "float" },
        { name: "height", type: "string" },
      ],
    },
    {
      name: "plans",
      fields: [
        { name: "what", type: "string" },
        { name: "at", type: "datetime" },
      ],
    },
    {
      name: "nodes",
      fields: [
        { name: "name", type: "string", required: true, unique: true },
        { name: "parent", type: "relation", collection: "nodes" },
        { name: "friends", type: "relation", collection: "nodes", multiple: true },
        { name: "by", type: "relation", collection: "users" },
      ],
    },
    {
      name: "hens",
      fields: [
        { name: "name", type: "string" },
        { name: "egg", type: "relation", collection: "eggs", required: true },
      ],
    },
    { name: "eggs", fields: [{ name: "hen", type: "relation", collection: "hens", required: true }] },
  ],
});
const admin = await api.admin();

type Row = { [name: string]: JsonValue };
type Answer = ImportReport & { error?: { message: string; code: string } };

async function send(collection: string, content: string | Uint8Array, query = "", type = "text/csv"): Promise<Answer> {
  const headers = { "Content-Type": type };
  const path = `/api/${collection}/import${query}`;
  return (await api.request<Answer>("POST", path, { body: content, headers, token: admin })).body;
}
const ndjson = (...rows: object[]): string => rows.map((row) => JSON.stringify(row)).join("\n");
const sendRows = (collection: string, rows: object[], query = ""): Promise<Answer> =>
  send(collection, ndjson(...rows), query, "application/x-ndjson");

async function all(collection: string): Promise<Row[]> {
  return (await api.request<{ items: Row[] }>("GET", `/api/${collection}`)).body.items.toReversed();
}
async function clear(collection: string): Promise<void> {
  for (const { id } of await all(collection)) await api.request("DELETE", `/api/${collection}/${id}`);
}
const file = (name: string): Promise<string> => Bun.file(join(import.meta.dir, "../../../test/cases", name)).text();
const messagesOf = ({ problems }: Answer): string[] =>
  problems.map(({ line, details }) => `${line}: ${details.map(({ message }) => message).join("; ")}`);
const id = (n: number): string => `rec_00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("the inputs", () => {
  test("quoted-empty.csv: empty cells of typed columns are null", async () => {
    expect(await send("countries", await file("quoted-empty.csv"))).toMatchObject({ imported: 3, rejected: 0 });
    expect(await all("countries")).toMatchObject([
      { code: "NR", region: "North", independent: true, area: 1_203 },
      { code: "WE", region: null, independent: null, area: null },
      { code: "IG", region: null, independent: false, area: null },
    ]);
  });

  test("blank-rows.csv: rows of separators alone are skipped and counted", async () => {
    const seq = await lastSeq(api.service);
    expect(await send("people", await file("blank-rows.csv"))).toMatchObject({ imported: 2, rejected: 0, skipped: 3 });
    expect((await all("people")).map(({ name }) => name)).toEqual(["Anna", "Bob"]);
    expect(await eventsSince(api.service, seq)).toHaveLength(2);
    expect(await send("people", 'name,age\n"",""\n  ,"  "\n\nCarl,\n')).toMatchObject({ imported: 1, skipped: 2 });
    await clear("people");
  });

  test("postgres-times.csv", async () => {
    expect(await send("plans", await file("postgres-times.csv"))).toMatchObject({ imported: 4, rejected: 0 });
    const times = ["09:30:00.000", "07:30:00.500", "08:30:00.000", "09:30:00.000"];
    expect((await all("plans")).map(({ at }) => at)).toEqual(times.map((time) => `2026-03-01T${time}Z`));
  });

  test("decimal-comma.csv: refused with the option that decides, and right with the option", async () => {
    const refused = await send("people", await file("decimal-comma.csv"));
    expect(refused).toMatchObject({ imported: 0, rejected: 3 });
    expect(messagesOf(refused)[0]).toBe(
      '2: kg may be several numbers ("0,125"): the option decimal says comma or point',
    );
    expect(await all("people")).toEqual([]);
    expect(await send("people", await file("decimal-comma.csv"), "?decimal=comma")).toMatchObject({ imported: 3 });
    expect((await all("people")).map(({ kg }) => kg)).toEqual([0.125, 1.25, 52.52]);
    await clear("people");
  });

  test("mixed-endings.csv: CRLF and LF in the same file", async () => {
    expect(await send("people", await file("mixed-endings.csv"))).toMatchObject({ imported: 3 });
    expect((await all("people")).map(({ height }) => height)).toEqual(["5'", "6'", "5'"]);
    await clear("people");
  });

  test("tree.ndjson: relations to a later row and to the row itself", async () => {
    expect(await send("nodes", await file("tree.ndjson"), "", "application/x-ndjson")).toMatchObject({
      imported: 3,
      unresolved: 0,
    });
    const [child, top, itself] = await all("nodes");
    expect([child?.["parent"], top?.["parent"], itself?.["parent"]]).toEqual([
      top?.["id"] ?? "",
      null,
      itself?.["id"] ?? "",
    ]);
    await clear("nodes");
  });

  test("a Windows-1252 file with the first umlaut late is refused with the line, and right with the option", async () => {
    const text = `name\n${Array.from({ length: 28_000 }, (_, i) => `Person ${i} of a long list of people`).join("\n")}\nJosé Müller\n`;
    const refused = await send("people", latin1(text));
    expect(refused.error?.message).toBe(
      "The file is not UTF-8 in line 28002. The option encoding names another encoding, such as windows-1252.",
    );
    expect(await all("people")).toEqual([]);
    expect(await send("people", latin1("name\nJosé Müller\n"), "?encoding=windows-1252")).toMatchObject({
      imported: 1,
    });
    expect((await all("people")).map(({ name }) => name)).toEqual(["José Müller"]);
    await clear("people");
  });
});

test("UTF-16 is detected by its mark", async () => {
  const view = new DataView(new ArrayBuffer(24));
  const text = "\ufeffname\nJosé\n";
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), true);
  expect(await send("people", new Uint8Array(view.buffer, 0, text.length * 2))).toMatchObject({ imported: 1 });
  expect((await all("people")).map(({ name }) => name)).toEqual(["José"]);
  await clear("people");
});

test("a quoted row that is too long is refused alone", async () => {
  const long = `"${'x""\n'.repeat(400_000)}"`;
  const answer = await send("people", `name,age\nAnna,1\n${long},2\nBob,3\n`);
  expect(answer).toMatchObject({ imported: 2, rejected: 1 });
  expect(answer.problems[0]?.line).toBe(3);
  expect((await all("people")).map(({ name, age }) => [name, age])).toEqual([
    ["Anna", 1],
    ["Bob", 3],
  ]);
  await clear("people");
});

test("columns get the names of fields, or are left out; named cells are null", async () => {
  const csv = "Full Name,Age (years),,Notes\nAnna,NA,x,y\nNA,7,-,\n";
  const refused = await send("people", csv);
  expect(refused.error?.message).toContain('"Full Name", "Age (years)", "Notes" and "" are none. The option map gives');
  const query = new URLSearchParams();
  for (const map of ["Full Name=name", "Age (years)=age", "Notes=", "="]) query.append("map", map);
  for (const text of ["NA", "-"]) query.append("null", text);
  expect(await send("people", csv, `?${query}`)).toMatchObject({ imported: 2, rejected: 0 });
  expect(await all("people")).toMatchObject([
    { name: "Anna", age: null },
    { name: null, age: 7 },
  ]);
  await clear("people");
  expect(await sendRows("people", [{ who: "Anna", n: 5, age: 1 }], "?map=who=name&map=n=")).toMatchObject({
    imported: 1,
  });
  expect(messagesOf(await sendRows("people", [{ who: "a", name: "b" }], "?map=who=name"))).toEqual([
    '1: the row is refused: it names "name" twice',
  ]);
  await clear("people");
});

test.each([
  ["?decimal=coma", '"decimal" must be comma or point, not "coma".'],
  ["?dates=ymd", '"dates" must be dmy or mdy, not "ymd".'],
  ["?dryRun=yes", '"dryRun" must be true or false, not "yes".'],
  ["?encoding=klingon", '"encoding" must be a name such as utf-8, utf-16le or windows-1252, not "klingon".'],
  ["?map=name", '"map" must be column=field, not "name".'],
  ["?update=age", '"update" must be the id or a unique field: id, not "age".'],
  ["?update=&upsert=", '"update" and "upsert" exclude each other.'],
])("%s is refused", async (query, message) => {
  expect((await send("people", "name\nAnna\n", query)).error).toMatchObject({ code: "bad_request", message });
  expect(await all("people")).toEqual([]);
});

describe("relations", () => {
  test("a row without an id needs its target in the file or the database; an export has every value", async () => {
    await sendRows("nodes", [{ id: id(1), name: "old" }]);
    const seq = await lastSeq(api.service);
    const answer = await sendRows("nodes", [
      { name: "to the database", parent: id(1) },
      { name: "to a later row", parent: id(2), friends: [id(3), id(2)] },
      { name: "to nothing", parent: id(9) },
      { name: "to a refused row", parent: id(4) },
      { id: id(2), name: "ring a", parent: id(3) },
      { id: id(3), name: "ring b", parent: id(2) },
      { id: id(4), name: 7 },
      { id: id(5), name: "lacks", parent: id(8), friends: [id(1), id(7), id(4)], by: "usr_gone" },
    ]);
    expect(answer).toMatchObject({ imported: 5, rejected: 3, unresolved: 4 });
    expect(messagesOf(answer)).toEqual([
      `3: parent points to "${id(9)}", but there is no such record of "nodes"`,
      `4: parent points to "${id(4)}", but there is no such record of "nodes"`,
      "7: name must be a string of Unicode text without NUL",
    ]);
    const [, toDatabase, toLater, ringA, ringB, lacks] = await all("nodes");
    expect([toDatabase?.["parent"], toLater?.["parent"], toLater?.["friends"]]).toEqual([id(1), id(2), [id(3), id(2)]]);
    expect([ringA?.["parent"], ringB?.["parent"]]).toEqual([id(3), id(2)]);
    expect(lacks).toMatchObject({ parent: id(8), friends: [id(1), id(7), id(4)], by: "usr_gone" });
    expect(await eventsSince(api.service, seq)).toHaveLength(5);
    await clear("nodes");
  });

  test("a chain over several transactions, the last row first", async () => {
    const rows = Array.from({ length: 2_500 }, (_, n) => ({
      id: id(n),
      name: `${n}`,
      parent: n === 2_499 ? null : id(n + 1),
    }));
    expect(await sendRows("nodes", rows)).toMatchObject({ imported: 2_500, rejected: 0, unresolved: 0 });
    expect((await all("nodes")).every(({ parent }, n) => parent === (n === 2_499 ? null : id(n + 1)))).toBe(true);
    await api.request("POST", "/api/batch", {
      body: {
        operations: (await all("nodes"))
          .slice(0, 1_000)
          .map((row) => ({ method: "delete", collection: "nodes", id: row["id"] })),
      },
    });
    await clear("nodes");
  });

  test("two collections that need each other return from their exports", async () => {
    const [hen, egg] = [id(1), id(2)];
    expect(await sendRows("hens", [{ id: hen, name: "Berta", egg }])).toMatchObject({ imported: 1, unresolved: 1 });
    expect(await sendRows("eggs", [{ id: egg, hen }])).toMatchObject({ imported: 1, unresolved: 0 });
    expect((await api.request("GET", `/api/hens/${hen}?expand=egg`)).body).toMatchObject({
      egg,
      expand: { egg: { hen } },
    } as never);
  });
});

describe("update and upsert", () => {
  const codes = async (): Promise<unknown[]> =>
    (await all("countries")).map(({ code, name, area }) => [code, name, area]);

  test("rows change the records that a unique field names, and the other rows are reported", async () => {
    await clear("countries");
    await send("countries", "code,name,area\nA,Aland,1\nB,Beland,2\n");
    const seq = await lastSeq(api.service);
    const csv = 'code,area\nB,20\nX,3\nA,1\n"",4\nA,many\n';
    const answer = await send("countries", csv, "?update=code");
    expect(answer).toMatchObject({ imported: 0, updated: 2, rejected: 3 });
    expect(messagesOf(answer)).toEqual([
      '3: no record has the code "X"',
      '5: no record has the code ""',
      "6: area must be a finite number",
    ]);
    expect(await codes()).toEqual([
      ["A", "Aland", 1],
      ["B", "Beland", 20],
    ]);
    const types = (await eventsSince(api.service, seq)).map(({ type }) => type);
    expect(types).toEqual(["countries.updated", "countries.updated"]);
  });

  test("upsert creates the other rows, and an empty cell clears", async () => {
    const csv = "code,name,area\nB,Beland,\nC,Celand,3\nC,Celand,4\nD,,5\n,Noland,6\n";
    const answer = await send("countries", csv, "?upsert=code");
    expect(answer).toMatchObject({ imported: 1, updated: 2, rejected: 2 });
    expect(messagesOf(answer)).toEqual(["5: name is required", "6: code must name a record"]);
    expect(await codes()).toEqual([
      ["A", "Aland", 1],
      ["B", "Beland", null],
      ["C", "Celand", 4],
    ]);
  });

  test("edited and imported by the id, an export has its times", async () => {
    const [first] = await all("countries");
    const edited = { ...first, name: "Ahland" };
    const query = "?update";
    expect(await sendRows("countries", [edited, { id: id(5), name: "new" }], query)).toMatchObject({
      updated: 1,
      rejected: 1,
    });
    expect(await sendRows("countries", [{ id: id(5), name: "new" }, { name: "free" }], "?upsert=id")).toMatchObject({
      imported: 2,
      updated: 0,
    });
    const [changed] = await all("countries");
    expect(changed).toMatchObject({ name: "Ahland", createdAt: first?.["createdAt"] ?? "" });
    expect((await all("countries")).slice(-2)).toMatchObject([{ id: id(5), name: "new" }, { name: "free" }]);
  });
});

describe("a dry run", () => {
  test("reports as the import, and changes nothing", async () => {
    await clear("nodes");
    await sendRows("nodes", [{ id: id(1), name: "old" }]);
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ id: id(n + 1), name: `${n % 2_400}`, parent: id(n + 2) }));
    const all = [...rows, { name: "x", parent: id(9_999) }, { name: "old" }, { name: 3 }];
    const seq = await lastSeq(api.service);
    const dry = await sendRows("nodes", all, "?dryRun=true");
    expect(await eventsSince(api.service, seq)).toEqual([]);
    const real = await sendRows("nodes", all);
    expect(real).toMatchObject({ imported: 2_400, rejected: 103 });
    const placesOf = ({ problems }: Answer): unknown[] =>
      problems.map(({ line, details }) => [line, details.map(({ field, rule }) => [field, rule])]);
    expect(placesOf(dry)).toEqual(placesOf(real));
    expect<Partial<Answer>>({ ...dry, problems: [], import: real.import ?? "" }).toEqual({ ...real, problems: [] });
    expect(dry).not.toHaveProperty("import");
  });

  test("changes nothing, also of an update", async () => {
    const before = await all("countries");
    const seq = await lastSeq(api.service);
    expect(await send("countries", "code,area\nA,77\nQ,1\n", "?upsert=code&dryRun=true")).toMatchObject({
      imported: 0,
      updated: 1,
      rejected: 1,
    });
    expect([await all("countries"), await eventsSince(api.service, seq)]).toEqual([before, []]);
  });
});
