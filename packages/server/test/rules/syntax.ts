/** Rules for the model of the property test: a tree and its text, without the service's own parser. */

export type Literal = string | number | boolean | null;
/** The value of a field: a multiple field has its items. */
export type Value = Literal | readonly string[];

/** A way from a record to a value: through relations, to a field. */
export interface Path {
  /** Whether the path begins at the record of the whole condition. */
  readonly ofRecord?: boolean;
  readonly hops: readonly string[];
  readonly field: string;
}

export type Term =
  | { readonly kind: "literal"; readonly value: Literal }
  | { readonly kind: "caller" }
  | { readonly kind: "path"; readonly path: Path };

export type Operator = "=" | "!=" | "<" | ">=" | "~";

export interface Comparison {
  readonly kind: "compare";
  readonly left: Path;
  readonly operator: Operator;
  readonly right: Term;
}

/** A record of `collection` points to the end of `hops`, and fulfils `where` and `tail`. The right side of `tail` belongs to the outer record. */
export interface Backward {
  readonly kind: "backward";
  readonly hops: readonly string[];
  readonly collection: string;
  readonly pointer: string;
  readonly where: Condition | null;
  readonly tail: Omit<Comparison, "kind"> | null;
}

/** The items of a multiple relation, at the end of `hops`, name a record that fulfils `where`. */
interface Named {
  readonly kind: "named";
  readonly hops: readonly string[];
  readonly field: string;
  readonly where: Condition;
}

/** All records that `of` leads to fulfil `check`. */
interface Every {
  readonly kind: "every";
  readonly of: (Backward & { readonly tail: null }) | (Omit<Named, "where"> & { readonly where: Condition | null });
  readonly check: Condition;
}

export type Condition =
  | { readonly kind: "and" | "or"; readonly parts: readonly Condition[] }
  | { readonly kind: "not"; readonly part: Condition }
  | Comparison
  | { readonly kind: "in"; readonly left: Path; readonly values: readonly Literal[] }
  | Backward
  | Named
  | Every;

export type Word = "public" | "authenticated" | "owner" | "admin";
export type Rule = Word | Condition;

export function textOfPath({ ofRecord, hops, field }: Path): string {
  return [...(ofRecord === true ? ["@record"] : []), ...hops, field].join(".");
}

function textOfTerm(term: Term): string {
  if (term.kind === "caller") return "@user.id";
  return term.kind === "path" ? textOfPath(term.path) : JSON.stringify(term.value);
}

function textOf(condition: Condition): string {
  switch (condition.kind) {
    case "and":
    case "or":
      return `(${condition.parts.map(textOf).join(condition.kind === "and" ? " && " : " || ")})`;
    case "not":
      return `!(${textOf(condition.part)})`;
    case "compare":
      return `${textOfPath(condition.left)} ${condition.operator} ${textOfTerm(condition.right)}`;
    case "in":
      return `${textOfPath(condition.left)} in (${condition.values.map((value) => JSON.stringify(value)).join(", ")})`;
    case "named":
      return textOfNamed(condition);
    case "every": {
      const { of, check } = condition;
      return `every(${of.kind === "named" ? textOfNamed(of) : textOf(of)}, ${textOf(check)})`;
    }
    case "backward": {
      const { hops, collection, pointer, where, tail } = condition;
      const step = `${collection}(${pointer})${where === null ? "" : `[${textOf(where)}]`}`;
      const end = tail === null ? "" : `.${textOfPath(tail.left)} ${tail.operator} ${textOfTerm(tail.right)}`;
      return `${[...hops, step].join(".")}${end}`;
    }
  }
}

function textOfNamed({ where, ...path }: Omit<Named, "where"> & { where: Condition | null }): string {
  return `${textOfPath(path)}${where === null ? "" : `[${textOf(where)}]`}`;
}

/** The text of a rule in a definition. */
export function textOfRule(rule: Rule): string {
  return typeof rule === "string" ? rule : textOf(rule);
}

/** A condition without names. */
const nothing: Condition = { kind: "and", parts: [] };

/** The paths that a condition compares, and the relations on the way, each with the collection at its begin. */
export interface Mentions {
  readonly fields: { readonly collection: string; readonly field: string }[];
  readonly entered: Set<string>;
}

/** @param target answers the collection that a relation of a collection leads to. */
export function mentionsOf(
  condition: Condition,
  root: string,
  target: (collection: string, field: string) => string,
): Mentions {
  const mentions: Mentions = { fields: [], entered: new Set() };
  const follow = (from: string, hops: readonly string[]): string => {
    let at = from;
    for (const hop of hops) {
      mentions.fields.push({ collection: at, field: hop });
      at = target(at, hop);
      mentions.entered.add(at);
    }
    return at;
  };
  const path = (from: string, { ofRecord, hops, field }: Path): void => {
    mentions.fields.push({ collection: follow(ofRecord === true ? root : from, hops), field });
  };
  const term = (from: string, right: Term): void => {
    if (right.kind === "path") path(from, right.path);
  };
  const visit = (each: Condition, from: string): void => {
    switch (each.kind) {
      case "and":
      case "or":
        for (const part of each.parts) visit(part, from);
        return;
      case "not":
        visit(each.part, from);
        return;
      case "compare":
        path(from, each.left);
        term(from, each.right);
        return;
      case "in":
        path(from, each.left);
        return;
      case "named":
        visit(each.where, follow(from, [...each.hops, each.field]));
        return;
      case "every":
        visit(each.of.kind === "named" ? { ...each.of, where: each.of.where ?? nothing } : each.of, from);
        visit(
          each.check,
          each.of.kind === "named" ? follow(from, [...each.of.hops, each.of.field]) : each.of.collection,
        );
        return;
      case "backward": {
        follow(from, each.hops);
        mentions.entered.add(each.collection);
        mentions.fields.push({ collection: each.collection, field: each.pointer });
        if (each.where !== null) visit(each.where, each.collection);
        if (each.tail === null) return;
        path(each.collection, each.tail.left);
        term(from, each.tail.right);
      }
    }
  };
  visit(condition, root);
  return mentions;
}
