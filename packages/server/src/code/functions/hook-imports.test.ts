/** Imports ask hooks: a refused row is left out and told, `earlier` has the rows of the transaction, and a fault ends the import. */
import { describe, expect, test } from "bun:test";
import type { ImportReport } from "@socle/protocol";
import { eventsSince, lastSeq } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const payments = {
  name: "payments",
  fields: [
    { name: "order", type: "string" },
    { name: "amount", type: "integer" },
    { name: "balance", type: "integer" },
    { name: "at", type: "datetime", default: "@now" },
  ],
};

type Row = Readonly<Record<string, unknown>>;

function open(code: string): Promise<TestScripts> {
  return openScripts({ collections: [payments], files: { "functions/payments/hook.ts": code } });
}

async function importRows(
  api: TestScripts,
  rows: readonly Row[],
): Promise<{ status: number; body: ImportReport & { error?: { code: string; message: string } } }> {
  const headers = { "Content-Type": "application/x-ndjson" };
  const body = rows.map((row) => JSON.stringify(row)).join("\n");
  return api.request("POST", "/api/payments/import", { body, headers, token: await api.admin() });
}

/** The records, the oldest first. */
async function all(api: TestScripts): Promise<Record<string, unknown>[]> {
  const { body } = await api.request<{ items: Record<string, unknown>[] }>("GET", "/api/payments");
  return body.items.toReversed();
}

function asked(api: TestScripts): number {
  return api.log.filter((line) => line.includes("asked")).length;
}

describe("a hook", () => {
  test("refuses rows, which are left out and reported, and changes other rows; the hook is called once for each row", async () => {
    const api = await open(`export const beforeCreate = ({ record }) => {
      console.log("asked");
      if (record.amount === 2) throw new Refusal("not two");
      if (record.amount === 3) throw new Refusal("not three", { field: "amount" });
      if (record.amount === 4) throw new Refusal("not four", { status: 403 });
      if (record.amount === 5) return { order: 7 };
      return { balance: record.amount * 10 };
    };
    export const onCreate = ({ record }) => console.log("made", record.amount);`);
    const before = await eventsSince(api.service);
    const rows = [
      { amount: 1 },
      { amount: 2 },
      { amount: 3 },
      { amount: "x" },
      { amount: 4 },
      { amount: 5 },
      { amount: 6 },
    ];
    const { status, body } = await importRows(api, rows);
    expect([status, body.imported, body.rejected]).toEqual([200, 2, 5]);
    expect(
      body.problems.map(({ line, details }) => [line, ...details.map(({ field, rule }) => `${field}:${rule}`)]),
    ).toEqual([
      [2, ":refused"],
      [3, "amount:refused"],
      [4, "amount:type"],
      [5, ":refused"],
      [6, "order:type"],
    ]);
    expect(body.problems[0]?.details[0]?.message).toBe("not two");
    expect((await all(api)).map(({ amount, balance }) => [amount, balance])).toEqual([
      [1, 10],
      [6, 60],
    ]);
    expect(asked(api)).toBe(6);
    await api.scripts.settled();
    expect(api.log.flatMap((line) => line.split("INFO made ")[1]?.split(" ")[0] ?? [])).toEqual(["1", "6"]);
    const types = (await eventsSince(api.service)).slice(before.length).map(({ type }) => type);
    expect(types.filter((type) => type === "payments.created")).toHaveLength(2);
  });

  test("is not called again for other rows when the id of a row is free because another row is refused", async () => {
    const api = await open(`export const beforeCreate = ({ record }) => {
      console.log("asked");
      if (record.amount < 0) throw new Refusal("negative");
    };`);
    const id = "rec_00000000-0000-7000-8000-000000000001";
    const rows = [{ id, amount: -1 }, { id, amount: 1 }, { amount: 2 }, { amount: 3 }, { amount: 4 }];
    const { body } = await importRows(api, rows);
    expect([body.imported, body.problems.map(({ line }) => line)]).toEqual([4, [1]]);
    expect((await all(api)).map(({ amount }) => amount)).toEqual([1, 2, 3, 4]);
    expect(asked(api)).toBe(5);
  });

  test("that does not decide ends the import: 503, with the number of the rows before", async () => {
    const api = await open(`export const beforeCreate = ({ record }) => {
      if (record.amount === 1_500) throw new Error("broken");
    };`);
    const { status, body } = await importRows(
      api,
      Array.from({ length: 2_000 }, (_, amount) => ({ amount })),
    );
    expect([status, body.error?.code]).toEqual([503, "unavailable"]);
    expect(body.error?.message).toEndWith("1,000 records were imported before that.");
    expect(api.log.filter((line) => line.includes("broken"))).not.toBeEmpty();
    expect((await api.request<{ total: number }>("GET", "/api/payments?count=exact&limit=1")).body.total).toBe(1_000);
    await api.save({ "functions/payments/hook.ts": "export const beforeCreate = (" });
    expect((await importRows(api, [{ amount: 1_500 }])).status).toBe(503);
  });
});

