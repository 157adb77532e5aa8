/** `socle import` and `socle export` against the executable: beside a service, without a service, and killed. */
// Promises: W2.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { project, serve, singleService, socle } from "./kit.ts";

const fields = [
  { name: "n", type: "integer", unique: true },
  { name: "text", type: "string" },
];
const collections = [
  { name: "rows", fields },
  { name: "copies", fields },
];

function ndjson(count: number): string {
  return Array.from({ length: count }, (_, n) => `${JSON.stringify({ n, text: `Row ${n}, "quoted"` })}\n`).join("");
}

test("an export and its import are equal, with and without a service", async () => {
  singleService("commands");
  const cwd = await project({ collections });
  await Bun.write(join(cwd, "rows.ndjson"), ndjson(2_500));
  const first = await socle(["import", "rows", "rows.ndjson"], { cwd });
  expect([first.code, first.stdout, first.stderr]).toEqual([0, "2500 records imported, 0 rows refused\n", ""]);
  const server = await serve(cwd);
  expect(await socle(["export", "rows", "rows.csv"], { cwd })).toMatchObject({
    code: 0,
    stdout: "2500 records exported\n",
  });
  expect(await socle(["import", "copies", "rows.csv"], { cwd })).toMatchObject({ code: 0 });
  await server.stop();
  expect(await socle(["export", "copies", "copies.csv"], { cwd })).toMatchObject({ code: 0 });
  expect(readFileSync(join(cwd, "copies.csv"), "utf8")).toBe(readFileSync(join(cwd, "rows.csv"), "utf8"));
  const again = await socle(["import", "rows", "rows.csv"], { cwd });
  expect([again.code, again.stdout]).toEqual([1, "0 records imported, 2500 rows refused\n"]);
  expect(again.stderr.split("\n")[0]).toBe("line 2: id is taken by another record");
  expect(again.stderr).toContain("and 2480 more rows refused");
});

test("hooks decide about the rows, and functions run for the records, with and without a service", async () => {
  singleService("commands");
  const code = `
      export const beforeCreate = ({ record, earlier }) => {
        if (record.n % 2 === 1) throw new Refusal("odd", { field: "n" });
        return { text: record.text + " " + earlier.length };
      };
      export const onCreate = async ({ record, db }) => { await db.collection("copies").create({ n: record.n, text: record.text }); };`;
  const cwd = await project({ collections });
  await mkdir(join(cwd, "functions/rows"), { recursive: true });
  await Bun.write(join(cwd, "functions/rows/check.ts"), code);
  await Bun.write(join(cwd, "first.csv"), "n,text\n0,a\n1,b\n2,c\n");
  await Bun.write(join(cwd, "second.csv"), "n,text\n10,a\n11,b\n12,c\n");
  const odd = (line: number) => ({
    code: 1,
    stdout: "2 records imported, 1 row refused\n",
    stderr: `line ${line}: odd\n`,
  });
  expect(await socle(["import", "rows", "first.csv"], { cwd })).toMatchObject(odd(3));
  expect(textsOf(cwd, "copies")).toEqual(["a 0", "c 1"]);
  const server = await serve(cwd);
  expect(await socle(["import", "rows", "second.csv"], { cwd })).toMatchObject(odd(3));
  await server.stop();
  expect(textsOf(cwd, "rows")).toEqual(["a 0", "c 1", "a 0", "c 1"]);
  await Bun.write(join(cwd, "functions/rows/check.ts"), "export const beforeCreate = (");
  const broken = await socle(["import", "rows", "second.csv"], { cwd });
  expect([broken.code, broken.stdout]).toEqual([2, ""]);
  expect(broken.stderr).toContain("functions/rows/check.ts does not load, it has no effect");
  expect(broken.stderr).toContain('A hook of "rows" did not decide');
  expect(textsOf(cwd, "rows")).toHaveLength(4);
});

function textsOf(cwd: string, table: string): string[] {
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  return database
    .query<{ text: string }, []>(`SELECT text FROM "${table}" ORDER BY _seq`)
    .all()
    .map(({ text }) => text);
}

test("wrong usage is a single line", async () => {
  const cwd = await project({ collections });
  await Bun.write(join(cwd, "rows.ndjson"), "{}\n");
  await Bun.write(join(cwd, "bad.csv"), "titel\n1\n");
  const ask = async (...args: string[]): Promise<string> => {
    const { code, stderr, stdout } = await socle(args, { cwd });
    expect([code === 0, stdout, stderr.split("\n").length]).toEqual([false, "", 2]);
    return stderr;
  };
  expect(await ask("import", "nothing", "rows.ndjson")).toContain('there is no collection "nothing"');
  expect(await ask("import", "rows", "missing.csv")).toContain("there is no such file");
  expect(await ask("import", "rows", "config.json")).toContain("must end in .csv, .ndjson or .jsonl");
  expect(await ask("import", "rows", "bad.csv")).toContain('"titel" is none');
  expect(await ask("export", "rows", "there/rows.csv")).toContain("folder does not exist");
  expect(await ask("export", "nothing", "rows.csv")).toContain('there is no collection "nothing"');
  expect(existsSync(join(cwd, "rows.csv.unfinished"))).toBe(false);
});

