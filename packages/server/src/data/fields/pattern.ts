/** Pattern of a `regex` rule: compiled by RE2JS, which takes time linear in the text. */
import type { Pattern } from "./check-value.ts";

/**
 * Compiles a pattern in JavaScript's notation.
 * @throws Error for an invalid pattern, and for a pattern that needs backtracking (backreferences, lookaround).
 */
export function compilePattern(source: string): Pattern {
  // The large engine is loaded with the first pattern. A synchronous import: the module has this type.
  const { RE2JS } = require("re2js") as typeof import("re2js");
  const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
  return { test: (text) => compiled.matcher(text).find() };
}

/** A stored pattern, which is compiled when the first text is tested. */
export function storedPattern(source: string): Pattern {
  let pattern: Pattern | null = null;
  return {
    test(text) {
      pattern ??= compilePattern(source);
      return pattern.test(text);
    },
  };
}
