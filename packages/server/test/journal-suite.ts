/** Conformance suite of journals; the test of each driver runs the suite. */
import { afterAll, expect, setSystemTime, test } from "bun:test";
import {
  beginning,
  ChainBroken,
  type ChainPlace,
  type Entry,
  type InstanceRow,
  type Journal,
  JournalAway,
  type JournalExtent,
  JournalGap,
  type Leader,
  type Lease,
  type SnapshotRow,
} from "../src/store/journal/index.ts";
import { isLong } from "./long.ts";
import { randomNumbers, randomSeed } from "./random.ts";

const empty: JournalExtent = { first: 0, last: 0, bytes: 0, term: 0, id: null };
/** A lease that does not run out during a test. */
const longMs = 3_600_000;

function bodyOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The place of an entry of `entryOf`. */
export function placeOf(role: string, position: number): ChainPlace {
  return position === 0 ? beginning : { position, id: `${role}e${position}` };
}

/** An entry of a role, behind the entry of the role before. The id tells the text. */
export function entryOf(
  role: string,
  position: number,
  { text = `e${position}`, term = 1, before = placeOf(role, position - 1).id }: Partial<Entry> & { text?: string } = {},
): Entry {
  return { position, term, body: bodyOf(text), id: `${role}${text}`, before };
}

/** Takes the lease. @throws Error when another instance has the lease. */
export async function leaseOf(journal: Journal, me: { instance: string; address: string; ms: number }): Promise<Lease> {
  const lease = await journal.takeLease(me);
  if (lease === null) throw new Error("Another instance has the lease");
  return lease;
}

/** Entries as `position:term:text`. */
export function shown(entries: readonly Entry[]): string[] {
  return entries.map(({ position, term, body }) => `${position}:${term}:${new TextDecoder().decode(body)}`);
}

