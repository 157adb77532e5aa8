/** The chain of a journal: the last position that two histories share. */
import { expect, test } from "bun:test";
import { commonPosition, type History, newEntryId, newRole, roleOf } from "./index.ts";

/** A history with roles of one letter, from their first positions on. */
function history(end: number, ...roles: readonly [role: string, from: number][]): History {
  const id = (role: string, position: number): string => `${role.repeat(12)}${position}`;
  return {
    roles: roles.map(([role, position]) => ({ position, id: id(role, position) })),
    end: { position: end, id: id(roles.at(-1)?.[0] ?? "-", end) },
  };
}

test("ids of entries differ, and begin with the role", () => {
  const role = newRole();
  const ids = Array.from({ length: 1_000 }, () => newEntryId(role));
  expect(new Set(ids).size).toBe(1_000);
  for (const id of ids) expect([roleOf(id), id.length]).toEqual([role, 24]);
  expect(newRole()).not.toBe(role);
  expect(roleOf(null)).toBeNull();
});

for (const [name, one, other, common] of [
  ["equal histories", history(9, ["a", 1]), history(9, ["a", 1]), 9],
  ["a history that went back", history(28, ["a", 1], ["b", 20]), history(23, ["a", 1], ["b", 20]), 23],
  ["a history that went back before a role", history(28, ["a", 1], ["b", 20]), history(12, ["a", 1]), 12],
  ["another role from a position on", history(28, ["a", 1], ["b", 20]), history(40, ["a", 1], ["c", 15]), 14],
  ["two roles from one position on", history(28, ["a", 1], ["b", 20]), history(40, ["a", 1], ["c", 20]), 19],
  [
    "roles that are over at different positions",
    history(30, ["a", 1], ["b", 30]),
    history(40, ["a", 1], ["c", 35]),
    29,
  ],
  ["a history that begins later", history(30, ["b", 10]), history(40, ["a", 1], ["b", 10], ["c", 25]), 24],
  ["histories without a common role", history(30, ["a", 1]), history(30, ["b", 1]), null],
  ["a history without ids", { roles: [], end: { position: 7, id: null } }, history(30, ["b", 8]), null],
] as const)
  test(`the last common position: ${name}`, () => {
    expect(commonPosition(one, other)).toBe(common);
    expect(commonPosition(other, one)).toBe(common);
  });
