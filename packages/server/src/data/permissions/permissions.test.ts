/** Permissions: the decision of each rule for each caller, the limits of fields, and how rules compare. */
import { describe, expect, test } from "bun:test";
import {
  effectiveRules,
  OPERATIONS,
  type Operation,
  PERMISSION_RULES,
  type Permissions,
  type Rule,
  ruleText,
} from "@socle/protocol";
import { AppError, type Principal, system } from "../../base/kernel/index.ts";
import { type Expression, isCaller, type SchemaField } from "../expressions/index.ts";
import {
  audienceOf,
  callerOf,
  FieldPolicies,
  type FieldPolicy,
  isOwnRecord,
  isWider,
  narrowerThan,
  Policy,
  resolveFieldRules,
  selectsByOwner,
  wordOf,
} from "./index.ts";

const field: SchemaField = { name: "by", valueType: "text", column: "by", isRelation: true, isIndexed: true };
const isMine = isCaller(field);
const asksNobody: Expression = { type: "and", items: [] };

function policyOf(rule: Rule, operation: Operation = "read", condition: Expression = isMine): Policy {
  return new Policy({ collection: "posts", operation, rules: [rule], expression: () => condition });
}

const ann = { userId: "usr_ann", role: "authenticated", sessionId: "ses_1" } as const;
const callers: { readonly [name: string]: Principal } = {
  nobody: null,
  user: ann,
  "a user of the role public": { ...ann, role: "public" },
  admin: { ...ann, role: "admin" },
  function: system,
};
type Access = "all" | "own" | "where" | "unauthorized" | "forbidden";

function accessOf(policy: Policy, caller: Principal): Access {
  const decision = policy.decide(caller);
  if (decision.access !== "none") return decision.access;
  const { code } = decision.refusal;
  if (code !== "unauthorized" && code !== "forbidden") throw new Error(`A policy refuses by ${code}`);
  return code;
}

