/**
 * Passages: the texts of the repository that people read, each with its place. Comments and pages are prose; titles of tests are
 * the first arguments of `test`, `it` and `describe`; messages and texts of the dashboard are the literals that are prose.
 *
 * A literal is prose if the literal has at least three words of letters and no keyword of SQL. A joined literal ("…" + "…") is
 * a single passage. The readings cannot see texts that the code puts together from words.
 */
import { type Expression, parseSync, type StringLiteral, Visitor } from "oxc-parser";
import { commentsOf } from "./check-comments.ts";

export interface Passage {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** Whether the first word of the passage counts as an opening; false for a line of a page. */
  readonly isOpening: boolean;
}

/** A reading of a source file or of a page. */
export type Reading = (file: string, source: string) => Passage[];

/** The comments of a source file. */
export const commentPassages: Reading = (file, source) =>
  commentsOf(source).map((comment) => ({ file, ...comment, isOpening: true }));

/** The lines of a page, without the examples. */
export const pagePassages: Reading = (file, source) =>
  source
    .replaceAll(/^```.*?^```/gms, (example) => "\n".repeat(example.split("\n").length - 1))
    .split("\n")
    .map((text, i) => ({ file, line: i + 1, text, isOpening: false }));

/** The titles of tests. */
export const titlePassages: Reading = (file, source) => {
  const { found, add } = collect(file, source);
  new Visitor({
    CallExpression({ callee, arguments: [title, body] }) {
      if (title === undefined || title.type === "SpreadElement" || body === undefined) return;
      if (isTestFunction(callee)) add(title, textOf(title));
    },
  }).visit(parseSync(file, source).program);
  return found;
};

/** The literals that are prose. */
export const prosePassages: Reading = (file, source) => {
  const { found, add } = collect(file, source);
  /** The ends of the literals whose text is no prose or is a part of a longer text. */
  const passed = new Set<number>();
  const addProse = (node: Expression): void => {
    const text = textOf(node);
    if (text !== null && isProse(text) && !passed.has(node.end)) add(node, text);
  };
  new Visitor({
    TaggedTemplateExpression({ quasi }) {
      passed.add(quasi.end);
    },
    BinaryExpression(node) {
      addProse(node);
      if (textOf(node) === null) return;
      for (const { end } of operandsOf(node)) passed.add(end);
    },
    Literal(node) {
      if (typeof node.value === "string") addProse(node);
    },
    TemplateLiteral: addProse,
    JSXText({ start, value }) {
      if (isProse(value)) add({ start }, value);
    },
  }).visit(parseSync(file, source).program);
  return found;
};

function collect(file: string, source: string): Pick<Collected, "found" | "add"> {
  const found: Passage[] = [];
  const add: Collected["add"] = ({ start }, text) => {
    if (text !== null) found.push({ file, line: source.slice(0, start).split("\n").length, text, isOpening: true });
  };
  return { found, add };
}

interface Collected {
  readonly found: Passage[];
  readonly add: (node: { readonly start: number }, text: string | null) => void;
}

/** `test`, `test.if(…)`, `test.each(…)` and the like. */
function isTestFunction(callee: Expression): boolean {
  if (callee.type === "Identifier") return ["test", "it", "describe"].includes(callee.name);
  if (callee.type === "MemberExpression") return isTestFunction(callee.object);
  return callee.type === "CallExpression" && isTestFunction(callee.callee);
}

/** The text of a literal; values that are put in are `x` between backticks. Null for an expression without a literal. */
function textOf(node: Expression): string | null {
  if (isString(node)) return node.value;
  if (node.type === "TemplateLiteral") return node.quasis.map(({ value }) => value.cooked ?? value.raw).join("`x`");
  if (node.type !== "BinaryExpression" || node.operator !== "+") return null;
  const texts = operandsOf(node).map(textOf);
  return texts.every((text) => text === null) ? null : texts.map((text) => text ?? "`x`").join("");
}

function operandsOf(node: Expression): Expression[] {
  if (node.type !== "BinaryExpression" || node.operator !== "+") return [node];
  return [...operandsOf(node.left), ...operandsOf(node.right)];
}

function isString(node: Expression): node is StringLiteral {
  return node.type === "Literal" && typeof node.value === "string";
}

const sql =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|FROM|WHERE|AND|ORDER|SET|VALUES|JOIN|PRAGMA|EXISTS|COLLATE|NOT NULL|IS NULL|IS NOT|THEN|BEGIN|COMMIT|ASC|DESC)\b/;
const word = /(?<![\w./-])[A-Za-z][a-z']*(?=[\s.,:;!?)]|$)/g;

function isProse(text: string): boolean {
  return !sql.test(text) && (text.match(word) ?? []).length >= 3;
}
