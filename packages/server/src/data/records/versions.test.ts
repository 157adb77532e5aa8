/** Versions of lists over several processes: equal versions mean equal records, also in a process that started later. */
import { expect, test } from "bun:test";
import { migrate, openApi } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { type Note, Projection } from "../../store/database/index.ts";
import type { Decision } from "../permissions/index.ts";
import { recordsChanged, Versions } from "./record-effects.ts";

test("a process that started later gives the version of the first for the same records, and of no other records", async () => {
  const random = randomNumbers(randomSeed("versions"));
  const api = await openApi({
    collections: [
      { name: "a", fields: [] },
      { name: "b", fields: [] },
    ].map(withField),
  });
  const { collections } = api.service;
  const users = ["u1", "u2", "u3"];
  const own = { access: "own" } as Decision;
  const all = { access: "all" } as Decision;
  const [first, second] = [new Projection(), new Projection()];
  const [leader, later] = [new Versions(first), new Versions(second)];
  let hasStarted = false;
  /** The content of each version that a process gave, by collection and caller. */
  const contents = new Map<string, string>();
  const counts: { [key: string]: number } = {};
  const look = (versions: Versions): string[] =>
    ["a", "b"].flatMap((name) =>
      [all, own].flatMap((decision) =>
        users.map((userId) => {
          const collection = collections.named(name);
          const caller = { userId, role: "authenticated", sessionId: "" } as const;
          const version = versions.of(new Map([[collection, decision]]), caller);
          const key = `${name} ${decision.access} ${decision === own ? userId : ""} ${version}`;
          const content = String(decision === own ? counts[`${name} ${userId}`] : counts[name]);
          expect(contents.getOrInsertComputed(key, () => content)).toBe(content);
          return version;
        }),
      ),
    );
  const apply = (note: Note): void => {
    first.apply([note]);
    if (hasStarted) second.apply([note]);
  };
  for (let step = 0; step < 400; step++) {
    const collection = random() < 0.5 ? "a" : "b";
    const owner = users[Math.floor(random() * users.length)] ?? null;
    for (const key of [collection, `${collection} ${owner}`]) counts[key] = (counts[key] ?? 0) + 1;
    apply(recordsChanged.of({ collection, owners: [owner], by: 1 }));
    if (step === 100) {
      hasStarted = true;
      later.startFrom(leader.state);
    }
    look(leader);
    if (hasStarted) look(later);
  }
  // Each collection and owner has changed since the start: both processes give the same versions.
  expect(look(later)).toEqual(look(leader));
  // Other definitions are other versions.
  const before = api.service.records.versions.of(new Map([[collections.named("a"), all]]), null);
  await migrate(api.service, { define: [], drop: ["b"] });
  expect(api.service.records.versions.of(new Map([[collections.named("a"), all]]), null)).not.toBe(before);
});

function withField(definition: { name: string }): object {
  return { ...definition, fields: [{ name: "t", type: "string" }] };
}

test("many changes of a commit are published as few notes, with each owner", async () => {
  const { projection } = (await openApi({})).service.database;
  const change = (n: number): Note => recordsChanged.of({ collection: "a", owners: [`u${n % 3}`], by: n % 2 });
  const joined = projection.joined(Array.from({ length: 300 }, (_, n) => change(n)));
  expect(joined).toEqual([recordsChanged.of({ collection: "a", owners: ["u0", "u1", "u2"], by: 150 })]);
  // A note with very many owners would take long to join.
  const wide = projection.joined(
    Array.from({ length: 300 }, (_, n) => recordsChanged.of({ collection: "a", owners: [`u${n}`], by: 1 })),
  );
  const lists = wide.map(({ data }) => (data as { owners: readonly string[] }).owners);
  expect(wide.length).toBeLessThan(10);
  for (const { length } of lists) expect(length).toBeLessThan(60);
  const owners = lists.flat();
  expect(new Set(owners).size).toBe(300);
});
