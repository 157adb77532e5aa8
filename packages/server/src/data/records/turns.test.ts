/** Tests of turns: the order among callers, the writes that pass a turn, and the end of turns. */
import { expect, test } from "bun:test";
import { nextTurn } from "../../base/kernel/index.ts";
import { ConflictTurns, type Turn } from "./turns.ts";

const of = (caller: string) => ({ owner: {}, caller });

test("a caller without turns of late goes before the waiting work of another caller", async () => {
  const turns = new ConflictTurns();
  const order: string[] = [];
  const work = async (caller: string, key = "posts"): Promise<void> => {
    const turn = await turns.take(key, of(caller));
    order.push(caller);
    await Bun.sleep(2);
    turn.release();
  };
  const first = await turns.take("posts", of("ann"));
  const asked = [...Array.from({ length: 30 }, () => work("ann")), work("ann", "posts/rec_1"), work("bob")];
  await Bun.sleep(2);
  first.release();
  await Promise.all(asked);
  expect(order[0]).toBe("bob");
  expect(order).toHaveLength(32);
});

test("a write of another caller passes a turn once; later writes and the writes of the same caller wait for the end of the turn", async () => {
  const turns = new ConflictTurns();
  const ended: string[] = [];
  const pass = (name: string, caller: string, keys: string[]): Promise<unknown> =>
    turns.pass(keys, of(caller)).then(() => ended.push(name));
  const turn = await turns.take("posts", of("ann"));
  for (const [name, caller, keys] of [
    ["passes", "bob", ["posts/rec_1"]],
    ["again", "bob", ["posts/rec_2"]],
    ["own", "ann", ["posts/"]],
    ["elsewhere", "bob", ["notes/rec_1"]],
  ] as const)
    void pass(name, caller, [...keys]);
  await nextTurn();
  expect(ended).toEqual(["passes", "elsewhere"]);
  turn.release();
  await nextTurn();
  expect(ended).toEqual(["passes", "elsewhere", "again", "own"]);
});

test("a turn is passed by eight callers, and holds no write off for longer than the guard", async () => {
  const turns = new ConflictTurns();
  const turn = await turns.take("posts/rec_1", of("ann"));
  let passed = 0;
  const all = Array.from({ length: 20 }, async (_, n) => {
    await turns.pass(["posts/rec_1"], of(`user ${n}`));
    passed += 1;
  });
  await nextTurn();
  expect(passed).toBe(8);
  // The turn lasts: the others go on after the guard.
  await Promise.all(all);
  expect(passed).toBe(20);
  turn.release();
});

test("the turn of a record waits for the turn of the collection, and ends when the wait is refused", async () => {
  const turns = new ConflictTurns();
  const whole = await turns.take("posts", of("bob"));
  const waiting = Array.from({ length: 2_048 }, () => turns.take("posts", of("ann")));
  const refused = of("ann");
  expect(await turns.take("posts/rec_1", refused).catch((error: Error) => error.message)).toContain("Too many");
  expect(turns.hasAny(refused.owner)).toBe(false);
  whole.release();
  for (const turn of waiting) (await turn).release();
  const turn: Turn = await turns.take("posts/rec_1", refused);
  expect(turns.isOf("posts/rec_1", refused.owner)).toBe(true);
  turn.release();
});
