/** Conformance suite of journals; the test of each driver runs the suite. */
import { afterAll, expect, setSystemTime, test } from "bun:test";
import {
  type Entry,
  type InstanceRow,
  type Journal,
  JournalAway,
  type JournalExtent,
  JournalGap,
  type Leader,
  type SnapshotRow,
} from "../src/store/journal/index.ts";
import { randomNumbers, randomSeed } from "./random.ts";

const empty: JournalExtent = { first: 0, last: 0, bytes: 0, term: 0 };
/** A lease that does not run out during a test. */
const longMs = 3_600_000;

export function bodyOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Entries as `position:term:text`. */
export function shown(entries: readonly Entry[]): string[] {
  return entries.map(({ position, term, body }) => `${position}:${term}:${new TextDecoder().decode(body)}`);
}

/** All entries after a position, in pages. */
export async function readAll(journal: Journal, after = 0, maxBytes = 1_000_000): Promise<Entry[]> {
  const all: Entry[] = [];
  let page: readonly Entry[];
  do {
    page = await journal.read(after + all.length, maxBytes);
    all.push(...page);
  } while (page.length > 0);
  return all;
}

/** Asks until the lease has run out. */
export async function leaseEnd(journal: Journal): Promise<void> {
  while ((await journal.leader())?.isLive === true) await Bun.sleep(1);
}

