import { afterAll, expect, test } from "bun:test";
import { quietLogger } from "../../../test/kit.ts";
import { startPostgres } from "../../../test/test-postgres.ts";
import { readAddress } from "./address.ts";
import { EngineConnection } from "./connection.ts";
import { OutcomeUnknown } from "./index.ts";

const engine = await startPostgres();

function connectionTo(url: string, timeoutMs = 60_000): { connection: EngineConnection; log: string[] } {
  const address = readAddress(url);
  if (address === null) throw new Error(`${url} is no address`);
  const log: string[] = [];
  const connection = new EngineConnection({ address, logger: quietLogger(log), timeoutMs });
  afterAll(() => connection.close());
  return { connection, log };
}

test("the engine gives up before this process does; a pooler gets no parameter of the session", async () => {
  const question = "SELECT current_setting('statement_timeout') AS bound, current_setting('application_name') AS name";
  const { connection } = connectionTo(engine.url(), 5_000);
  expect(await connection.run<object>(question)).toEqual([{ bound: "4s", name: "socle" }]);
  const pooled = connectionTo(engine.url({ parameters: "?prepare=false" }), 5_000);
  expect(await pooled.connection.run<object>(question)).toEqual([{ bound: "0", name: "" }]);
});

test("behind a pooler, statements have no names", async () => {
  for (const [parameters, names] of [
    ["", 1],
    ["?prepare=false", 0],
  ] as const) {
    const { connection } = connectionTo(engine.url({ parameters }));
    for (let i = 0; i < 3; i += 1) expect(await connection.run<object>("SELECT $1::int AS n", [i])).toEqual([{ n: i }]);
    const found = await connection.run("SELECT 1 FROM pg_prepared_statements WHERE statement LIKE '%AS n'");
    expect(found).toHaveLength(names);
  }
});

test("a statement that waited for a connection that is lost is never sent by the next connection", async () => {
  const { connection, log } = connectionTo(engine.url());
  await connection.run("CREATE TABLE notes (n int)");
  const slow = connection.run("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)");
  const behind = connection.run("INSERT INTO notes VALUES ($1::int)", [1]);
  const ends = await Promise.allSettled([slow, behind]);
  expect(ends.map((end) => end.status === "rejected" && end.reason instanceof OutcomeUnknown)).toEqual([true, true]);
  expect(await connection.run("SELECT 1 FROM notes")).toEqual([]);
  expect(log).toEqual(["DEBUG A connection to the journal has ended"]);
});

test("messages show the address without the password and the parameters", () => {
  const address = readAddress(
    "postgres://user:pass%40word@db.example:6000/main?sslmode=require&prepare=false&sslpassword=hush",
  );
  expect(address?.shown).toBe("postgres://user@db.example:6000/main");
  expect(address?.isPooled).toBe(true);
  expect(address?.database).toBe("main");
  expect(readAddress("postgresql://db.example")?.shown).toBe("postgres://db.example/");
});
