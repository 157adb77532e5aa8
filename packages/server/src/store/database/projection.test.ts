/** Joined notes: fewer notes of a commit, with the same state, also in a projection that gets the notes as JSON. */
import { expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { type Note, noteKind, Projection } from "./index.ts";

interface Grown {
  readonly name: string;
  readonly by: number;
}
const grown = noteKind<Grown>("test.grown", (earlier, later) =>
  earlier.name === later.name ? { name: earlier.name, by: earlier.by + later.by } : null,
);
const ended = noteKind<number>("test.ended", (_earlier, later) => later);
/** The order of this kind and of the others matters. */
const cleared = noteKind<string>("test.cleared");

function open(): { projection: Projection; state: object } {
  const projection = new Projection();
  const state = { sums: {} as Record<string, number>, end: 0 };
  projection.on(grown, ({ name, by }) => {
    state.sums[name] = (state.sums[name] ?? 0) + by;
  });
  projection.on(ended, (end) => {
    state.end = end;
  });
  projection.on(cleared, (name) => {
    delete state.sums[name];
    state.end = -state.end;
  });
  return { projection, state };
}

test("joined notes give the same state as all notes, also as JSON", () => {
  const random = randomNumbers(randomSeed("joined notes"));
  const [all, joined] = [open(), open()];
  for (let commit = 0; commit < 300; commit++) {
    const notes: Note[] = [];
    for (let n = Math.floor(random() * 40); n > 0; n--) {
      const name = random() < 0.8 ? "a" : "b";
      if (random() < 0.05) notes.push(cleared.of(name));
      else if (random() < 0.5) notes.push(grown.of({ name, by: n }));
      else notes.push(ended.of(commit * 100 - n));
    }
    const before = JSON.stringify(notes);
    const fewer = joined.projection.joined(notes);
    expect(JSON.stringify(notes)).toBe(before);
    expect(fewer.length).toBeLessThanOrEqual(notes.length);
    all.projection.apply(notes);
    joined.projection.apply(JSON.parse(JSON.stringify(fewer)) as Note[]);
    expect(joined.state).toEqual(all.state);
  }
});

test("a kind that does not join keeps the notes before apart from the notes after", () => {
  const { projection } = open();
  const one = grown.of({ name: "a", by: 1 });
  expect(projection.joined([one, ended.of(1), one, ended.of(2), one])).toEqual([
    grown.of({ name: "a", by: 3 }),
    ended.of(2),
  ]);
  const apart = [one, cleared.of("a"), one];
  expect(projection.joined(apart)).toEqual(apart);
});
