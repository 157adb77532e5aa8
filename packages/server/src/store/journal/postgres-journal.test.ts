/** The journal in PostgreSQL: the conformance suite, the fence between real connections, lost answers, and failures of the engine. */
import { afterAll, expect, test } from "bun:test";
import { entryOf, journalSuite, leaseEnd, leaseOf, placeOf, readAll, shown } from "../../../test/journal-suite.ts";
import { quietLogger } from "../../../test/kit.ts";
import { startTcpProxy, type TcpProxy } from "../../../test/tcp-proxy.ts";
import { startPostgres } from "../../../test/test-postgres.ts";
import { beginning, type Entry, type Journal, type Lease, openJournal } from "./index.ts";
import * as statements from "./sql/statements.ts";

/** Longer than any wait of a test for the engine, on a busy machine. */
const longMs = 3_600_000;
const engine = await startPostgres();
const raw = engine.client();

function journalAt(cluster: string, options: { parameters?: string; port?: number; timeoutMs?: number } = {}): Journal {
  const { timeoutMs = 60_000, ...address } = options;
  const journal = openJournal({ url: engine.url(address), cluster, logger: quietLogger(), timeoutMs });
  afterAll(() => journal.close());
  return journal;
}

journalSuite("PostgreSQL", (cluster) => journalAt(cluster));
journalSuite("behind a pooler", (cluster) => journalAt(cluster, { parameters: "?prepare=false" }));

/** A cluster with the leader `a` of the term 1, and an entry. */
async function led(): Promise<Led> {
  const cluster = crypto.randomUUID();
  const journal = journalAt(cluster);
  await journal.open();
  const lease = await leaseOf(journal, { instance: "a", address: "", ms: longMs });
  const entry = (position: number, term = 1): Entry => entryOf(lease.role, position, { term });
  await journal.append(entry(1));
  return { cluster, journal, lease, entry };
}

interface Led {
  readonly cluster: string;
  readonly journal: Journal;
  /** The lease of the term 1. */
  readonly lease: Lease;
  /** An entry of the role. */
  readonly entry: (position: number, term?: number) => Entry;
}

/** The values of the statement of an append. */
function valuesOf(cluster: string, { position, term, body, id, before }: Entry): unknown[] {
  return [cluster, position, term, body, id, before];
}

