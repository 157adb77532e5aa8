/**
 * The parser of forms, loaded with the first upload. A module of its own, because the compiler writes `import()` of a CommonJS package
 * as a call of a helper, and may give the helper the name of the parameter beside: `(m) => m(m.default)`.
 */
export { default as busboy } from "busboy";
