/**
 * `socle check` looks for filters of code that are template literals with values and without the tag `filter`: a value is then read
 * as a part of the filter. The search reads tokens, and knows filters by their places: `filter: …`, `.filter(…)`, and a variable that
 * goes there.
 */
import { readCode } from "../code/script-host/index.ts";

interface Token {
  readonly text: string;
  /** From 1. */
  readonly line: number;
  /** Of a template literal: whether values are in the text. */
  hasValues?: boolean;
}

/** Words after which a slash begins a regular expression, and a template literal has no tag. */
const operators =
  /^(?:return|typeof|case|in|of|delete|void|throw|new|do|else|await|yield|const|let|var|export|default)$/;
const word = /^[\w$\u0080-\uffff]/;
const parts =
  /\s+|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[\w$\u0080-\uffff]+|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?|=>|[!=]==?|\+=|\?\?|\?\.|[\s\S]/y;
const regex = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y;
const templatePart = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y;

function isValue(token: Token | undefined): boolean {
  if (token === undefined) return false;
  return /^[)\]"'`]/.test(token.text) || (word.test(token.text) && !operators.test(token.text));
}

/** The tokens of a module; the expressions of a template literal stand behind the literal, in `${` and `}`. */
function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  /** The open brackets; a template literal whose expression is being read. */
  const open: (Token | null)[] = [];
  let at = 0;
  let line = 1;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0] ?? "";
    at += text.length;
    line += text.split("\n").length - 1;
    return text;
  };
  /** Reads the text of a template literal up to the end, or to an expression. */
  const readTemplate = (template: Token): void => {
    take(templatePart);
    if (source[at] === "$") {
      at += 2;
      template.hasValues = true;
      tokens.push({ text: "${", line });
      open.push(template);
    } else at += 1;
  };
  while (at < source.length) {
    const text = (source[at] === "/" && !isValue(tokens.at(-1)) && take(regex)) || take(parts);
    if (/^(?:\s|\/[/*])/.test(text)) continue;
    const token: Token = { text, line };
    if (text === "{") open.push(null);
    tokens.push(token);
    if (text === "`") readTemplate(token);
    if (text !== "}") continue;
    const template = open.pop() ?? null;
    if (template !== null) readTemplate(template);
  }
  return tokens;
}

/** A bracket that is open: the name that the next value is for, and the way to the name. */
interface Frame {
  name: string;
  by: "property" | "variable" | "argument";
  /** Open `?`: the `:` of a choice begins no property. */
  choices: number;
}

function frameFor(token: Token, before: readonly (Token | undefined)[], outer: Frame): Frame {
  const [last, second] = before;
  const isFilter = last?.text === "filter" && (second?.text === "." || second?.text === "?.");
  if (token.text === "(" && isFilter) return { name: "filter", by: "argument", choices: 0 };
  const isGroup = token.text === "(" && !isValue(last);
  return isGroup ? { ...outer, choices: 0 } : { name: "", by: "property", choices: 0 };
}

/** A line for each such filter in the code of a project, with file and line. */
export function untaggedFilterWarnings(root: string): string[] {
  return readCode(root).flatMap(({ path, content }) =>
    untaggedFilters(content).map(
      (line) =>
        `${path}:${line}: a value is read as a part of the filter; write filter\`…\` with the tag, or where({ … })`,
    ),
  );
}

/** The lines, from 1, of filters that are template literals with values. */
export function untaggedFilters(source: string): number[] {
  const tokens = tokensOf(source);
  const found = new Set<number>();
  /** The lines of template literals with values, by the name of the variable. */
  const variables = new Map<string, number>();
  const frames: Frame[] = [];
  let frame: Frame = { name: "", by: "property", choices: 0 };
  for (const [i, token] of tokens.entries()) {
    const { text, line } = token;
    const [last, second, next] = [tokens[i - 1], tokens[i - 2], tokens[i + 1]];
    const named = (last?.text ?? "").replace(/^["'](.*)["']$/, "$1");
    if (token.hasValues === true && !isValue(last)) {
      if (frame.name === "filter" && frame.by !== "variable") found.add(line);
      if (frame.by === "variable" && frame.name !== "") variables.set(frame.name, line);
    } else if (word.test(text)) {
      const isShort = text === "filter" && /^[{,]$/.test(named) && /^[,}]$/.test(next?.text ?? "");
      const isGiven = frame.name === "filter" && frame.by !== "variable" && /^[:(]$/.test(named);
      const at = isShort || isGiven ? variables.get(text) : undefined;
      if (at !== undefined) found.add(at);
    }
    if (/^(?:const|let|var|,|;|=>)$/.test(text)) frame.name = "";
    else if (text === "?") frame.choices += 1;
    else if (text === ":" && frame.choices > 0) frame.choices -= 1;
    else if (text === ":") Object.assign(frame, { name: named, by: "property" });
    else if (text === "=" || text === "+=") {
      const isMember = second?.text === ".";
      Object.assign(frame, { name: frame.name || named, by: isMember ? "property" : "variable" });
    } else if (/^[([{]$|^\$\{$/.test(text)) {
      frames.push(frame);
      frame = frameFor(token, [last, second], frame);
    } else if (/^[)\]}]$/.test(text)) frame = frames.pop() ?? frame;
  }
  return [...found].toSorted((a, b) => a - b);
}