/** Resolves to true when a statement of the engine waits for a lock, and to false when `work` is over before. */
async function waitsForLock(work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  for (;;) {
    const rows = await raw`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
    if (rows.length > 0 || isOver) return rows.length > 0;
    await Bun.sleep(2);
  }
}

/** Begins a transaction of another connection, which stays open after the statement; answers the end of the transaction. */
async function openTransaction(
  statement: string,
  values: unknown[],
): Promise<(end: "COMMIT" | "ROLLBACK") => Promise<void>> {
  const client = engine.client();
  await client.unsafe("BEGIN");
  await client.unsafe(statement, values);
  return async (end) => {
    await client.unsafe(end);
    await client.close({ timeout: 0 });
  };
}

async function outcome(answer: Promise<unknown>): Promise<string> {
  return answer.then(String, (error: unknown) => (error instanceof Error ? error.name : "no error"));
}

for (const [name, call] of [
  ["nextTerm", ({ journal, lease }: Led) => journal.nextTerm(lease, longMs)],
  ["takeLease", ({ journal }: Led) => journal.takeLease({ instance: "a", address: "", ms: longMs })],
] as const)
  for (const end of ["COMMIT", "ROLLBACK"] as const)
    test(`${name} waits for an append that runs in the engine: ${end}`, async () => {
      const own = await led();
      const { cluster, journal, entry } = own;
      const endAppend = await openTransaction(statements.append(false, null), valuesOf(cluster, entry(2)));
      const lease = call(own);
      expect(await waitsForLock(lease)).toBe(true);
      await endAppend(end);
      expect((await lease)?.term).toBe(2);
      expect(shown(await readAll(journal))).toEqual(end === "COMMIT" ? ["1:1:e1", "2:1:e2"] : ["1:1:e1"]);
    });

for (const end of ["COMMIT", "ROLLBACK"] as const)
  test(`an append that waits for a change of the term sees the term after the change: ${end}`, async () => {
    const { cluster, journal, entry, lease } = await led();
    const endTerm = await openTransaction(statements.nextTerm, [cluster, 1, lease.role, longMs]);
    const append = journal.append(entry(2));
    expect(await waitsForLock(append)).toBe(true);
    await endTerm(end);
    expect(await append).toBe(end === "COMMIT" ? "fenced" : "appended");
    expect(shown(await readAll(journal))).toEqual(end === "COMMIT" ? ["1:1:e1"] : ["1:1:e1", "2:1:e2"]);
  });

test("an append that waits for the renewal of the lease is appended", async () => {
  const { cluster, journal, entry, lease } = await led();
  const endRenewal = await openTransaction(statements.renewLease, [cluster, 1, lease.role, longMs]);
  const append = journal.append(entry(2));
  expect(await waitsForLock(append)).toBe(true);
  await endRenewal("COMMIT");
  expect(await append).toBe("appended");
});

/** A journal behind a proxy, connected, of the cluster of `led`. */
async function behindProxy(timeoutMs?: number): Promise<Led & { far: Journal; proxy: TcpProxy }> {
  const own = await led();
  const { cluster, entry } = own;
  const proxy = await startTcpProxy(engine.port);
  const far = journalAt(cluster, { port: proxy.port, ...(timeoutMs !== undefined && { timeoutMs }) });
  // Connects for appends, and prepares the statement of entries that are not the first of a role; the entry stands already.
  expect(await far.append({ ...entry(1), before: entry(2).id })).toBe("appended");
  return { ...own, far, proxy };
}

test("the delayed append of a paused leader is fenced", async () => {
  const { journal, far, proxy, entry, lease } = await behindProxy();
  proxy.hold("requests");
  const append = far.append(entry(2));
  await proxy.arrival("requests");
  expect(await journal.renewLease(lease, 1)).toBe(true);
  await leaseEnd(journal);
  const next = await leaseOf(journal, { instance: "b", address: "", ms: longMs });
  expect(next.term).toBe(2);
  expect(shown(await readAll(journal))).toEqual(["1:1:e1"]);
  proxy.release("requests");
  expect(await append).toBe("fenced");
  const other = entryOf(next.role, 2, { term: 2, before: placeOf(lease.role, 1).id });
  expect(await journal.append(other)).toBe("appended");
  expect(shown(await readAll(journal))).toEqual(["1:1:e1", "2:2:e2"]);
});

test("a response that is cut off leaves the outcome unknown, and the next term decides: appended", async () => {
  const { journal, far, proxy, entry, lease } = await behindProxy();
  proxy.hold("answers");
  const append = outcome(far.append(entry(2)));
  await proxy.arrival("answers");
  proxy.cut();
  expect(await append).toBe("OutcomeUnknown");
  expect((await far.nextTerm(lease, longMs))?.term).toBe(2);
  expect(shown(await readAll(far))).toEqual(["1:1:e1", "2:1:e2"]);
  expect(await far.append(entry(3, 2))).toBe("appended");
  expect(await journal.append(entry(2))).toBe("appended");
});

test("a request that is cut off leaves the outcome unknown, and the next term decides: not appended", async () => {
  const { far, proxy, entry, lease } = await behindProxy();
  proxy.hold("requests");
  const append = outcome(far.append(entry(2)));
  await proxy.arrival("requests");
  proxy.cut();
  expect(await append).toBe("OutcomeUnknown");
  expect((await far.nextTerm(lease, longMs))?.term).toBe(2);
  expect(shown(await readAll(far))).toEqual(["1:1:e1"]);
  expect(await far.append(entry(2))).toBe("fenced");
});

test("a request that arrives after the caller has given up never appends once the next term has begun", async () => {
  const { journal, far, proxy, entry, lease } = await behindProxy(500);
  proxy.hold("requests");
  expect(await outcome(far.append(entry(2)))).toBe("OutcomeUnknown");
  expect((await journal.nextTerm(lease, longMs))?.term).toBe(2);
  proxy.release("requests");
  // The request has reached the engine when the engine has ended the connection.
  while (proxy.open > 0) await Bun.sleep(2);
  expect(shown(await readAll(journal))).toEqual(["1:1:e1"]);
});

test("a response that does not arrive in time ends the connection, and the next call connects again", async () => {
  const { journal, far, proxy, entry } = await behindProxy(500);
  expect(await far.read(beginning, 1)).toHaveLength(1);
  proxy.hold("answers");
  expect(await outcome(far.append(entry(2)))).toBe("OutcomeUnknown");
  expect(await outcome(far.read(beginning, 1))).toBe("JournalAway");
  expect(await outcome(far.leader())).toBe("JournalAway");
  while (proxy.open > 0) await Bun.sleep(2);
  // A connection without an answer is no connection: certainly nothing was sent.
  expect(await outcome(far.append(entry(3)))).toBe("JournalAway");
  proxy.release("answers");
  expect(await far.append(entry(3))).toBe("appended");
  expect(shown(await readAll(journal))).toEqual(["1:1:e1", "2:1:e2", "3:1:e3"]);
});

test("a connection that the engine ends in the middle of an append leaves the outcome unknown", async () => {
  const { cluster, journal, entry } = await led();
  const release = await openTransaction("SELECT 1 FROM socle_leader WHERE cluster = $1 FOR UPDATE", [cluster]);
  const append = outcome(journal.append(entry(2)));
  expect(await waitsForLock(append)).toBe(true);
  await raw`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
  expect(await append).toBe("OutcomeUnknown");
  await release("ROLLBACK");
  expect(shown(await readAll(journal))).toEqual(["1:1:e1"]);
  expect(await journal.append(entry(2))).toBe("appended");
});

