/** Pattern of a `regex` rule: compiled by RE2JS, which takes time linear in the text. */
import type { RE2JS } from "re2js";
import type { Pattern } from "../fields/index.ts";

let engine: typeof RE2JS | null = null;

/** The large engine is loaded with the first pattern. */
async function loadEngine(): Promise<typeof RE2JS> {
  engine ??= (await import("re2js")).RE2JS;
  return engine;
}

/**
 * Compiles a pattern in JavaScript's notation.
 * @throws Error for an invalid pattern, and for a pattern that needs backtracking (backreferences, lookaround).
 */
export async function compilePattern(source: string): Promise<Pattern> {
  const { compile, translateRegExp } = await loadEngine().then((re2) => ({
    compile: re2.compile.bind(re2),
    translateRegExp: re2.translateRegExp.bind(re2),
  }));
  const compiled = compile(translateRegExp(source));
  return { test: (text) => compiled.matcher(text).find() };
}
