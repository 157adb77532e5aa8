import { expect, test } from "bun:test";
import fc from "fast-check";
import { filter } from "../packages/client/src/index.ts";
import { type ExpressionSchema, parseExpression } from "../packages/server/src/data/expressions/index.ts";

const shape: ExpressionSchema = {
  name: "posts",
  table: "posts",
  condition: null,
  field: (name) => ({
    name,
    valueType: name === "n" ? "number" : "text",
    column: name,
    isRelation: false,
    isIndexed: false,
  }),
  fieldNames: () => [],
  follow: () => shape,
  back: () => "nothing points here",
};

test("values are written in the form of the language", () => {
  expect(filter`a = ${'x"\\'} && n in ${[1, -2.5]} || b = ${null} || c = ${true}`).toBe(
    'a = "x\\"\\\\" && n in (1, -2.5) || b = null || c = true',
  );
  expect(filter`due < ${new Date(0)}`).toBe('due < "1970-01-01T00:00:00.000Z"');
  expect(filter`n = 1`).toBe("n = 1");
});

test("a value without a literal is refused", () => {
  expect(() => filter`n = ${Number.NaN}`).toThrow("A filter has no value NaN");
  expect(() => filter`n = ${JSON.parse("{}")}`).toThrow("A filter has no value for object");
  expect(() => filter`n = ${JSON.parse("[]")[0]}`).toThrow("A filter has no value for undefined");
  expect(() => filter`n in ${[]}`).toThrow("A list in a filter needs at least one value");
});

test("any typed text stays a value", () => {
  const text = fc.string({ unit: "grapheme" }).filter((value) => value.isWellFormed() && !value.includes("\0"));
  fc.assert(
    fc.property(text, fc.double({ noNaN: true, noDefaultInfinity: true }), (typed, double) => {
      // -0 is 0 to a filter.
      const n = double + 0;
      const parsed = parseExpression(filter`a = ${typed} && n in ${[n, 0]}`, shape);
      expect<unknown>(parsed).toMatchObject({
        items: [{ right: { value: typed } }, { items: [{ value: n }, { value: 0 }] }],
      });
    }),
  );
});