test("kill -9 during an import: whole transactions of 1,000, each record with its event", async () => {
  const random = randomNumbers(randomSeed("imports"));
  const cwd = await project({ collections });
  await Bun.write(join(cwd, "rows.ndjson"), ndjson(100_000));
  const server = await serve(cwd);
  const importing = socle(["import", "rows", "rows.ndjson"], { cwd });
  const has = async (): Promise<number> =>
    ((await (await fetch(`${server.url}/api/rows?limit=1&count=exact`)).json()) as { total: number }).total;
  while ((await has()) === 0) await Bun.sleep(5);
  await Bun.sleep(random() * 300);
  server.signal("SIGKILL");
  await server.exited;
  expect((await importing).code).not.toBe(0);
  await (await serve(cwd)).stop();
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const found = database.query<{ n: number; last: number }, []>("SELECT count(*) AS n, max(n) AS last FROM rows").get();
  const events = database
    .query<{ n: number }, []>("SELECT count(*) AS n FROM _events WHERE type = 'rows.created'")
    .get();
  expect(found?.n ?? 0).toBeGreaterThan(0);
  expect(found?.n ?? 0).toBeLessThan(100_000);
  expect([(found?.n ?? -1) % 1_000, (found?.last ?? -1) + 1, events?.n]).toEqual([0, found?.n ?? -1, found?.n]);
});

test("a seed beside a service, in a single transaction", async () => {
  const cwd = await project({ collections });
  await Bun.write(join(cwd, "bad.json"), JSON.stringify({ rows: [{ n: 1 }, { n: 1 }] }));
  await Bun.write(
    join(cwd, "seed.json"),
    JSON.stringify({ users: [{ email: "a@example.com", password: "correct horse" }], rows: [{ n: 1 }, { n: 2 }] }),
  );
  const server = await serve(cwd);
  const refused = await socle(["seed", "bad.json"], { cwd });
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("rows[1]: n is taken by another record");
  const rows = async (): Promise<number> =>
    ((await (await fetch(`${server.url}/api/rows`)).json()) as { items: object[] }).items.length;
  expect(await rows()).toBe(0);
  expect(await socle(["seed", "seed.json"], { cwd })).toEqual({
    code: 0,
    stdout: "users: 1 user added\nrows: 2 records added\n",
    stderr: "",
  });
  expect(await rows()).toBe(2);
});

test("the options of the import, with and without a service", async () => {
  singleService("commands");
  const cwd = await project({ collections });
  await Bun.write(join(cwd, "first.csv"), "number,text,more\n1,a,x\n2,NA,x\n,,\n");
  await Bun.write(join(cwd, "next.csv"), "n,text\n2,b\n3,c\n");
  const mapped = ["--map", "number=n", "--map", "more=", "--null", "NA"];
  const run = async (...args: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await socle(["import", "rows", ...args], { cwd });
    return [String(code), stdout, stderr];
  };
  const dry = "Dry run: 2 records imported, 0 rows refused, 1 empty row skipped\n";
  expect(await run("first.csv", ...mapped, "--dry-run")).toEqual(["0", dry, ""]);
  expect(textsOf(cwd, "rows")).toEqual([]);
  const imported = "2 records imported, 0 rows refused, 1 empty row skipped\n";
  expect(await run("first.csv", ...mapped)).toEqual(["0", imported, ""]);
  const server = await serve(cwd);
  const updated = "1 record updated, 1 row refused\n";
  for (const words of [
    ["next.csv", "--update", "n"],
    ["--update", "n", "next.csv"],
    ["--update=n", "next.csv"],
  ])
    expect(await run(...words)).toEqual(["1", updated, "line 3: no record has the n 3\n"]);
  expect(await run("next.csv", "--upsert", "n")).toEqual([
    "0",
    "1 record imported, 1 record updated, 0 rows refused\n",
    "",
  ]);
  const byId = await socle(["import", "rows", "next.csv", "--update"], { cwd });
  expect([byId.code, byId.stderr.split("\n")[0]]).toEqual([1, "line 2: id must name a record"]);
  const wrong = await socle(["import", "rows", "next.csv", "--decimal", "dot"], { cwd });
  expect([wrong.code, wrong.stderr]).toEqual([2, 'socle: "decimal" must be comma or point, not "dot".\n']);
  await server.stop();
  expect(textsOf(cwd, "rows")).toEqual(["a", "b", "c"]);
});