describe("a policy decides", () => {
  const user = ["user", "a user of the role public"];
  const cases: readonly [Rule, Access, Access][] = [
    ["public", "all", "all"],
    ["authenticated", "unauthorized", "all"],
    ["owner", "unauthorized", "own"],
    ["admin", "unauthorized", "forbidden"],
    ["by = @user.id", "where", "where"],
  ];
  test.each(cases)("%s: nobody %s, a user %s, admins and functions everything", (rule, nobody, signedIn) => {
    for (const operation of OPERATIONS) {
      const policy = policyOf(rule, operation);
      // A new record belongs to the creator.
      const mine = rule === "owner" && operation === "create" ? "all" : signedIn;
      for (const [name, caller] of Object.entries(callers)) {
        const expected = name === "nobody" ? nobody : user.includes(name) ? mine : "all";
        expect([operation, name, accessOf(policy, caller)]).toEqual([operation, name, expected]);
        if (expected === "unauthorized" || expected === "forbidden")
          expect(() => policy.admit(caller)).toThrow(AppError);
        else expect(policy.admit(caller).access).toBe(expected);
      }
    }
  });

  test("uses the expression of the moment: a migration of another collection may change its tree", () => {
    let condition = isMine;
    const policy = new Policy({ collection: "posts", operation: "read", rules: ["x"], expression: () => condition });
    expect(policy.decide(null)).toEqual({ access: "where", condition: isMine });
    condition = asksNobody;
    expect(policy.decide(null)).toEqual({ access: "where", condition: asksNobody });
  });

  test("by the owner: nobody owns a record without an owner", () => {
    expect([isOwnRecord(ann, ann.userId), isOwnRecord(ann, "usr_bob"), isOwnRecord(ann, null)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([isOwnRecord(null, null), isOwnRecord(null, ann.userId), isOwnRecord(system, null)]).toEqual([
      false,
      false,
      false,
    ]);
    expect([callerOf(null), callerOf(system)]).toEqual([null, null]);
    expect(callerOf(ann)).toEqual({ id: ann.userId, role: ann.role, email: null });
  });
});

describe("a refusal", () => {
  const refusal = (policy: Policy, caller: Principal): [string, string] => {
    const { code, message } = policy.refusal(caller);
    return [code, message];
  };

  test("names the operation and the collection", () => {
    expect(refusal(policyOf("owner", "delete"), ann)).toEqual([
      "forbidden",
      'Only its owner may delete this record of "posts".',
    ]);
    expect(refusal(policyOf("by = @user.id", "update"), ann)).toEqual([
      "forbidden",
      'You may not update this record of "posts".',
    ]);
  });

  test("sends nobody to sign in if the expression does not use the caller", () => {
    expect(refusal(policyOf("by = @user.id"), null)[0]).toBe("unauthorized");
    expect(refusal(policyOf("open = true", "read", asksNobody), null)[0]).toBe("forbidden");
  });
});

describe("rules", () => {
  const unnamed: readonly [Permissions, update: string, remove?: string][] = [
    [{}, "public"],
    [{ read: "public", create: "authenticated" }, "owner"],
    [{ read: "authenticated" }, "owner"],
    [{ read: "owner", create: "authenticated" }, "owner"],
    [{ read: "owner", create: "public" }, "owner"],
    [{ read: "admin", create: "public" }, "admin"],
    [{ read: "public", create: "admin" }, "admin"],
    [{ read: "authenticated", create: "public" }, "owner"],
    [{ update: "authenticated" }, "authenticated", "owner"],
    [{ read: "owner", update: "public" }, "public", "owner"],
    [{ read: "admin", update: "owner" }, "owner", "admin"],
    [{ create: "authenticated", delete: "admin" }, "owner", "admin"],
    [{ read: "a = 1" }, "a = 1"],
    [{ create: "a = 1" }, "a = 1"],
    [{ read: "a = 1", create: "a = 1" }, "a = 1"],
    [{ read: "a = 1", create: "b = 2" }, "(b = 2) and (a = 1)"],
    [{ read: "a = 1", create: "public" }, "a = 1"],
    [{ read: "a = 1", create: "authenticated" }, "owner and (a = 1)"],
    [{ read: "a = 1", create: "owner" }, "owner and (a = 1)"],
    [{ read: "a = 1", create: "admin" }, "admin"],
    [{ read: "authenticated", create: "a = 1" }, "authenticated and (a = 1)"],
    [{ read: "owner", create: "a = 1" }, "owner and (a = 1)"],
    [{ read: "admin", create: "a = 1" }, "admin"],
    [{ read: "a = 1", update: "authenticated" }, "authenticated", "owner and (a = 1)"],
    [{ read: "a = 1", create: "public", update: "b = 2" }, "b = 2", "(b = 2) and (a = 1)"],
  ];
  test.each(unnamed)("%j: an update needs %s", (given, update, remove = update) => {
    const rules = effectiveRules(given);
    expect([ruleText(rules.update), ruleText(rules.delete)]).toEqual([update, remove]);
    expect([rules.read, rules.create]).toEqual([[given.read ?? "public"], [given.create ?? given.read ?? "public"]]);
  });

  test("with a word and an expression need both, and the word is for users", () => {
    const policy = new Policy({
      collection: "posts",
      operation: "update",
      rules: ["owner", "by = @user.id"],
      expression: () => isMine,
    });
    expect([accessOf(policy, null), accessOf(policy, ann), accessOf(policy, system)]).toEqual([
      "unauthorized",
      "where",
      "all",
    ]);
    expect([policy.audience, policy.rule]).toEqual(["condition", "owner and (by = @user.id)"]);
  });

  test("of fields: read is public, and update follows the rule of read", () => {
    expect(resolveFieldRules()).toEqual({ read: "public", update: "public" });
    expect(resolveFieldRules({ read: "admin" })).toEqual({ read: "admin", update: "admin" });
    expect(resolveFieldRules({ update: "owner" })).toEqual({ read: "public", update: "owner" });
  });

  test("are ordered by their callers; an expression may admit anybody", () => {
    const byWidth: readonly Rule[] = ["admin", "owner", "authenticated", "public"];
    for (const [i, rule] of byWidth.entries())
      for (const [j, other] of byWidth.entries())
        expect([rule, other, isWider(rule, other)]).toEqual([rule, other, i > j]);
    for (const word of PERMISSION_RULES) {
      expect([word, isWider("a = 1", word)]).toEqual([word, word !== "public"]);
      // Nobody can tell later which callers fulfilled the expression: the events count as closed to all but admins.
      expect([word, isWider(word, "a = 1")]).toEqual([word, word !== "admin"]);
      expect(narrowerThan(word).every((each) => isWider(word, each))).toBe(true);
    }
    expect([isWider("a = 1", "a = 1"), isWider("a = 1", "b = 1")]).toEqual([false, true]);
    expect(narrowerThan("a = 1")).toEqual(["admin", "owner", "authenticated"]);
    expect([wordOf("owner"), wordOf("a = 1")]).toEqual(["owner", "admin"]);
  });

  test("have the audience of their events, and only the word owner selects by owner", () => {
    expect(PERMISSION_RULES.map(audienceOf)).toEqual(["everybody", "users", "owner", "admins"]);
    expect(audienceOf("a = 1")).toBe("condition");
    expect([...PERMISSION_RULES, "owner = 1"].filter(selectsByOwner)).toEqual(["owner"]);
  });
});

describe("field policies", () => {
  const fieldPolicy = (read: Rule, update: Rule = read): FieldPolicy => ({
    read: policyOf(read),
    update: policyOf(update, "update"),
  });
  const policies = new FieldPolicies(
    new Map([
      ["salary", fieldPolicy("admin")],
      ["note", fieldPolicy("owner", "admin")],
      ["rank", fieldPolicy("public", "by = @user.id")],
    ]),
  );
  const limits = (operation: "read" | "update", caller: Principal): [string[], string[]] | null => {
    const found = policies.limits(operation, caller);
    return found && [[...found.closed], [...found.conditional].map(([name, { access }]) => `${name} ${access}`)];
  };

  test("hide fields from a caller in every record, or in records that fail a condition", () => {
    expect(limits("read", null)).toEqual([["salary", "note"], []]);
    expect(limits("read", ann)).toEqual([["salary"], ["note own"]]);
    expect(limits("update", null)).toEqual([["salary", "note"], ["rank where"]]);
    expect(limits("update", ann)).toEqual([["salary", "note"], ["rank where"]]);
    for (const caller of [system, callers["admin"] ?? null])
      expect([limits("read", caller), limits("update", caller)]).toEqual([null, null]);
  });

  test("hide values only by a read rule, and have a key for their read rules", () => {
    const open = new FieldPolicies(new Map([["rank", fieldPolicy("public", "admin")]]));
    expect([policies.hidesValues, open.hidesValues]).toEqual([true, false]);
    expect(open.limits("read", null)).toBeNull();
    expect(open.key).toBe(new FieldPolicies(new Map([["rank", fieldPolicy("public")]])).key);
    expect(open.key).not.toBe(policies.key);
  });
});
