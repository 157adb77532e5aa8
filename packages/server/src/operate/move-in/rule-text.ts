/** Rules in the language of Socle that a reader puts together from parts. */

/** A rule as text; `true` and `false` are no text. */
export type Rule = boolean | { readonly text: string; readonly isOr: boolean };

/** The condition that the caller is signed in. */
export const signedIn = "@user.id != null";

/** A text as a value of the language. */
export const literalOf = (text: string): string => JSON.stringify(text);

export function all(rules: readonly Rule[]): Rule {
  return join(rules, { stops: false, word: " && " });
}

export function any(rules: readonly Rule[]): Rule {
  return join(rules, { stops: true, word: " || " });
}

function join(rules: readonly Rule[], { stops, word }: { stops: boolean; word: string }): Rule {
  if (rules.includes(stops)) return stops;
  const parts = rules.flatMap((rule) => (typeof rule === "boolean" ? [] : [rule]));
  const isOr = word === " || ";
  const texts = new Set(parts.map(({ text, isOr: hasOr }) => (hasOr && !isOr ? `(${text})` : text)));
  const [only] = parts;
  if (only === undefined) return !stops;
  return texts.size === 1 ? only : { text: [...texts].join(word), isOr };
}

/** The rule of an operation: a word or an expression. */
export function wordOf(rule: Rule): string {
  if (typeof rule === "boolean") return rule ? "public" : "admin";
  return rule.text === signedIn ? "authenticated" : rule.text;
}
