/** Pattern of a `regex` rule: compiled by RE2JS, which takes time linear in the text. */
import type { RE2JS } from "re2js";

/** A pattern of a `regex` rule, compiled. It takes time linear in the text, whatever the pattern. */
export interface Pattern {
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean;
}

let engine: typeof RE2JS | null = null;

/** The engine is large; it is loaded with the first pattern. */
async function loadEngine(): Promise<typeof RE2JS> {
  engine ??= (await import("re2js")).RE2JS;
  return engine;
}

/**
 * Compiles a pattern in JavaScript's notation.
 * @throws Error when it is not a pattern, or needs backtracking (backreferences, lookaround).
 */
export async function compilePattern(source: string): Promise<Pattern> {
  const { compile, translateRegExp } = await loadEngine().then((re2) => ({
    compile: re2.compile.bind(re2),
    translateRegExp: re2.translateRegExp.bind(re2),
  }));
  const compiled = compile(translateRegExp(source));
  return { test: (text) => compiled.matcher(text).find() };
}
