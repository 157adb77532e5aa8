/** Entries of commits: a database that runs the entries of another database has the same content and the same notes. */
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { AppError } from "../../base/kernel/index.ts";
import { newRole } from "../journal/index.ts";
import {
  type CommitEntry,
  type CommitPoint,
  Database,
  EntryMismatch,
  noteKind,
  positionSchema,
  type UndecidedCommit,
} from "./index.ts";

const counted = noteKind<{ n: number }>("test.counted");
const schema = {
  module: "test",
  steps: [
    "CREATE TABLE counts (n INTEGER PRIMARY KEY, text TEXT UNIQUE, number REAL) STRICT",
    "CREATE TABLE copies (n INTEGER NOT NULL) STRICT",
    "CREATE TRIGGER copy AFTER INSERT ON counts BEGIN INSERT INTO copies (n) VALUES (new.n); END",
  ],
};

/** A journal that keeps the entries. */
class Kept implements CommitPoint {
  readonly entries: CommitEntry[] = [];
  readonly ids: string[] = [];
  readonly positions: number[] = [];
  readonly role = newRole();
  refusal: AppError | null = null;
  failure: Error | null = null;

  async append(position: number, { entry, id, before }: UndecidedCommit): Promise<void> {
    await Bun.sleep(0);
    if (this.failure !== null) throw this.failure;
    expect(before).toBe(this.ids.at(-1) ?? null);
    this.ids.push(id);
    this.positions.push(position);
    this.entries.push(JSON.parse(entry) as CommitEntry);
  }
}

const refusesAll: CommitPoint = {
  refusal: new AppError("unavailable", "This instance does not lead."),
  role: "",
  append: () => Promise.reject(new Error("a replica appends nothing")),
};

const opened: Database[] = [];
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});

async function open(commitPoint: CommitPoint, onFatal: (error: unknown) => void = () => undefined): Promise<Database> {
  const path = join(temporaryFolder(), "test.db");
  const database = new Database({ path, logger: quietLogger(), onFatal, sync: async () => undefined });
  opened.push(database);
  await database.prepare([positionSchema]);
  database.journalBy({ followers: null, commitPoint });
  return database;
}

