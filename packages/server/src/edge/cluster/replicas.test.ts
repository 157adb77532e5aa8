/** Replicas as the leader knows them: answers to their questions, and the commits that wait for them. */
import { expect, test } from "bun:test";
import { nextTurn } from "../../base/kernel/index.ts";
import { type ReplicaQuestion, Replicas } from "./replicas.ts";

const open = new AbortController().signal;

function question(address: string, position: number): ReplicaQuestion {
  return { address, position, isAway: false, isLeaving: false, hasViewers: false };
}

function replicasAt(
  position: number,
  { mayServe = true, newest = position as number | null, earlier = [] as readonly string[] } = {},
): Replicas {
  return new Replicas({ mayServe: () => mayServe, newest: () => newest, position, earlier });
}

/** Whether a promise resolves within some turns of the event loop. */
async function isSoon(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  void promise.then(() => {
    isOver = true;
  });
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  return isOver;
}

const ended = { kind: "sessions.changed", data: { sessionId: "ses_1", role: null } };

test("a question is answered by a newer commit, and not by the question of another replica", async () => {
  const replicas = replicasAt(5);
  const first = replicas.answer(question("a", 5), open);
  const second = replicas.answer(question("b", 5), open);
  expect(await isSoon(Promise.race([first, second]))).toBe(false);
  replicas.tell({ position: 6, notes: [], isMigration: false });
  expect(await first).toMatchObject({ position: 6, narrowed: 5 });
  expect(await second).toMatchObject({ position: 6, narrowed: 5 });
  expect(await replicas.answer(question("a", 4), open)).toMatchObject({ position: 6 });
});

test("a commit that ends a session waits for each replica that may serve, and another commit waits for no replica", async () => {
  const replicas = replicasAt(5);
  const { ms } = await replicas.answer(question("a", 4), open);
  expect(ms).toBeGreaterThan(0);
  expect(replicas.tell({ position: 6, notes: [{ kind: "records.changed", data: {} }], isMigration: false })).toBeNull();
  const narrowed = replicas.tell({ position: 7, notes: [ended], isMigration: false });
  if (narrowed === null) throw new Error("The commit waits for no replica");
  expect(await isSoon(narrowed)).toBe(false);
  expect(await replicas.answer(question("a", 6), open)).toMatchObject({ position: 7, narrowed: 7 });
  expect(await isSoon(narrowed)).toBe(false);
  void replicas.answer(question("a", 7), open);
  await narrowed;
});

test("a replica that leaves, or that has no right to serve, holds up no commit", async () => {
  const leaving = replicasAt(5);
  await leaving.answer(question("a", 4), open);
  const waiting = leaving.tell({ position: 6, notes: [ended], isMigration: false });
  if (waiting === null) throw new Error("The commit waits for no replica");
  expect(await isSoon(waiting)).toBe(false);
  await leaving.answer({ ...question("a", 4), isLeaving: true }, open);
  await waiting;

  const powerless = replicasAt(5, { mayServe: false });
  expect(await powerless.answer(question("a", 4), open)).toMatchObject({ ms: 0 });
  await powerless.tell({ position: 6, notes: [ended], isMigration: false });
});

test("a commit of a new leader waits for an instance that may serve by a right of the leader before", async () => {
  const replicas = replicasAt(5, { earlier: ["a"] });
  const waiting = replicas.tell({ position: 6, notes: [ended], isMigration: false });
  if (waiting === null) throw new Error("The commit waits for no instance");
  expect(await isSoon(waiting)).toBe(false);
  void replicas.answer(question("a", 6), open);
  await waiting;
});

test("a leader knows that the engine is away for all while each other instance says so, and not without other instances", async () => {
  const alone = replicasAt(5);
  expect(alone.areAllAway).toBe(false);
  const away = (address: string): ReplicaQuestion => ({ ...question(address, 4), isAway: true });
  alone.keep([
    { address: "a", isLive: true },
    { address: "b", isLive: false },
  ]);
  await alone.answer(away("a"), open);
  // The instance `b` has ended, and may start again and lead.
  expect(alone.areAllAway).toBe(false);
  await alone.answer(away("b"), open);
  expect(alone.areAllAway).toBe(true);
  await alone.answer(question("b", 4), open);
  expect(alone.areAllAway).toBe(false);
  await alone.answer(away("b"), open);
  await alone.answer({ ...away("b"), isLeaving: true }, open);
  expect(alone.areAllAway).toBe(false);
});

test("a write with a response is reported once to each replica, and at once to a replica with viewers", async () => {
  const replicas = replicasAt(5);
  const viewing = { ...question("viewing", 5), hasViewers: true };
  const other = replicas.answer(question("other", 5), open);
  replicas.wrote("usr_1", 7);
  expect(await isSoon(other)).toBe(false);
  const waiting = replicas.answer(viewing, open);
  expect(await isSoon(waiting)).toBe(false);
  replicas.wrote("usr_1", 8);
  replicas.wrote("usr_2", 9);
  const writes = [
    ["usr_1", 8],
    ["usr_2", 9],
  ];
  expect((await waiting).wrote.map(([caller, seq]) => [caller, seq])).toEqual(writes);
  expect((await other).wrote.map(([caller, seq]) => [caller, seq])).toEqual(writes);
  // A replica that went before the answer has heard of no write.
  replicas.wrote("usr_3", 10);
  const gone = new AbortController();
  gone.abort();
  expect((await replicas.answer(viewing, gone.signal)).wrote).toEqual([]);
  expect((await replicas.answer(viewing, open)).wrote).toEqual([["usr_3", 10]]);
  const next = replicas.answer(viewing, open);
  expect(await isSoon(next)).toBe(false);
  replicas.tell({ position: 6, notes: [], isMigration: false });
  expect((await next).wrote).toEqual([]);
});

test("an answer reports whether another instance may have a later commit", async () => {
  expect(await replicasAt(5).answer(question("a", 4), open)).toMatchObject({ position: 5, isNewest: true });
  for (const newest of [6, null]) {
    const behind = replicasAt(5, { newest });
    expect(await behind.answer(question("a", 4), open)).toMatchObject({ position: 5, isNewest: false });
  }
});

test("a wait for a commit of a replica ends when the replica has the commit, or after the time", async () => {
  const replicas = replicasAt(5);
  expect(await replicas.has("a", 5, 1)).toBe(false);
  const waiting = replicas.has("a", 5, 60_000);
  void replicas.answer(question("b", 5), open);
  void replicas.answer(question("a", 4), open);
  expect(await isSoon(waiting)).toBe(false);
  void replicas.answer(question("a", 5), open);
  expect(await waiting).toBe(true);
});

test("an instance that was forgotten keeps no leader from reads without the engine", async () => {
  const replicas = replicasAt(5);
  replicas.keep([
    { address: "a", isLive: true },
    { address: "b", isLive: false },
  ]);
  void replicas.answer({ ...question("a", 5), isAway: true }, open);
  await nextTurn();
  expect(replicas.areAllAway).toBe(false);
  expect([replicas.forget("b"), replicas.forget("b")]).toEqual([true, false]);
  expect(replicas.areAllAway).toBe(true);
});
