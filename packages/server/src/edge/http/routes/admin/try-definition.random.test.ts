/** Random definitions: the counts of a trial against the lists and rights after the save. */
import { expect, test } from "bun:test";
import type { Operation, RuleEffects } from "@socle/protocol";
import { isLong } from "../../../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../../../test/random.ts";
import { type Definition, on, opened } from "../../../../../test/trial-world.ts";
import { recordTableOf } from "../../../../data/records/index.ts";

/** A definition that is changed round by round. */
interface Shape {
  name: string;
  points: string;
  isFloat: boolean;
  isMultiple: boolean;
  isOwned: boolean;
  hasFlag: boolean;
  values: string[];
}

function fieldsOf(now: Shape, was: Shape): Definition[] {
  return [
    { name: "status", type: "string", values: now.values },
    {
      name: now.points,
      type: now.isFloat ? "float" : "integer",
      ...(now.points !== was.points && { renamedFrom: was.points }),
      ...(now.isFloat && !was.isFloat && { convertedFrom: "integer" }),
    },
    { name: "tags", type: "string", multiple: now.isMultiple },
    { name: "team", type: "relation", collection: "teams" },
    { name: "parent", type: "relation", collection: now.name },
    { name: "by", type: "relation", collection: "users", owner: now.isOwned },
    ...(now.hasFlag ? [{ name: "flag", type: "boolean", required: true, default: true }] : []),
  ];
}

test("random definitions: the counts of a trial are those of the lists and rights after the save", async () => {
  const seed = randomSeed("trials of definitions");
  const random = randomNumbers(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const chance = (part: number): boolean => random() < part;
  const other = await opened();
  let shape: Shape = {
    name: "things",
    points: "points",
    isFloat: false,
    isMultiple: true,
    isOwned: false,
    hasFlag: false,
    values: ["open", "done"],
  };
  const rule = ({ name, points, hasFlag }: Shape, depth = 0): string => {
    const simple = [
      'status = "open"',
      'status > "done"',
      `${points} > 5`,
      `parent.${points} < 6`,
      `${name}(parent).status = "done"`,
      'tags = "x"',
      "by = @user.id",
      "team.members(team).user = @user.id",
      'team.members(team)[user = @user.id && role != "guest"]',
      '@user.email ~ "ann"',
      'parent = null || parent.tags = "y"',
      ...(hasFlag ? ["flag = true"] : []),
    ];
    if (depth > 1 || chance(0.5)) return pick(simple);
    const next = { name, points, hasFlag } as Shape;
    return chance(0.3)
      ? `!(${rule(next, depth + 1)})`
      : `(${rule(next, depth + 1)} ${pick(["&&", "||"])} ${rule(next, depth + 1)})`;
  };
  const ruleOrWord = (now: Shape): string =>
    chance(0.4) ? pick(["public", "authenticated", "owner", "admin"]) : rule(now);
  const rulesOf = (now: Shape): Definition => ({
    read: ruleOrWord(now),
    ...(chance(0.6) && { update: ruleOrWord(now) }),
    ...(chance(0.6) && { delete: ruleOrWord(now) }),
  });
  const start = { name: shape.name, fields: fieldsOf(shape, shape), permissions: { read: "public", create: "public" } };
  const post = await other.api.request("POST", "/api/admin/collections", { token: other.admin, body: start });
  expect([post.status, post.body]).toEqual([201, post.body]);
  const team = await other.make("teams", { name: "ours" });
  for (const [i, { user }] of other.users.entries())
    if (i < 2) await other.make("members", { team, user: user.id, role: i === 0 ? "member" : "guest" });
  const ids: string[] = [];
  for (let i = 0; i < 25; i++) {
    const body = {
      status: pick(["open", "done", null]),
      points: pick([null, 1, 5, 7]),
      tags: pick([[], ["x"], ["y"], ["x", "y"]]),
      team: pick([null, team]),
      parent: pick([null, ...ids]),
      by: pick([null, ...other.users.map(({ user }) => user.id)]),
    };
    ids.push(
      await other.make(shape.name, body, pick([...other.users.map(({ accessToken }) => accessToken), other.admin])),
    );
  }
  const { service } = other.api;
  const callers = [null, ...other.users];
  const counts = async (): Promise<{ [operation: string]: number }[]> => {
    const collection = service.collections.named(shape.name);
    const table = recordTableOf(collection);
    const found: { [operation: string]: number }[] = [];
    for (const caller of callers) {
      const list = await other.api.request<{ total?: number }>("GET", `/api/${shape.name}?count=exact&limit=1`, {
        ...(caller !== null && { token: caller.accessToken }),
      });
      const principal = caller && { userId: caller.user.id, role: caller.user.role };
      const allowed = (operation: Operation): number =>
        ids.filter((id) => {
          const owner = service.database.reader.get<{ owner: string | null }>(table.owner, id)?.owner ?? null;
          return service.records.rights.allows(service.database.reader, operation, { table, principal, id, owner });
        }).length;
      found.push({ read: list.body.total ?? 0, update: allowed("update"), delete: allowed("delete") });
    }
    return found;
  };
  let rounds = 0;
  let before = await counts();
  for (let round = 0; round < (isLong ? 40 : 25); round++) {
    const next: Shape = {
      name: chance(0.1) ? pick(["things", "items", "entries"]) : shape.name,
      points: chance(0.2) ? pick(["points", "weight"]) : shape.points,
      isFloat: shape.isFloat || chance(0.05),
      isMultiple: chance(0.1) ? !shape.isMultiple : shape.isMultiple,
      isOwned: chance(0.15) ? !shape.isOwned : shape.isOwned,
      hasFlag: chance(0.15) ? !shape.hasFlag : shape.hasFlag,
      values: chance(0.1) ? shape.values.toReversed() : shape.values,
    };
    const definition = {
      ...(next.name !== shape.name && { name: next.name, renamedFrom: shape.name }),
      fields: fieldsOf(next, shape),
      permissions: rulesOf(next),
    };
    const at = [seed, round, JSON.stringify(definition)];
    const path = `/api/admin/collections/${shape.name}`;
    const tried = await other.api.request<RuleEffects & { error: unknown }>("POST", `${path}/try`, {
      token: other.admin,
      body: { definition },
    });
    const saved = await other.api.request("PUT", path, { token: other.admin, body: definition });
    expect([...at, tried.status, tried.body.error]).toEqual([...at, saved.status, saved.body["error"]] as never);
    if (saved.status !== 200) continue;
    rounds += 1;
    shape = next;
    const after = await counts();
    const { isExact, looked, unjudged } = tried.body;
    expect([...at, isExact, looked, unjudged]).toEqual([...at, true, ids.length, []]);
    for (const [i, caller] of callers.entries()) {
      const { operations } = on(tried.body, caller?.user.email ?? null);
      for (const { operation, before: had, after: has, gained, lost } of operations) {
        expect([...at, i, operation, had, has]).toEqual([
          ...at,
          i,
          operation,
          before[i]?.[operation],
          after[i]?.[operation],
        ] as never);
        expect([...at, has - had]).toEqual([...at, gained.count - lost.count]);
        expect(gained.records.length + gained.rest).toBe(gained.count);
        expect(lost.records.length + lost.rest).toBe(lost.count);
      }
      // An operation that is not told is not changed.
      for (const operation of ["read", "update", "delete"])
        if (!operations.some((each) => each.operation === operation))
          expect([...at, i, operation, after[i]?.[operation]]).toEqual([...at, i, operation, before[i]?.[operation]]);
    }
    before = after;
  }
  expect(rounds).toBeGreaterThan(isLong ? 15 : 8);
});
