/** The coalesced task: once for all requests of a turn, and no request is lost. */
import { expect, test } from "bun:test";
import { nextTurn } from "../kernel/index.ts";
import { CoalescedTask } from "./coalesced-task.ts";

function watched() {
  const gates: (() => void)[] = [];
  let ended = 0;
  const task = new CoalescedTask({
    run: () => new Promise<void>((resolve) => gates.push(resolve)),
    after: () => {
      ended += 1;
      expect(task.isRunning).toBe(false);
    },
  });
  const finish = async (): Promise<void> => {
    gates.at(-1)?.();
    await nextTurn();
    await nextTurn();
  };
  return { task, gates, finish, ended: () => ended };
}

test("requests of one turn are one run", async () => {
  const { task, gates, finish, ended } = watched();
  for (let i = 0; i < 3; i++) task.request();
  expect([gates.length, task.isPending, task.isRunning]).toEqual([0, true, false]);
  await nextTurn();
  expect([gates.length, task.isRunning]).toEqual([1, true]);
  await finish();
  expect([gates.length, ended(), task.isPending]).toEqual([1, 1, false]);
});

test("a request that comes while it runs makes one more run", async () => {
  const { task, gates, finish, ended } = watched();
  task.request();
  await nextTurn();
  task.request();
  task.request();
  await nextTurn();
  expect(gates.length).toBe(1);
  await finish();
  expect([gates.length, task.isRunning]).toEqual([2, true]);
  await finish();
  expect([gates.length, ended(), task.isPending]).toEqual([2, 2, false]);
});