test("a statement that the engine cancels has certainly appended nothing", async () => {
  const { cluster, journal, entry } = await led();
  const release = await openTransaction("SELECT 1 FROM socle_leader WHERE cluster = $1 FOR UPDATE", [cluster]);
  const append = outcome(journal.append(entry(2)));
  expect(await waitsForLock(append)).toBe(true);
  await raw`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
  expect(await append).toBe("JournalAway");
  await release("ROLLBACK");
  expect(shown(await readAll(journal))).toEqual(["1:1:e1"]);
});

test("an engine that stops is away, and serves again after the start", async () => {
  const { journal, entry, lease } = await led();
  await engine.stop();
  expect(await outcome(journal.read(beginning, 1))).toBe("JournalAway");
  expect(await outcome(journal.append(entry(2)))).toBe("JournalAway");
  expect(await outcome(journal.renewLease(lease, longMs))).toBe("JournalAway");
  await engine.start();
  expect(await journal.append(entry(2))).toBe("appended");
  expect(shown(await readAll(journal))).toEqual(["1:1:e1", "2:1:e2"]);
});

test("entries that were appended survive a crash of the engine", async () => {
  const { journal, entry, lease } = await led();
  const answers: string[] = [];
  const appends = Promise.all(
    Array.from({ length: 500 }, async (_, i) => {
      answers[i] = await outcome(journal.append(entry(i + 2)));
    }),
  );
  while (answers.length < 100) await Bun.sleep(1);
  await engine.kill();
  await appends;
  await engine.start();
  expect((await journal.nextTerm(lease, longMs))?.term).toBe(2);
  const all = await readAll(journal);
  const appended = answers.filter((answer) => answer === "appended").length;
  expect(appended).toBeGreaterThanOrEqual(100);
  expect(all.length).toBeGreaterThanOrEqual(appended + 1);
  for (const [i, each] of all.entries()) expect(shown([each])).toEqual([`${i + 1}:1:e${i + 1}`]);
  // An append that was refused for certain left nothing.
  for (const [i, answer] of answers.entries())
    if (answer !== "appended" && answer !== "OutcomeUnknown") expect(all.length).toBeLessThan(i + 2);
});

test("an engine that stands still leaves the outcome unknown; the next term decides for good", async () => {
  const { cluster, entry, lease } = await led();
  const journal = journalAt(cluster, { timeoutMs: 500 });
  expect(await journal.append(entry(1))).toBe("appended");
  engine.pause();
  expect(await outcome(journal.append(entry(2)))).toBe("OutcomeUnknown");
  expect(await outcome(journal.append(entry(2)))).toBe("JournalAway");
  engine.resume();
  const patient = journalAt(cluster);
  expect((await patient.nextTerm(lease, longMs))?.term).toBe(2);
  const decided = shown(await readAll(patient));
  const isStanding = decided.length === 2;
  expect(await patient.append(entry(2))).toBe(isStanding ? "appended" : "fenced");
  expect(await patient.append(entry(isStanding ? 3 : 2, 2))).toBe("appended");
  expect(shown(await readAll(patient)).slice(0, decided.length)).toEqual(decided);
});
