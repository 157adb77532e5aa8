/** Pattern of a `regex` rule: compiled by RE2JS, which takes time linear in the text. */
import type { RE2JS } from "re2js";
import type { Pattern } from "../fields/index.ts";

/** The large engine is loaded with the first pattern that is compiled. */
function engine(): typeof RE2JS {
  // A synchronous import: the module has this type.
  return (require("re2js") as typeof import("re2js")).RE2JS;
}

/**
 * Compiles a pattern in JavaScript's notation.
 * @throws Error for an invalid pattern, and for a pattern that needs backtracking (backreferences, lookaround).
 */
export function compilePattern(source: string): Pattern {
  const compiled = engine().compile(engine().translateRegExp(source));
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
