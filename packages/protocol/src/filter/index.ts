/**
 * The filter language: tokens and syntax, for the server and for editors of filters. docs/queries.md describes the language.
 *
 * `parseSyntax` gives the tree of a whole filter: each part has the `start` and `end` in the text, brackets around a
 * part excluded. `tokensOf` gives the pieces of a text that may not be finished, for example the text before a cursor.
 */
export {
  type Call,
  calls,
  isLiteral,
  LIST_FILTER_BYTES,
  type Macro,
  macros,
  needsUser,
  type PathTerm,
  parsePathSyntax,
  parseSyntax,
  parseTermSyntax,
  type Span,
  type Step,
  type Syntax,
  type Term,
  textOf,
} from "./syntax.ts";
export {
  type Comparison,
  comparisons,
  FilterSyntaxError,
  isName,
  showNumber,
  type Token,
  tokensOf,
} from "./tokens.ts";
