/**
 * Rules of PocketBase as rules of Socle. A comparison without the same meaning is false, so a translated rule allows nothing that
 * PocketBase refuses. The language has no negation: a false part closes the rule, or a part of the rule, and opens nothing.
 */
import { messageOf } from "../../../base/kernel/index.ts";
import { all, any, literalOf, type Rule, signedIn, wordOf } from "../rule-text.ts";
import { type Comparison, type FilterOperand, type Node, parseFilter } from "./filter.ts";
import type { PathStep, PbField, RuleName } from "./sql/data-folder.ts";
import { timeOf } from "./values.ts";
import { isMultiple, type PlacedCollection, type World } from "./world.ts";

/** A place at which PocketBase takes the empty id of a caller without a token for an empty value. */
export interface Leak {
  readonly path: string;
  readonly steps: readonly PathStep[];
  readonly field: string;
}

export interface TranslatedRule {
  /** A word or an expression. */
  readonly rule: string;
  /** The parts that are false, with the reason and what to write. */
  readonly closed: readonly string[];
  readonly leaks: readonly Leak[];
  /** The fields that the rule keeps from being changed. */
  readonly locked: readonly string[];
}

interface Path {
  readonly text: string;
  /** Null for the id of a record. */
  readonly field: PbField | null;
  /** The collection of the field. */
  readonly at: PlacedCollection;
  /** Whether the path leads to several values. */
  readonly isMany: boolean;
  readonly modifier: string | undefined;
  /** Whether the path begins in the body of a create: a value that is not sent is no empty value. */
  readonly isBody: boolean;
  readonly steps: readonly PathStep[];
}

const caller = "@request.auth.id";
const body = "@request.body.";
const mirrored: Readonly<Record<string, string>> = { "=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<=" };
const macros: Readonly<Record<string, string>> = {
  "@now": "@now",
  "@todayStart": "@today",
  "@yesterday": "@now - 1d",
  "@tomorrow": "@now + 1d",
};