/** @param open makes a journal for the name of a cluster, without a call of `open`. */
export function journalSuite(name: string, open: (cluster: string) => Journal): void {
  const clusterName = (): string => `${name}-${crypto.randomUUID()}`;

  /** A journal that is opened, for a new cluster or for the named cluster. */
  async function opened(cluster = clusterName()): Promise<Journal> {
    const journal = open(cluster);
    afterAll(() => journal.close());
    await journal.open();
    return journal;
  }

  /** A journal whose leader has the term 1. */
  async function led(cluster = clusterName()): Promise<Journal> {
    const journal = await opened(cluster);
    expect(await journal.takeLease({ instance: "a", address: "http://a", ms: longMs })).toBe(1);
    return journal;
  }

  async function fill(journal: Journal, count: number, term = 1): Promise<void> {
    const { last } = await journal.extent();
    const entries = Array.from({ length: count }, (_, i) => ({
      position: last + 1 + i,
      term,
      body: bodyOf(`e${last + 1 + i}`),
    }));
    const answers = await Promise.all(entries.map((entry) => journal.append(entry)));
    expect(new Set(answers)).toEqual(new Set(["appended"]));
  }

  test(`${name}: the id of a cluster is made once, also by several instances at once`, async () => {
    const cluster = clusterName();
    const journals = Array.from({ length: 4 }, () => open(cluster));
    const answers = await Promise.all(journals.map((journal) => journal.open()));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    const other = open(clusterName());
    const { id, isNew } = await other.open();
    expect(isNew).toBe(true);
    expect(id).not.toBe(answers[0]?.id ?? "");
    await Promise.all([...journals, other].map((journal) => journal.close()));
  });

  test(`${name}: a new journal is empty`, async () => {
    const journal = await opened();
    expect(await journal.extent()).toEqual(empty);
    expect(await journal.read(0, 1_000)).toEqual([]);
    expect(await journal.leader()).toBeNull();
    expect(await journal.instances()).toEqual([]);
    expect(await journal.snapshots()).toEqual([]);
    await journal.trim(10);
    expect(await journal.extent()).toEqual(empty);
  });

  test(`${name}: entries stand in order, and clusters do not see each other`, async () => {
    const journal = await led();
    const other = await led();
    await fill(other, 1);
    await fill(journal, 3);
    expect(shown(await journal.read(0, 1_000))).toEqual(["1:1:e1", "2:1:e2", "3:1:e3"]);
    expect(shown(await journal.read(2, 1_000))).toEqual(["3:1:e3"]);
    expect(await journal.read(3, 1_000)).toEqual([]);
    expect(await journal.read(4, 1_000)).toEqual([]);
    expect(await journal.extent()).toEqual({ first: 1, last: 3, bytes: 6, term: 1 });
    expect(shown(await other.read(0, 1_000))).toEqual(["1:1:e1"]);
  });

  test(`${name}: an entry that does not follow, or differs from the entry of the position, is refused`, async () => {
    const journal = await led();
    await expect(journal.append({ position: 2, term: 1, body: bodyOf("early") })).rejects.toThrow("does not follow");
    await fill(journal, 2);
    await expect(journal.append({ position: 4, term: 1, body: bodyOf("gap") })).rejects.toThrow("does not follow");
    await expect(journal.append({ position: 0, term: 1, body: bodyOf("zero") })).rejects.toThrow("does not follow");
    await expect(journal.append({ position: 2, term: 1, body: bodyOf("other") })).rejects.toThrow(
      "holds another entry",
    );
    expect(await journal.append({ position: 2, term: 1, body: bodyOf("e2") })).toBe("appended");
    expect(shown(await readAll(journal))).toEqual(["1:1:e1", "2:1:e2"]);
  });

  test(`${name}: terms that are over, and terms that never were, are fenced`, async () => {
    const journal = await opened();
    expect(await journal.append({ position: 1, term: 1, body: bodyOf("nobody") })).toBe("fenced");
    expect(await journal.takeLease({ instance: "a", address: "", ms: longMs })).toBe(1);
    await fill(journal, 1);
    expect(await journal.nextTerm(1, longMs)).toBe(2);
    expect(await journal.append({ position: 2, term: 1, body: bodyOf("late") })).toBe("fenced");
    expect(await journal.append({ position: 2, term: 3, body: bodyOf("early") })).toBe("fenced");
    expect(await journal.append({ position: 1, term: 2, body: bodyOf("e1") })).toBe("fenced");
    expect(await journal.nextTerm(1, longMs)).toBeNull();
    expect(await journal.renewLease(1, longMs)).toBe(false);
    await journal.releaseLease(1);
    expect((await journal.leader())?.isLive).toBe(true);
    await fill(journal, 1, 2);
    // The entry of the former term stands, although the term is over: the entry was appended.
    expect(await journal.append({ position: 1, term: 1, body: bodyOf("e1") })).toBe("appended");
    expect(shown(await readAll(journal))).toEqual(["1:1:e1", "2:2:e2"]);
    expect((await journal.extent()).term).toBe(2);
  });

  test(`${name}: two leaders at once never both append`, async () => {
    const random = randomNumbers(randomSeed(`${name}: two leaders`));
    const cluster = clusterName();
    const appended = new Map<number, string>();
    const fenced: string[] = [];
    const lead = async (instance: string): Promise<void> => {
      const journal = await opened(cluster);
      for (let round = 0; round < 15; round += 1) {
        // Nobody keeps the lease for long, so that terms end in the middle of appends.
        const term = await journal.takeLease({ instance, address: "", ms: 1 });
        if (term === null) continue;
        const { last } = await journal.extent();
        for (let i = 1; i <= 1 + Math.floor(random() * 8); i += 1) {
          const text = `${instance}${round}.${i}`;
          const answer = await journal.append({ position: last + i, term, body: bodyOf(text) });
          if (answer === "fenced") fenced.push(text);
          else appended.set(last + i, `${last + i}:${term}:${text}`);
          if (answer === "fenced") break;
        }
      }
    };
    await Promise.all([lead("a"), lead("b"), lead("c")]);
    const all = shown(await readAll(await opened(cluster)));
    expect(all).toEqual([...appended].sort(([a], [b]) => a - b).map(([, entry]) => entry));
    const texts = new Set(all.map((entry) => entry.split(":")[2]));
    expect(fenced.filter((text) => texts.has(text))).toEqual([]);
    const terms = all.map((entry) => Number(entry.split(":")[1]));
    expect(terms).toEqual([...terms].sort((a, b) => a - b));
  });

  test(`${name}: a lease has one holder, by the engine's clock`, async () => {
    const cluster = clusterName();
    const [a, b] = [await led(cluster), await opened(cluster)];
    // The clock of this process is an hour and more ahead; the lease of an hour still runs.
    setSystemTime(Date.now() + 2 * longMs);
    try {
      const leader: Leader = { term: 1, instance: "a", address: "http://a", isLive: true };
      expect(await b.leader()).toEqual(leader);
      expect(await b.takeLease({ instance: "b", address: "http://b", ms: longMs })).toBeNull();
    } finally {
      setSystemTime();
    }
    expect(await a.takeLease({ instance: "a", address: "http://a2", ms: longMs })).toBe(2);
    expect((await b.leader())?.address).toBe("http://a2");
    expect(await a.renewLease(2, 1)).toBe(true);
    await leaseEnd(b);
    expect(await b.leader()).toEqual({ term: 2, instance: "a", address: "http://a2", isLive: false });
    // A lease that ran out lives again while no other instance has taken the lease.
    expect(await a.renewLease(2, longMs)).toBe(true);
    expect(await b.takeLease({ instance: "b", address: "http://b", ms: longMs })).toBeNull();
    await a.releaseLease(2);
    expect(await a.leader()).toEqual({ term: 2, instance: "a", address: "http://a2", isLive: false });
    expect(await b.takeLease({ instance: "b", address: "http://b", ms: longMs })).toBe(3);
    expect(await a.renewLease(2, longMs)).toBe(false);
    expect(await a.takeLease({ instance: "a", address: "http://a", ms: longMs })).toBeNull();
    expect(await a.leader()).toEqual({ term: 3, instance: "b", address: "http://b", isLive: true });
  });

  test(`${name}: one of many takes a free lease`, async () => {
    const cluster = clusterName();
    const journals = await Promise.all(Array.from({ length: 4 }, () => opened(cluster)));
    const terms = await Promise.all(
      journals.map((journal, i) => journal.takeLease({ instance: `i${i}`, address: "", ms: longMs })),
    );
    expect(terms.toSorted()).toEqual([1, null, null, null]);
  });

  test(`${name}: a name belongs to one living run`, async () => {
    const journal = await opened();
    const me = { name: "a", address: "http://a", version: "1.0.0", position: 7, run: "first", ms: longMs };
    expect(await journal.register(me)).toBe(true);
    expect(await journal.register({ ...me, position: 8 })).toBe(true);
    expect(await journal.register({ ...me, run: "second", position: 1 })).toBe(false);
    const row: InstanceRow = {
      name: "a",
      address: "http://a",
      version: "1.0.0",
      position: 8,
      run: "first",
      isLive: true,
    };
    expect(await journal.instances()).toEqual([row]);
    expect(await journal.register({ ...me, name: "b", run: "other" })).toBe(true);
    await journal.unregister("a", "second");
    expect((await journal.instances()).map(({ name }) => name)).toEqual(["a", "b"]);
    expect(await journal.register({ ...me, ms: 1 })).toBe(true);
    while ((await journal.instances())[0]?.isLive === true) await Bun.sleep(1);
    expect(await journal.register({ ...me, run: "second", version: "2.0.0" })).toBe(true);
    await journal.unregister("b", "other");
    expect(await journal.instances()).toEqual([{ ...row, position: 7, run: "second", version: "2.0.0" }]);
  });

  test(`${name}: snapshots, newest first`, async () => {
    const journal = await opened();
    const huge: SnapshotRow = {
      position: Number.MAX_SAFE_INTEGER,
      name: "huge",
      bytes: Number.MAX_SAFE_INTEGER,
      madeAt: 1,
    };
    const small = { position: 5, name: "small", bytes: 100, madeAt: 1_790_000_000_000 };
    for (const snapshot of [small, huge, { ...small, name: "again" }]) await journal.addSnapshot(snapshot);
    expect(await journal.snapshots()).toEqual([huge, { ...small, name: "again" }]);
    await journal.removeSnapshot(huge.position);
    await journal.removeSnapshot(6);
    expect(await journal.snapshots()).toEqual([{ ...small, name: "again" }]);
  });

  test(`${name}: a trim leaves a gap, and positions go on`, async () => {
    const journal = await led();
    await fill(journal, 1_202);
    await journal.trim(1_200);
    expect(await journal.extent()).toEqual({ first: 1_201, last: 1_202, bytes: 10, term: 1 });
    await expect(journal.read(0, 1_000)).rejects.toThrow(JournalGap);
    await expect(journal.read(1_199, 1_000)).rejects.toThrow(JournalGap);
    expect(shown(await journal.read(1_200, 1_000))).toEqual(["1201:1:e1201", "1202:1:e1202"]);
    await journal.trim(3);
    expect((await journal.extent()).first).toBe(1_201);
    // A trim beyond the end removes all entries, and skips no position.
    await journal.trim(5_000);
    expect(await journal.extent()).toEqual({ first: 1_203, last: 1_202, bytes: 0, term: 1 });
    await expect(journal.read(1_201, 1_000)).rejects.toThrow(JournalGap);
    expect(await journal.read(1_202, 1_000)).toEqual([]);
    await expect(journal.append({ position: 1_204, term: 1, body: bodyOf("gap") })).rejects.toThrow("does not follow");
    await expect(journal.append({ position: 5_001, term: 1, body: bodyOf("gap") })).rejects.toThrow("does not follow");
    await expect(journal.append({ position: 1_202, term: 1, body: bodyOf("again") })).rejects.toThrow(
      "does not follow",
    );
    await fill(journal, 2);
    expect(shown(await readAll(journal, 1_202))).toEqual(["1203:1:e1203", "1204:1:e1204"]);
  });

  test(`${name}: entries of a megabyte come back whole, at least one a page`, async () => {
    const journal = await led();
    const bodies = Array.from({ length: 4 }, () => {
      const body = new Uint8Array(1_048_576);
      for (let at = 0; at < body.length; at += 65_536) crypto.getRandomValues(body.subarray(at, at + 65_536));
      return body;
    });
    for (const [i, body] of bodies.entries())
      expect(await journal.append({ position: i + 1, term: 1, body })).toBe("appended");
    expect(await journal.append({ position: 5, term: 1, body: new Uint8Array() })).toBe("appended");
    expect((await journal.extent()).bytes).toBe(4 * 1_048_576);
    expect(await journal.read(0, 1)).toHaveLength(1);
    expect(await journal.read(0, 1_048_576)).toHaveLength(1);
    expect(await journal.read(0, 1_048_577)).toHaveLength(2);
    const all = await readAll(journal, 0, 2_000_000);
    expect(all.map(({ body }) => Bun.hash(body))).toEqual([...bodies, new Uint8Array()].map((body) => Bun.hash(body)));
  });

  test(`${name}: ten thousand entries, read in pages`, async () => {
    const journal = await led();
    for (let i = 0; i < 10; i += 1) await fill(journal, 1_000);
    for (const maxBytes of [2_000, 10_000_000]) {
      const all = await readAll(journal, 0, maxBytes);
      expect(all).toHaveLength(10_000);
      for (const [i, entry] of all.entries()) expect(`${entry.position}`).toBe(`${i + 1}`);
      expect(new TextDecoder().decode(all.at(-1)?.body)).toBe("e10000");
    }
    const page = await journal.read(0, 2_000);
    expect(page.length).toBeLessThan(1_000);
    expect(page.length).toBeGreaterThan(300);
  });

  test(`${name}: a closed journal is away`, async () => {
    const journal = await led();
    await journal.close();
    await journal.close();
    await expect(journal.append({ position: 1, term: 1, body: bodyOf("closed") })).rejects.toThrow(JournalAway);
    await expect(journal.read(0, 1)).rejects.toThrow(JournalAway);
  });
}
