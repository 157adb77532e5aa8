/**
 * Policies of row level security as rules of Socle. A policy without the same meaning is closed, so a translated rule allows nothing
 * that PostgreSQL refuses.
 */
import { parseDatetime } from "../../../base/kernel/index.ts";
import { all, any, literalOf, type Rule, signedIn, wordOf } from "../rule-text.ts";
import type { PolicyCommand, RowPolicy } from "./catalogue.ts";
import { type Compare, ConditionReader, type ConditionValue } from "./conditions.ts";
import { SqlError } from "./tokens.ts";
import { type DumpWorld, type PlacedColumn, type PlacedTable, uuidForm } from "./world.ts";

export interface TranslatedPolicies {
  /** A word or an expression. */
  readonly rule: string;
  /** The policies that are closed, with the reason and what to write. */
  readonly closed: readonly string[];
}

/** The reason for a closed policy, with advice, by the text; the first that fits. */
const advice: readonly [part: RegExp, reason: string][] = [
  [/\bEXISTS\b|\bSELECT\b.*\bFROM\b/is, "write the path to the rows, as in members(team).user = @user.id"],
  [
    /auth\.(jwt|email)\(/,
    "rules know the id, the role and the email of the caller: keep the claim in a field of users",
  ],
  [/storage\.\w+\(/, "name the owner or a relation in place of a part of the path"],
  [/\w\(/, "write the condition of the function as an expression"],
];

/** The fields that a rule demands to be the caller, beside everything else. */
export function callerFieldsOf(rule: string): string[] {
  const plain = rule.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const parts = /[(|]/.test(plain) ? [] : plain.split(" && ");
  return parts.flatMap((part) => /^([\w.]+) = @user\.id$/.exec(part)?.[1] ?? []);
}

export class PolicyTranslator {
  readonly #world: DumpWorld;
  readonly #table: PlacedTable;
  /** The column that shows the owner. */
  readonly #owner: PlacedColumn | null;
  /** The command whose rule is translated. */
  #command: PolicyCommand = "select";
  #closed: string[] = [];

  constructor(world: DumpWorld, table: PlacedTable, owner: PlacedColumn | null) {
    this.#world = world;
    this.#table = table;
    this.#owner = owner;
  }

  translate(command: PolicyCommand): TranslatedPolicies {
    // PostgreSQL changes and deletes rows that the caller may read.
    const isChange = command === "update" || command === "delete";
    const ofRead = isChange ? this.#ruleOf("select") : true;
    const closed: string[] = [];
    this.#closed = closed;
    const word = wordOf(all([this.#ruleOf(command), ofRead]));
    return { rule: this.#owner !== null && word === `${this.#owner.to} = @user.id` ? "owner" : word, closed };
  }

  #ruleOf(command: PolicyCommand): Rule {
    this.#command = command;
    const found = this.#table.copied.table.policies.filter(({ commands }) => commands.includes(command));
    const rules = found.filter(({ isRestrictive }) => !isRestrictive).map((each) => this.#policy(each));
    const restrictive = found.filter(({ isRestrictive }) => isRestrictive);
    for (const each of restrictive)
      this.#close(each, "the policy is restrictive: write the condition beside the others, with &&");
    return restrictive.length > 0 ? false : any(rules);
  }

  #close({ name, using, check }: RowPolicy, reason?: string): false {
    const parts = [using === null ? "" : ` USING (${using})`, check === null ? "" : ` WITH CHECK (${check})`];
    const text = parts.join("").replace(/\s+/g, " ");
    const [, found = "no expression of Socle has the same meaning"] = advice.find(([form]) => form.test(text)) ?? [];
    this.#closed.push(`"${name}"${text}: ${reason ?? found}`);
    return false;
  }

  #policy(policy: RowPolicy): Rule {
    const { roles, using, check } = policy;
    const isFor = (role: string): boolean =>
      (roles.includes("public") || roles.includes(role)) &&
      this.#world.catalogue.isGranted(this.#table.copied.table, this.#command, role);
    // The service role has all rights, as functions and admins here.
    if (roles.every((role) => role === "service_role")) return false;
    const [isOpen, isForUsers] = [isFor("anon"), isFor("authenticated")];
    if (!isOpen && !isForUsers)
      return this.#close(policy, `is for ${roles.join(", ")}: Socle has no such role, or the command is not granted`);
    if (this.#command === "update" && check !== null && check !== using)
      return this.#close(policy, "an update rule is about the record before and after: write a hook");
    const text = (this.#command === "insert" ? (check ?? using) : using) ?? "";
    try {
      const compare: Compare = (left, operator, right) => this.#compare(left, operator, right);
      const rule = new ConditionReader(text, (name) => this.#table.column(name), compare).whole();
      const isOfUsers = typeof rule !== "boolean" && callerFieldsOf(rule.text).length > 0;
      if (isForUsers) return isOpen || isOfUsers ? rule : all([{ text: signedIn, isOr: false }, rule]);
      // A caller without a token has no id; a caller with a token may leave the token out.
      return typeof rule !== "boolean" && rule.text.includes("@user") ? this.#close(policy) : rule;
    } catch (thrown) {
      if (!(thrown instanceof SqlError)) throw thrown;
      return this.#close(policy);
    }
  }

  /** A comparison as a text; null without the same meaning. */
  #compare(left: PlacedColumn, operator: string, right: readonly ConditionValue[]): string | null {
    const { to } = left;
    const [value] = right;
    if (value?.kind === "uid") return operator === "=" && right.length === 1 ? this.#withCaller(left) : null;
    const literals = right.map((each) => this.#literal(left, operator, each));
    if (literals.includes(null) || literals.length === 0) return null;
    if (literals.length > 1) return `${to} in (${literals.join(", ")})`;
    // A comparison with null holds for no row.
    return operator === "<>" ? `(${to} != ${literals[0]} && ${to} != null)` : `${to} ${operator} ${literals[0]}`;
  }

  #withCaller(column: PlacedColumn): string | null {
    const { target, type, to, items, sqlType } = column;
    // The service fills the field that shows the owner.
    if (this.#command === "insert" && column === this.#owner) return signedIn;
    if (target?.isUsers === true) return `${to} = @user.id`;
    if (target?.profileKey !== undefined) return `${to}.${target.profileKey.to} = @user.id`;
    const isText = target === null && items === 0 && (type === "string" || type === "text") && sqlType !== "character";
    return isText && to !== "id" ? `${to} = @user.id` : null;
  }

  /** A constant in the form of a column; null for a comparison of another meaning. */
  #literal(placed: PlacedColumn, operator: string, operand: ConditionValue): string | null {
    const { type, target, items, sqlType, column, to } = placed;
    if (to === "id" || items > 0 || column.isArray || sqlType === "citext" || sqlType === "character") return null;
    const text = operand.kind === "text" || operand.kind === "number" ? operand.text : null;
    if (target !== null) return operator === "=" && text !== null ? literalOf(target.idFor(text)) : null;
    switch (type) {
      case "integer":
      case "float":
        return text !== null && /^-?\d+(?:\.\d+)?$/.test(text) ? text : null;
      case "boolean":
        return operand.kind === "truth" && operator === "=" ? String(operand.value) : null;
      case "datetime": {
        const time = parseDatetime(text ?? "");
        return operand.kind === "now" ? "@now" : time === null ? null : literalOf(time);
      }
      case "string":
      case "text": {
        // Texts have another order in PostgreSQL, an id has another value here, and a number that is a text another form.
        const isSame = (operator === "=" || operator === "<>") && operand.kind === "text" && sqlType !== "bigint";
        const isValue = this.#world.catalogue.enums.get(column.type)?.includes(text ?? "") !== false;
        return isSame && isValue && !uuidForm.test(operand.text) ? literalOf(operand.text) : null;
      }
      default:
        return null;
    }
  }
}