describe("`earlier`", () => {
  const threeEach = `export const beforeCreate = async ({ record, db, earlier }) => {
    console.log("asked");
    const stored = await db.collection("payments").list({ filter: 'order = "' + record.order + '"', count: "exact", limit: 1 });
    if (stored.total + earlier.filter(({ order }) => order === record.order).length >= 3) throw new Refusal("three at most");
  };`;

  test("has the rows of the transaction, without refused rows: a hook that counts is exact", async () => {
    const api = await open(threeEach);
    // Two transactions: the second counts the records of the first by \`db\`.
    const rows = Array.from({ length: 1_100 }, (_, n) => ({ order: `o${n % 7}`, amount: n }));
    const { body } = await importRows(api, rows);
    expect([body.imported, body.rejected]).toEqual([21, 1_079]);
    expect((await all(api)).map(({ amount }) => amount)).toEqual(Array.from({ length: 21 }, (_, n) => n));
    // Once for each row, and again after the first refusals.
    expect(asked(api)).toBeLessThan(3 * rows.length);
  });

  test("and single writes at the same time: together three at most", async () => {
    const api = await open(threeEach);
    const create = (n: number) => api.request("POST", "/api/payments", { body: { order: "o", amount: n } });
    const [imported, ...others] = await Promise.all([
      importRows(
        api,
        Array.from({ length: 20 }, (_, amount) => ({ order: "o", amount })),
      ),
      ...Array.from({ length: 20 }, (_, n) => create(n)),
    ]);
    expect(imported.status).toBe(200);
    const made = others.filter(({ status }) => status === 201).length;
    expect(made + imported.body.imported).toBe(3);
    expect(await all(api)).toHaveLength(3);
  });

  test("has the values of earlier hooks: a balance goes on from row to row, past refused rows", async () => {
    const api = await open(`export const beforeCreate = ({ record, earlier }) => {
      console.log("asked");
      const balance = (earlier.at(-1)?.balance ?? 0) + record.amount;
      if (balance < 0) throw new Refusal("no credit");
      return { balance };
    };`);
    const amounts = Array.from({ length: 200 }, (_, n) => (n % 3 === 2 ? -30 : n % 20));
    const { body } = await importRows(
      api,
      amounts.map((amount) => ({ amount })),
    );
    let balance = 0;
    const expected: number[] = [];
    for (const amount of amounts) {
      if (balance + amount < 0) continue;
      balance += amount;
      expected.push(balance);
    }
    expect((await all(api)).map((record) => record["balance"])).toEqual(expected);
    expect([body.imported, body.rejected]).toEqual([expected.length, amounts.length - expected.length]);
    expect(asked(api)).toBeLessThan(4 * amounts.length);
  });

  test("a row is no duplicate of a row that another hook refuses", async () => {
    const api = await openScripts({
      collections: [payments],
      files: {
        "functions/payments/a.ts": `export const beforeCreate = ({ record, earlier }) => {
          if (earlier.some(({ order }) => order === record.order)) throw new Refusal("twice");
        };`,
        "functions/payments/b.ts": `export const beforeCreate = ({ record }) => {
          if (record.amount < 0) throw new Refusal("negative");
        };`,
      },
    });
    const { body } = await importRows(api, [
      { order: "a", amount: -1 },
      { order: "a", amount: 1 },
      { order: "a", amount: 2 },
    ]);
    expect(body.problems.map(({ line, details }) => [line, details[0]?.message])).toEqual([
      [1, "negative"],
      [3, "twice"],
    ]);
    expect((await all(api)).map(({ amount }) => amount)).toEqual([1]);
  });
});

test("hooks decide about the rows of an update, and of a dry run as of the import", async () => {
  const api = await openScripts({
    collections: [
      {
        name: "payments",
        fields: [
          { name: "order", type: "string", unique: true },
          { name: "amount", type: "integer" },
        ],
      },
    ],
    files: {
      "functions/payments/hook.ts": `
        const decide = (step) => ({ record }) => {
          if (record.amount === 2) throw new Refusal("not two", { field: "amount" });
          return { amount: record.amount + step };
        };
        export const beforeCreate = decide(10);
        export const beforeUpdate = decide(100);`,
    },
  });
  const token = await api.admin();
  const send = async (csv: string, query: string): Promise<unknown> => {
    const headers = { "Content-Type": "text/csv" };
    const path = `/api/payments/import${query}`;
    const { body } = await api.request<ImportReport>("POST", path, { body: csv, headers, token });
    const { imported, updated, problems } = body;
    return [imported, updated, problems.map(({ line, details }) => [line, details[0]?.message])];
  };
  const first = "order,amount\na,1\nb,2\nc,3\n";
  const expected = [2, 0, [[3, "not two"]]];
  expect(await send(first, "?dryRun=true")).toEqual(expected);
  expect(await all(api)).toEqual([]);
  expect(await send(first, "")).toEqual(expected);
  const second = "order,amount\na,5\nc,2\nd,6\ne,2\n";
  const changed = [
    1,
    1,
    [
      [3, "not two"],
      [5, "not two"],
    ],
  ];
  const seq = await lastSeq(api.service);
  expect(await send(second, "?upsert=order&dryRun=true")).toEqual(changed);
  expect(await eventsSince(api.service, seq)).toEqual([]);
  expect(await send(second, "?upsert=order")).toEqual(changed);
  expect((await all(api)).map(({ order, amount }) => [order, amount])).toEqual([
    ["a", 105],
    ["c", 13],
    ["d", 16],
  ]);
});