/** The reason for a closed comparison, with advice, by a part of the comparison; the first that fits. */
const advice: readonly [part: RegExp, reason: string][] = [
  [/@collection\./, "rules step to other collections by relations, as in author.bans(user)[until > @now]"],
  [
    /@request\.auth\.(?!id\b)/,
    "rules know the id, the role and the email of the caller: step to the record of the caller by a relation to users, or write a hook",
  ],
  [/@request\.(query|headers|method|context)/, "rules do not see the request: write an endpoint"],
  [/@request\.body/, "an update rule sees the record before and after: write a hook"],
  [
    /geoDistance\(/,
    "rules compare the distance of a field to a place of two numbers, as in distance(spot, 53.5, 10) < 300km",
  ],
  [/:length/, "rules count the items of a multiple field alone: write a hook"],
];

function isCaller(operand: FilterOperand): boolean {
  return operand.kind === "word" && operand.text === caller;
}

function isEmpty({ kind, text }: FilterOperand): boolean {
  return (kind === "text" && text === "") || (kind === "word" && text === "null");
}

function isSignedIn(node: Node): boolean {
  if (!("left" in node) || node.operator !== "!=") return false;
  return (isCaller(node.left) && isEmpty(node.right)) || (isCaller(node.right) && isEmpty(node.left));
}

/** The fields that a rule demands to be the caller, beside everything else. */
export function callerFields(rule: string | null): string[] {
  const fieldsIn = (node: Node): string[] => {
    if ("and" in node) return node.and.flatMap(fieldsIn);
    if ("or" in node || node.operator !== "=") return [];
    const [field] = [node.left, node.right].filter((each) => !isCaller(each));
    if (field?.kind !== "word" || !(isCaller(node.left) || isCaller(node.right))) return [];
    return [field.text.startsWith(body) ? field.text.slice(body.length) : field.text];
  };
  try {
    return rule === null || rule === "" ? [] : fieldsIn(parseFilter(rule));
  } catch {
    // `translate` tells of a rule that does not parse.
    return [];
  }
}

export class RuleTranslator {
  readonly #world: World;
  readonly #collection: PlacedCollection;
  /** The field that shows the owner, by the name in PocketBase. */
  readonly #owner: string | null;
  #rule: RuleName = "listRule";
  #closed: string[] = [];
  #leaks: Leak[] = [];
  #locked: string[] = [];

  constructor(world: World, collection: PlacedCollection, owner: string | null) {
    this.#world = world;
    this.#collection = collection;
    this.#owner = owner;
  }

  translate(name: RuleName): TranslatedRule {
    this.#rule = name;
    this.#closed = [];
    this.#leaks = [];
    this.#locked = [];
    const text = this.#collection.pb[name];
    const found = text === null ? false : text.trim() === "" ? true : this.#parsed(text);
    return { rule: wordOf(found), closed: this.#closed, leaks: this.#leaks, locked: this.#locked };
  }

  #parsed(text: string): Rule {
    try {
      return this.#node(parseFilter(text), false);
    } catch (thrown) {
      return this.#close(text, `it does not parse: ${messageOf(thrown)}`);
    }
  }

  /** @param isGuarded whether the rule holds for signed-in callers alone. */
  #node(node: Node, isGuarded: boolean): Rule {
    if ("or" in node) return any(node.or.map((each) => this.#node(each, isGuarded)));
    if ("left" in node) return this.#comparison(node, isGuarded);
    const isInside = isGuarded || node.and.some(isSignedIn);
    return all(node.and.map((each) => this.#node(each, isInside)));
  }

  #close(part: string, reason: string): false {
    this.#closed.push(`${part}: ${reason}`);
    return false;
  }

  #comparison(found: Comparison, isGuarded: boolean): Rule {
    if (isSignedIn(found)) return { text: signedIn, isOr: false };
    const isTurned = this.#isOutside(found.left) && !this.#isOutside(found.right);
    const operator = isTurned ? mirrored[found.operator] : found.operator;
    const [left, right] = isTurned ? [found.right, found.left] : [found.left, found.right];
    const refuse = (): false => {
      const [, reason = "no expression of Socle has the same meaning"] =
        advice.find(([part]) => [left, right].some(({ text }) => part.test(text))) ?? [];
      return this.#close(found.text, reason);
    };
    if (operator === undefined) return refuse();
    const ofDistance = this.#ofDistance(found);
    if (ofDistance !== null) return ofDistance;
    const ofBody = this.#ofBody(left, operator, right);
    if (ofBody !== null) return ofBody;
    const path = this.#path(left);
    if (path === null) return this.#ofCollectionName(left, operator, right) ?? refuse();
    const comparison = { ...found, left, right, operator };
    const text = isCaller(right) ? this.#withCaller(path, comparison, isGuarded) : this.#withValue(path, comparison);
    return text === null ? refuse() : typeof text === "string" ? { text, isOr: text.includes(" || ") } : text;
  }

  /** Whether an operand is no path of the record. */
  #isOutside({ kind, text }: FilterOperand): boolean {
    return kind !== "word" || text.startsWith("@") ? !text.startsWith(body) : /^(true|false|null)$/.test(text);
  }

  /** With one auth collection, every caller is of this collection. */
  #ofCollectionName(left: FilterOperand, operator: string, right: FilterOperand): Rule | null {
    const [only, ...others] = this.#world.users;
    const isName = left.text === "@request.auth.collectionName" && right.text === only?.pb.name;
    const isOnly = others.length === 0 && operator === "=" && isName;
    return isOnly ? { text: signedIn, isOr: false } : null;
  }

  /** A distance of a field to a place, in kilometres in PocketBase; null for anything else. */
  #ofDistance({ left, operator, right }: Comparison): Rule | null {
    const isTurned = right.kind === "call";
    const [call, number] = isTurned ? [right, left] : [left, right];
    const word = isTurned ? mirrored[operator] : operator;
    if (call.kind !== "call" || number.kind !== "number" || word === undefined || !/[<>]/.test(word)) return null;
    const parts =
      /^geoDistance\(([^()]*)\)$/
        .exec(call.text)?.[1]
        ?.split(",")
        .map((part) => part.trim()) ?? [];
    const ofField = (at: number): string | null => {
      const [, name = "", other] = /^(\w+)\.lon (\w+)\.lat$/.exec(parts.slice(at, at + 2).join(" ")) ?? [];
      const field = this.#collection.field(name);
      return name === other && field?.pb.type === "geoPoint" ? field.to : null;
    };
    const at = ofField(0) === null ? 2 : 0;
    const field = ofField(at);
    const [lon = "", lat = ""] = parts.slice(2 - at, 4 - at);
    const isPlace = [lon, lat].every((part) => /^-?\d+(\.\d+)?$/.test(part)) && parts.length === 4;
    if (field === null || !isPlace || Number(number.text) < 0) return null;
    return { text: `distance(${field}, ${lat}, ${lon}) ${word} ${number.text}km`, isOr: false };
  }

  /** `:isset` and `:changed` of the body; null for anything else. */
  #ofBody({ text }: FilterOperand, operator: string, right: FilterOperand): Rule | null {
    const [, name = "", test] = /^@request\.body\.(\w+):(isset|changed)$/.exec(text) ?? [];
    const field = this.#collection.field(name);
    if (test === undefined || operator !== "=" || right.text !== "false") return null;
    // An account field is no part of a body, and only an admin changes the owner.
    if (field === undefined) return this.#collection.isUsers && ["email", "verified"].includes(name) ? true : null;
    if (this.#rule === "updateRule") {
      if (name !== this.#owner) this.#locked.push(field.to);
      return true;
    }
    if (this.#rule !== "createRule" || test !== "isset") return null;
    // `users` has no rule for a registration: the field is locked.
    if (this.#collection.isUsers) return this.#locked.push(field.to) > 0;
    const empty = { bool: "false", number: "0" }[field.pb.type];
    return {
      text: empty === undefined ? `${field.to} = null` : `(${field.to} = null || ${field.to} = ${empty})`,
      isOr: false,
    };
  }

  /** A path of the record, or of the body of a create, which is the record. */
  #path({ kind, text }: FilterOperand): Path | null {
    if (kind !== "word") return null;
    const isBody = text.startsWith(body);
    if (isBody && this.#rule !== "createRule") return null;
    const [path = "", modifier, ...more] = (isBody ? text.slice(body.length) : text).split(":");
    if (path.startsWith("@") || more.length > 0) return null;
    let at = this.#collection;
    let isMany = false;
    const steps: PathStep[] = [];
    const out: string[] = [];
    const names = path.split(".");
    for (const [i, name] of names.entries()) {
      const isLast = i === names.length - 1;
      if (name === "id" && isLast)
        return { text: out.join(".") || "id", field: null, at, isMany, modifier, isBody, steps };
      const [, from, by] = /^(\w+?)_via_(\w+)$/.exec(name) ?? [];
      const target = from === undefined ? undefined : this.#world.named(from);
      const back = target?.field(by ?? "");
      if (target !== undefined && back?.pb.type === "relation") {
        steps.push({ table: target.pb.name, field: back.pb.name, isBack: true, isMultiple: isMultiple(back.pb) });
        out.push(`${target.to}(${back.to})`);
        at = target;
        isMany = true;
        continue;
      }
      const isVerified = at.isUsers && name === "verified";
      const field = isVerified ? { pb: { name, type: "bool" }, to: name } : at.field(name);
      if (field === undefined) return null;
      out.push(field.to);
      if (isLast) return { text: out.join("."), field: field.pb, at, isMany, modifier, isBody, steps };
      const next = field.pb.type === "relation" ? this.#world.byId(field.pb.collectionId) : undefined;
      if (next === undefined) return null;
      isMany ||= isMultiple(field.pb);
      steps.push({ table: next.pb.name, field: field.pb.name, isBack: false, isMultiple: isMultiple(field.pb) });
      at = next;
    }
    return null;
  }

  #withCaller(path: Path, { operator, isSome, text }: Comparison, isGuarded: boolean): string | Rule | null {
    const { field, at, isMany, modifier, steps } = path;
    const isOwnId = field === null && steps.length === 0;
    if (modifier !== undefined || !(field === null || ["relation", "text"].includes(field.type))) return null;
    if (field !== null && isMultiple(field)) {
      // The text of the whole array contains the id.
      if (operator === "~" && isGuarded) return `${path.text} = @user.id`;
      if (operator !== "=") return null;
      const write = `${path.text} = @user.id`;
      return this.#close(
        text,
        `PocketBase compares the whole array with the id, which never holds; write ${write} if some item is meant`,
      );
    }
    if (operator === "!=") return isGuarded && !isMany ? `${path.text} != @user.id` : null;
    if (operator !== "=") return null;
    if (isMany && !isSome)
      return this.#close(text, `all values must be equal: write every(…), and that there is a value`);
    const isFilled = field?.required === true && steps.length === 0;
    if (!isGuarded && !isOwnId && !isFilled) this.#leaks.push({ path: path.text, steps, field: field?.name ?? "id" });
    const isOwnOwner =
      this.#rule === "createRule" && field !== null && field.name === this.#owner && steps.length === 0;
    return isOwnOwner && at === this.#collection ? signedIn : `${path.text} = @user.id`;
  }

  #withValue(path: Path, { operator, isSome, right }: Comparison): string | Rule | null {
    const { text, field, at, isMany, modifier, isBody, steps } = path;
    const isItems = field !== null && isMultiple(field);
    if (modifier === "length" && isItems && !isMany && right.kind === "number")
      return operator in mirrored ? `length(${text}) ${operator} ${right.text}` : null;
    if (modifier === "each" && isItems && field.type === "select" && !isMany) {
      // In Socle, `=` is about some item, and `!=` about all items.
      if (operator === "!=" && !isSome) return `${text} != ${literalOf(right.text)}`;
      return operator === "=" && isSome ? `${text} = ${literalOf(right.text)}` : null;
    }
    if (isItems || (isMany && !isSome) || (isMany && operator.startsWith("!"))) return null;
    if (isEmpty(right)) return modifier === undefined ? this.#emptiness(path, operator) : null;
    if (field === null || field.type === "relation") {
      const target = field === null ? at : this.#world.byId(field.collectionId);
      if (target === undefined || right.kind !== "text" || !(operator === "=" || operator === "!=")) return null;
      return `${text} ${operator} ${literalOf(target.idFor(right.text))}`;
    }
    const value = this.#value(path, operator, right);
    if (typeof value !== "string") return value;
    if (modifier === "lower") return `lower(${text}) ${operator} ${value}`;
    if (modifier !== undefined) return null;
    // A row that is missing has no time; PocketBase counts an empty time as early.
    const takesEmpty =
      !isBody && steps.length === 0 && ["date", "autodate"].includes(field.type) && operator.startsWith("<");
    return takesEmpty ? `(${text} ${operator} ${value} || ${text} = null)` : `${text} ${operator} ${value}`;
  }

  #emptiness({ text, field }: Path, operator: string): string | null {
    if (operator !== "=" && operator !== "!=") return null;
    const isText = ["text", "editor", "email", "url"].includes(field?.type ?? "");
    if (!isText && field !== null && !["relation", "select", "date", "file"].includes(field.type)) return null;
    const [none, join] = operator === "=" ? ["= null", "||"] : ["!= null", "&&"];
    return isText ? `(${text} ${none} ${join} ${text} ${operator} "")` : `${text} ${none}`;
  }

  /** A value in the form of a field; a truth value for a comparison that the value decides. */
  #value({ field, modifier }: Path, operator: string, { kind, text }: FilterOperand): string | boolean | null {
    switch (field?.type) {
      case "text":
      case "editor":
      case "email":
      case "url":
        if (kind !== "text" || (operator.endsWith("~") && text.includes("%"))) return null;
        // PocketBase folds the case of ASCII alone.
        return (operator.endsWith("~") || modifier === "lower") && !/^\p{ASCII}*$/u.test(text) ? null : literalOf(text);
      case "select":
        if (kind !== "text" || !(operator === "=" || operator === "!=")) return null;
        return field.values?.includes(text) === true ? literalOf(text) : operator === "!=";
      case "number":
        return kind === "number" && operator in mirrored ? text : null;
      case "bool":
        return /^(true|false)$/.test(text) && (operator === "=" || operator === "!=") ? text : null;
      case "date":
      case "autodate": {
        if (kind === "word") return macros[text] ?? null;
        // PocketBase compares texts: a day is less than midnight of the day.
        const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && (operator === ">=" || operator === "<");
        const isTime = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z$/.test(text);
        const time = timeOf(text);
        return kind === "text" && (isDay || isTime) && time !== null ? literalOf(time) : null;
      }
      default:
        return null;
    }
  }
}
