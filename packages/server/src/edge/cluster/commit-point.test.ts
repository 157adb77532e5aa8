/** Journal commits: the newest position that the journal may have, before, during and after an append; the hold of a hand-over. */
import { expect, test } from "bun:test";
import { nextTurn } from "../../base/kernel/index.ts";
import type { UndecidedCommit } from "../../store/database/index.ts";
import { type Journal, JournalAway } from "../../store/journal/index.ts";
import { JournalCommits } from "./commit-point.ts";

/** The part of a commit that an append takes without a mirror. */
const commit = { entry: "{}", id: "an id", before: null } as UndecidedCommit;

/** Commits whose appends end as the test says. */
function openCommits(): { commits: JournalCommits; append: PromiseWithResolvers<"appended" | "fenced">[] } {
  const append: PromiseWithResolvers<"appended" | "fenced">[] = [];
  const journal: Pick<Journal, "append"> = {
    append: () => {
      const outcome = Promise.withResolvers<"appended" | "fenced">();
      append.push(outcome);
      return outcome.promise;
    },
  };
  const onContact = (): void => undefined;
  const commits = new JournalCommits({
    journal: journal as Journal,
    lease: { term: 1, role: "role" },
    onLost: onContact,
    onBroken: onContact,
    onContact,
  });
  return { commits, append };
}

test("the newest position is the position of the append that runs, and stays with the entry", async () => {
  const { commits, append } = openCommits();
  expect(commits.newest).toBe(0);
  const running = commits.append(8, commit, () => undefined);
  expect(commits.newest).toBe(8);
  append[0]?.resolve("appended");
  await running;
  expect(commits.newest).toBe(8);
});

test("an append that certainly did not happen takes its position back", async () => {
  const { commits, append } = openCommits();
  const first = commits.append(8, commit, () => undefined);
  append[0]?.resolve("appended");
  await first;
  const second = commits.append(9, commit, () => undefined);
  expect(commits.newest).toBe(9);
  append[1]?.reject(new JournalAway("The engine is away"));
  await expect(second).rejects.toThrow("nothing was changed");
  expect(commits.newest).toBe(8);
});

test("a hold waits for the append under way, and holds up the next; the next goes on, or is refused without the lease", async () => {
  const { commits, append } = openCommits();
  const first = commits.append(8, commit, () => undefined);
  const held = commits.hold(10_000);
  const second = commits.append(9, commit, () => undefined);
  await Bun.sleep(5);
  expect(append).toHaveLength(1);
  append[0]?.resolve("appended");
  await first;
  const release = await held;
  await expect(commits.hold(1)).rejects.toThrow("A hand-over is under way");
  expect([append.length, commits.newest]).toEqual([1, 8]);
  release();
  await nextTurn();
  expect(append).toHaveLength(2);
  append[1]?.resolve("appended");
  await second;

  const again = await commits.hold(10_000);
  const third = commits.append(10, commit, () => undefined);
  commits.lose();
  again();
  await expect(third).rejects.toThrow("Another instance leads now; nothing was changed");
  expect([append.length, commits.newest]).toEqual([2, 9]);
});

test("a hold that waits too long for an append holds up nothing", async () => {
  const { commits, append } = openCommits();
  const first = commits.append(8, commit, () => undefined);
  await expect(commits.hold(1)).rejects.toThrow("A commit waits for the journal for more than 1 ms");
  append[0]?.resolve("appended");
  await first;
  void commits.append(9, commit, () => undefined);
  await nextTurn();
  expect(append).toHaveLength(2);
});