function contentOf({ reader }: Database): unknown {
  const schemas = reader.all("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
  const rows = ["counts", "copies", "_schema", "_position", "_roles"].map((table) =>
    reader.all(`SELECT rowid, * FROM ${table} ORDER BY 1`),
  );
  return { schemas, rows };
}

async function work(leader: Database): Promise<void> {
  await leader.prepare([positionSchema, schema]);
  const values = [-0, 0.1, 1e308, 5e-324, 2 ** 53 - 1];
  const texts = ["é", "\ud800", "\u0000", "a\nb", "'quoted\""];
  await Promise.all(
    values.map((value, n) =>
      leader.transact((tx) => {
        tx.run("INSERT INTO counts (n, text, number) VALUES (?, ?, ?)", n, texts[n] ?? null, value);
        tx.note(counted.of({ n }));
      }),
    ),
  );
  // Failed transactions among others of the same commit, with and without savepoints.
  const all = await Promise.allSettled([
    leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (10)")),
    leader.transact((tx) => {
      tx.run("INSERT INTO counts (n) VALUES (11)");
      tx.note(counted.of({ n: 11 }));
      throw new Error("rolled back");
    }),
    leader.transact((tx) => tx.get("INSERT INTO counts (n) VALUES (12) RETURNING n"), { isRepeatable: true }),
    leader.transact((tx) => tx.run("INSERT INTO counts (n, text) VALUES (13, 'é')")),
    leader.transact((tx) => tx.all("DELETE FROM counts WHERE n IN (0, 10) RETURNING n")),
  ]);
  expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"]);
  await Promise.allSettled([
    leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (20)"), { isRepeatable: true }),
    leader.transact(
      (tx) => {
        tx.run("INSERT INTO counts (n) VALUES (21)");
        throw new Error("the commit runs again with savepoints");
      },
      { isRepeatable: true },
    ),
  ]);
  await leader.transactLong("", async (tx) => {
    for (let n = 100; n < 300; n++) tx.run("INSERT INTO counts (n, text) VALUES (?, ?)", n, `text ${n}`);
  });
  for (const site of ["event-loop", "thread"] as const)
    await leader.migrate(async (tx) => {
      await tx.slow.run(`CREATE INDEX "by ${site}" ON counts (number)`);
      await tx.slow.run("UPDATE counts SET number = n + ? WHERE number IS NULL", 0.5);
      tx.run("INSERT INTO copies (n) VALUES (?)", site.length);
      tx.note(counted.of({ n: site.length }));
    }, site);
}

test("a database that runs the entries has the content and the notes of the leader", async () => {
  const journal = new Kept();
  const leader = await open(journal);
  const replica = await open(refusesAll);
  const notes: number[][] = [[], []];
  for (const [i, { projection }] of [leader, replica].entries()) projection.on(counted, ({ n }) => notes[i]?.push(n));
  await work(leader);
  expect(journal.positions).toEqual(journal.positions.map((_, i) => i + 1));
  for (const [i, entry] of journal.entries.entries()) await replica.replay(entry, journal.ids[i] ?? null);
  expect(new Set(journal.ids).size).toBe(journal.ids.length);
  expect(replica.history).toEqual({
    roles: [{ position: 1, id: journal.ids[0] ?? "" }],
    end: { position: journal.ids.length, id: journal.ids.at(-1) ?? "" },
  });
  expect(replica.position).toBe(leader.position);
  expect(contentOf(replica)).toEqual(contentOf(leader));
  expect(notes[1]).toEqual([0, 1, 2, 3, 4, 10, 6]);
  expect(notes[1]).toEqual(notes[0] ?? []);
});

test("a replica takes no transactions of its own", async () => {
  const replica = await open(refusesAll);
  const before = contentOfSchema(replica);
  expect(replica.transact((tx) => tx.run("CREATE TABLE other (n)"))).rejects.toThrow("This instance does not lead.");
  expect(replica.transactLong("", async (tx) => tx.run("CREATE TABLE other (n)"))).rejects.toThrow("does not lead");
  expect(replica.migrate((tx) => tx.run("CREATE TABLE other (n)"), "thread")).rejects.toThrow("does not lead");
  await Bun.sleep(0);
  expect(contentOfSchema(replica)).toEqual(before);
});

function contentOfSchema({ reader }: Database): unknown {
  return reader.all("SELECT name FROM sqlite_schema ORDER BY name");
}

test("a commit that the journal does not take is rolled back as a whole, and the next commit has its number", async () => {
  const journal = new Kept();
  const leader = await open(journal);
  await leader.prepare([positionSchema, schema]);
  const { position } = leader;
  journal.failure = new AppError("unavailable", "The journal is away.");
  const heard: number[] = [];
  leader.projection.on(counted, ({ n }) => void heard.push(n));
  const write = (n: number) => (tx: Parameters<Parameters<Database["transact"]>[0]>[0]) => {
    tx.run("INSERT INTO counts (n) VALUES (?)", n);
    tx.note(counted.of({ n }));
  };
  const failed = await Promise.allSettled([
    leader.transact(write(1)),
    leader.transact(write(2)),
    leader.transactLong("", async (tx) => write(3)(tx)),
    leader.migrate((tx) => write(4)(tx), "thread"),
  ]);
  expect(failed.map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
  expect(leader.reader.all("SELECT n FROM counts")).toEqual([]);
  expect(heard).toEqual([]);
  expect(leader.position).toBe(position);
  journal.failure = null;
  await leader.transact(write(5));
  expect(leader.position).toBe(position + 1);
  expect(journal.positions.at(-1)).toBe(position + 1);
  expect(heard).toEqual([5]);
});

test("a commit that the journal has, and the file refuses, is reported as unknown, and ends the database", async () => {
  const journal = new Kept();
  const failures: unknown[] = [];
  const leader = await open(journal, (error) => failures.push(error));
  await leader.prepare([positionSchema, schema]);
  const append = journal.append.bind(journal);
  // SQLite ends the transaction behind the back of the writer, as for a full disk.
  journal.append = async (position, commit) => {
    await append(position, commit);
    commit.state.all("ROLLBACK");
  };
  const write = leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (1)"));
  await expect(write).rejects.toThrow("The outcome is not known: the change may have happened.");
  expect(failures).toHaveLength(1);
  expect(journal.entries).toHaveLength(2);
  expect(leader.reader.all("SELECT n FROM counts")).toEqual([]);
  await expect(leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (2)"))).rejects.toThrow(
    "could not be written",
  );
});

test("no reader sees a commit before the journal has the commit", async () => {
  const journal = new Kept();
  const leader = await open(journal);
  await leader.prepare([positionSchema, schema]);
  const gate = Promise.withResolvers<void>();
  journal.append = () => gate.promise;
  const writing = leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (1)"));
  for (let turn = 0; turn < 20; turn++) {
    await Bun.sleep(0);
    expect(leader.reader.all("SELECT n FROM counts")).toEqual([]);
  }
  gate.resolve();
  await writing;
  expect(leader.reader.all("SELECT n FROM counts")).toEqual([{ n: 1 }]);
});

test("a replica that differs reports the difference, and changes nothing", async () => {
  const journal = new Kept();
  const leader = await open(journal);
  const replica = await open(refusesAll);
  await leader.prepare([positionSchema, schema]);
  await leader.transact((tx) => tx.run("INSERT INTO counts (n) VALUES (1)"));
  await leader.transact((tx) => tx.run("UPDATE counts SET text = 'a'"));
  const [first, second, third] = journal.entries;
  if (first === undefined || second === undefined || third === undefined) throw new Error("no entries");
  await replica.replay(first, journal.ids[0] ?? "");
  expect(replica.replay(third, journal.ids[2] ?? "")).rejects.toThrow(EntryMismatch);
  await replica.replay(second, journal.ids[1] ?? "");
  expect(replica.position).toBe(2);
  await replica.replay(third, journal.ids[2] ?? "");
  expect(contentOf(replica)).toEqual(contentOf(leader));
});