/** All entries after a place, in pages. */
export async function readAll(journal: Journal, after = beginning, maxBytes = 1_000_000): Promise<Entry[]> {
  const all: Entry[] = [];
  let page: readonly Entry[];
  do {
    page = await journal.read(all.at(-1) ?? after, maxBytes);
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
  async function led(cluster = clusterName()): Promise<{ journal: Journal; lease: Lease; role: string }> {
    const journal = await opened(cluster);
    const lease = await leaseOf(journal, { instance: "a", address: "http://a", ms: longMs });
    expect(lease.term).toBe(1);
    return { journal, lease, role: lease.role };
  }

  async function fill({ journal, role }: { journal: Journal; role: string }, count: number, term = 1): Promise<void> {
    const { last, id } = await journal.extent();
    const entries = Array.from({ length: count }, (_, i) =>
      entryOf(role, last + 1 + i, i === 0 ? { term, before: id } : { term }),
    );
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
    expect(await journal.read(beginning, 1_000)).toEqual([]);
    expect(await journal.leader()).toBeNull();
    expect(await journal.instances()).toEqual([]);
    expect(await journal.snapshots()).toEqual([]);
    await journal.trim(10);
    expect(await journal.extent()).toEqual(empty);
  });

  test(`${name}: entries stand in order, and clusters do not see each other`, async () => {
    const one = await led();
    const other = await led();
    const { journal, role } = one;
    await fill(other, 1);
    await fill(one, 3);
    expect(shown(await journal.read(beginning, 1_000))).toEqual(["1:1:e1", "2:1:e2", "3:1:e3"]);
    expect(shown(await journal.read(placeOf(role, 2), 1_000))).toEqual(["3:1:e3"]);
    expect(await journal.read(placeOf(role, 3), 1_000)).toEqual([]);
    expect(await journal.extent()).toEqual({ first: 1, last: 3, bytes: 6, term: 1, id: placeOf(role, 3).id });
    expect(shown(await other.journal.read(beginning, 1_000))).toEqual(["1:1:e1"]);
  });

  test(`${name}: an entry that does not follow, or differs from the entry of the position, is refused`, async () => {
    const own = await led();
    const { journal, role } = own;
    const refusal = async (...wrong: Parameters<typeof entryOf>): Promise<string> => {
      const thrown: unknown = await journal.append(entryOf(...wrong)).catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(ChainBroken);
      return String(thrown);
    };
    expect(await refusal(role, 2, { text: "early" })).toContain("does not follow");
    await fill(own, 2);
    expect(await refusal(role, 4, { text: "gap" })).toContain("does not follow");
    expect(await refusal(role, 0, { text: "zero" })).toContain("does not follow");
    expect(await refusal(role, 2, { text: "other" })).toContain("holds another entry");
    expect(await refusal(role, 3, { before: `${role}other` })).toContain("does not follow");
    expect(await refusal(role, 3, { before: null })).toContain("does not follow");
    expect(await journal.append(entryOf(role, 2))).toBe("appended");
    expect(shown(await readAll(journal))).toEqual(["1:1:e1", "2:1:e2"]);
  });

  test(`${name}: terms that are over, and terms that never were, are fenced`, async () => {
    const journal = await opened();
    const nobody = "x".repeat(12);
    expect(await journal.append(entryOf(nobody, 1, { text: "nobody" }))).toBe("fenced");
    const lease = await leaseOf(journal, { instance: "a", address: "", ms: longMs });
    const { term, role } = lease;
    expect(term).toBe(1);
    await fill({ journal, role }, 1);
    expect(await journal.nextTerm(lease, longMs)).toEqual({ term: 2, role });
    expect(await journal.append(entryOf(role, 2, { text: "late" }))).toBe("fenced");
    expect(await journal.append(entryOf(role, 2, { text: "early", term: 3 }))).toBe("fenced");
    expect(await journal.append(entryOf(role, 1, { term: 2 }))).toBe("fenced");
    expect(await journal.nextTerm(lease, longMs)).toBeNull();
    expect(await journal.renewLease(lease, longMs)).toBe(false);
    await journal.releaseLease(lease);
    // The number of the term alone is not the lease: a journal that went back gives a term twice.
    const other = { term: 2, role: nobody };
    expect(await journal.append(entryOf(nobody, 2, { term: 2, before: placeOf(role, 1).id }))).toBe("fenced");
    expect(await journal.renewLease(other, longMs)).toBe(false);
    expect(await journal.nextTerm(other, longMs)).toBeNull();
    await journal.releaseLease(other);
    expect((await journal.leader())?.isLive).toBe(true);
    await fill({ journal, role }, 1, 2);
    // The entry of the former term stands, although the term is over: the entry was appended.
    expect(await journal.append(entryOf(role, 1))).toBe("appended");
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
        const lease = await journal.takeLease({ instance, address: "", ms: 1 });
        if (lease === null) continue;
        const { term, role } = lease;
        const { last, id } = await journal.extent();
        let before = id;
        for (let i = 1; i <= 1 + Math.floor(random() * 8); i += 1) {
          const text = `${instance}${round}.${i}`;
          const answer = await journal.append(entryOf(role, last + i, { text, term, before }));
          before = `${role}${text}`;
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

  test(`${name}: a lease has a single holder, by the engine's clock`, async () => {
    const cluster = clusterName();
    const { journal: a, lease: first } = await led(cluster);
    const b = await opened(cluster);
    // The clock of this process is an hour and more ahead; the lease of an hour still runs.
    setSystemTime(Date.now() + 2 * longMs);
    try {
      const leader: Leader = { term: 1, instance: "a", address: "http://a", isLive: true };
      expect(await b.leader()).toEqual(leader);
      expect(await b.takeLease({ instance: "b", address: "http://b", ms: longMs })).toBeNull();
    } finally {
      setSystemTime();
    }
    const second = await leaseOf(a, { instance: "a", address: "http://a2", ms: longMs });
    expect(second.term).toBe(2);
    expect(second.role).not.toBe(first.role);
    expect((await b.leader())?.address).toBe("http://a2");
    expect(await a.renewLease(first, 1)).toBe(false);
    expect(await a.renewLease(second, 1)).toBe(true);
    await leaseEnd(b);
    expect(await b.leader()).toEqual({ term: 2, instance: "a", address: "http://a2", isLive: false });
    // A lease that ran out lives again while no other instance has taken the lease.
    expect(await a.renewLease(second, longMs)).toBe(true);
    expect(await b.takeLease({ instance: "b", address: "http://b", ms: longMs })).toBeNull();
    await a.releaseLease(second);
    expect(await a.leader()).toEqual({ term: 2, instance: "a", address: "http://a2", isLive: false });
    expect((await b.takeLease({ instance: "b", address: "http://b", ms: longMs }))?.term).toBe(3);
    expect(await a.renewLease(second, longMs)).toBe(false);
    expect(await a.takeLease({ instance: "a", address: "http://a", ms: longMs })).toBeNull();
    expect(await a.leader()).toEqual({ term: 3, instance: "b", address: "http://b", isLive: true });
  });

  test(`${name}: a lease that is passed on is the other instance's alone, and no append of the former leader happens`, async () => {
    const cluster = clusterName();
    const { journal: a, lease } = await led(cluster);
    const b = await opened(cluster);
    expect(await a.append(entryOf(lease.role, 1))).toBe("appended");
    expect(await a.passLease({ ...lease, role: "another" }, { instance: "b", address: "http://b", ms: longMs })).toBe(
      false,
    );
    expect(await a.passLease(lease, { instance: "b", address: "http://b", ms: longMs })).toBe(true);
    expect(await a.leader()).toEqual({ term: lease.term + 1, instance: "b", address: "http://b", isLive: true });
    expect(await a.append(entryOf(lease.role, 2))).toBe("fenced");
    expect(await a.renewLease(lease, longMs)).toBe(false);
    expect(await a.passLease(lease, { instance: "c", address: "http://c", ms: longMs })).toBe(false);
    for (const instance of ["a", "c"])
      expect(await a.takeLease({ instance, address: "http://c", ms: longMs })).toBeNull();
    const next = await leaseOf(b, { instance: "b", address: "http://b", ms: longMs });
    expect(next.term).toBe(lease.term + 2);
    const { term } = next;
    const before = placeOf(lease.role, 1).id;
    expect(await b.append(entryOf(next.role, 2, { term, before }))).toBe("appended");
  });

  test(`${name}: one of many takes a free lease`, async () => {
    const cluster = clusterName();
    const journals = await Promise.all(Array.from({ length: 4 }, () => opened(cluster)));
    const terms = await Promise.all(
      journals.map((journal, i) => journal.takeLease({ instance: `i${i}`, address: "", ms: longMs })),
    );
    expect(terms.map((each) => each?.term ?? null).toSorted()).toEqual([1, null, null, null]);
  });

  test(`${name}: a name belongs to a single living run`, async () => {
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
      problem: null,
      files: null,
      isLive: true,
    };
    expect(await journal.instances()).toEqual([row]);
    expect(await journal.register({ ...me, name: "b", run: "other" })).toBe(true);
    await journal.unregister("a", "second");
    expect((await journal.instances()).map(({ name }) => name)).toEqual(["a", "b"]);
    expect(await journal.register({ ...me, ms: 1 })).toBe(true);
    while ((await journal.instances())[0]?.isLive === true) await Bun.sleep(1);
    expect(await journal.register({ ...me, run: "second", version: "2.0.0", problem: "lost", files: "f" })).toBe(true);
    await journal.unregister("b", "other");
    // An instance that lives is not removed.
    expect([await journal.removeInstance("a"), await journal.removeInstance("b")]).toEqual([false, false]);
    const last = { ...row, position: 7, run: "second", version: "2.0.0", problem: "lost", files: "f" };
    expect(await journal.instances()).toEqual([last]);
    expect(await journal.register({ ...me, run: "second", ms: 1 })).toBe(true);
    while ((await journal.instances())[0]?.isLive === true) await Bun.sleep(1);
    expect(await journal.removeInstance("a")).toBe(true);
    expect(await journal.instances()).toEqual([]);
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
    const own = await led();
    const { journal, role } = own;
    // More than a trim removes at a time.
    await fill(own, 602);
    await journal.trim(600);
    expect(await journal.extent()).toEqual({ first: 601, last: 602, bytes: 8, term: 1, id: placeOf(role, 602).id });
    await expect(journal.read(placeOf(role, 0), 1_000)).rejects.toThrow(JournalGap);
    await expect(journal.read(placeOf(role, 599), 1_000)).rejects.toThrow(JournalGap);
    expect(shown(await journal.read(placeOf(role, 600), 1_000))).toEqual(["601:1:e601", "602:1:e602"]);
    await journal.trim(3);
    expect((await journal.extent()).first).toBe(601);
    // A trim beyond the end removes all entries, and skips no position.
    await journal.trim(5_000);
    expect(await journal.extent()).toEqual({ first: 603, last: 602, bytes: 0, term: 1, id: placeOf(role, 602).id });
    await expect(journal.read(placeOf(role, 601), 1_000)).rejects.toThrow(JournalGap);
    expect(await journal.read(placeOf(role, 602), 1_000)).toEqual([]);
    for (const [position, text] of [
      [604, "gap"],
      [5_001, "gap"],
      [602, "again"],
    ] as const)
      await expect(journal.append(entryOf(role, position, { text }))).rejects.toThrow("does not follow");
    await fill(own, 2);
    expect(shown(await readAll(journal, placeOf(role, 602)))).toEqual(["603:1:e603", "604:1:e604"]);
  });

  test(`${name}: entries of a megabyte are read back whole, at least one a page`, async () => {
    const { journal, role } = await led();
    const bodies = Array.from({ length: 4 }, () => {
      const body = new Uint8Array(1_048_576);
      for (let at = 0; at < body.length; at += 65_536) crypto.getRandomValues(body.subarray(at, at + 65_536));
      return body;
    });
    for (const [i, body] of bodies.entries())
      expect(await journal.append({ ...entryOf(role, i + 1), body })).toBe("appended");
    expect(await journal.append({ ...entryOf(role, 5), body: new Uint8Array() })).toBe("appended");
    expect((await journal.extent()).bytes).toBe(4 * 1_048_576);
    expect(await journal.read(beginning, 1)).toHaveLength(1);
    expect(await journal.read(beginning, 1_048_576)).toHaveLength(1);
    expect(await journal.read(beginning, 1_048_577)).toHaveLength(2);
    const all = await readAll(journal, beginning, 2_000_000);
    expect(all.map(({ body }) => Bun.hash(body))).toEqual([...bodies, new Uint8Array()].map((body) => Bun.hash(body)));
  });

  test(`${name}: many entries, read in pages`, async () => {
    const own = await led();
    const { journal } = own;
    const [fills, count] = isLong ? [10, 1_000] : [1, 500];
    for (let i = 0; i < fills; i += 1) await fill(own, count);
    for (const maxBytes of [1_000, 10_000_000]) {
      const all = await readAll(journal, beginning, maxBytes);
      expect(all).toHaveLength(fills * count);
      for (const [i, entry] of all.entries()) expect(`${entry.position}`).toBe(`${i + 1}`);
      expect(new TextDecoder().decode(all.at(-1)?.body)).toBe(`e${fills * count}`);
    }
    const page = await journal.read(beginning, 1_000);
    expect(page.length).toBeLessThan(500);
    expect(page.length).toBeGreaterThan(150);
  });

  test(`${name}: a closed journal is away`, async () => {
    const { journal, role } = await led();
    await journal.close();
    await journal.close();
    await expect(journal.append(entryOf(role, 1, { text: "closed" }))).rejects.toThrow(JournalAway);
    await expect(journal.read(beginning, 1)).rejects.toThrow(JournalAway);
  });

  test(`${name}: a position that the journal does not have is refused, by reads and by checks`, async () => {
    const own = await led();
    const { journal, role } = own;
    await fill(own, 3);
    const broken = async (place: ChainPlace): Promise<void> => {
      await expect(journal.check(place)).rejects.toThrow(ChainBroken);
      await expect(journal.read(place, 1_000)).rejects.toThrow(ChainBroken);
    };
    // The journal went back; the journal has another entry there; the entry is of an earlier version.
    for (const id of [placeOf(role, 4).id, null]) await broken({ position: 4, id });
    await broken({ position: 2, id: placeOf(role, 3).id });
    expect(await journal.check(placeOf(role, 3))).toBe(placeOf(role, 3).id);
    expect(await journal.check({ position: 2, id: null })).toBe(placeOf(role, 2).id);
    expect(await journal.check(beginning)).toBeNull();

    // Behind the trimmed entries, the roles decide.
    const next = await leaseOf(journal, { instance: "a", address: "", ms: longMs });
    await fill({ journal, role: next.role }, 2, 2);
    await journal.trim(5);
    expect(await journal.check(placeOf(role, 2))).toBe(placeOf(role, 2).id);
    await expect(journal.read(placeOf(role, 2), 1_000)).rejects.toThrow(JournalGap);
    await broken({ position: 2, id: `${"x".repeat(12)}e2` });
    // The role was over by then, and the position holds an entry of the next role.
    await broken(placeOf(role, 4));
    await broken(placeOf(role, 5));
    expect(await journal.check(placeOf(next.role, 5))).toBe(placeOf(next.role, 5).id);
    const { roles, end } = await journal.history();
    expect([roles, end]).toEqual([[placeOf(role, 1), placeOf(next.role, 4)], placeOf(next.role, 5)]);
  });

  test(`${name}: a journal begins anew behind a history`, async () => {
    const own = await led();
    const { journal, role } = own;
    await fill(own, 3);
    for (const position of [1, 2]) await journal.addSnapshot({ position, name: `${position}`, bytes: 1, madeAt: 1 });
    const other = "o".repeat(12);
    const history = { roles: [placeOf(role, 1), placeOf(other, 2)], end: placeOf(other, 2) };
    await journal.begin(history);
    expect(await journal.history()).toEqual(history);
    expect((await journal.snapshots()).map(({ position }) => position)).toEqual([2]);
    expect(await journal.extent()).toMatchObject({ first: 3, last: 2, bytes: 0, id: placeOf(other, 2).id });
    await expect(journal.check(placeOf(role, 3))).rejects.toThrow(ChainBroken);
    await expect(journal.check(placeOf(role, 2))).rejects.toThrow(ChainBroken);
    await expect(journal.append(entryOf(role, 3, { before: placeOf(role, 2).id }))).rejects.toThrow(ChainBroken);
    expect(await journal.append(entryOf(role, 3, { before: placeOf(other, 2).id }))).toBe("appended");
  });

  test(`${name}: the fingerprints of project folders stand in order, also a fingerprint that is in force again`, async () => {
    const journal = await opened();
    expect(await journal.files()).toEqual([]);
    for (const files of ["one", "one", "two", "two", "one"]) await journal.addFiles(files);
    expect(await journal.files()).toEqual(["one", "two", "one"]);
  });
}
