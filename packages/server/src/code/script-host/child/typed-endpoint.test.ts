/** JSON Schemas of the handlers that `endpoint` makes, with the libraries of schemas that people use. */
import { expect, test } from "bun:test";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { endpoint, schemasOf } from "./typed-endpoint.ts";

const answer = (): null => null;
const amount = { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] };

test("zod and arktype give JSON Schema, of the input and of the response", () => {
  const ofZod = endpoint(
    {
      body: z.object({ amount: z.int(), note: z.string().default("") }),
      query: z.object({ page: z.string().optional() }),
      answer: z.object({ sum: z.number() }),
    },
    answer,
  );
  const { body, query, answer: answered } = schemasOf(ofZod);
  expect(body).toMatchObject({ ...amount, properties: { amount: { type: "integer" }, note: { default: "" } } });
  // The default is for the caller's side: the member may be absent.
  expect(body?.["required"]).toEqual(["amount"]);
  expect(query).toMatchObject({ properties: { page: { type: "string" } } });
  expect(answered).toMatchObject({ properties: { sum: { type: "number" } }, required: ["sum"] });
  const ofArktype = endpoint({ body: type({ amount: "number.integer" }) }, answer);
  expect(schemasOf(ofArktype)).toMatchObject({ body: amount });
  for (const schemas of [schemasOf(ofZod), schemasOf(ofArktype)])
    expect(JSON.stringify(schemas)).not.toContain("$schema");
});

test("a schema without a JSON form, with references or too large a form is left out, and a plain function has no schema", () => {
  const recursive = z.object({
    get parts() {
      return z.array(recursive);
    },
  });
  const large = z.enum(Array.from({ length: 10_000 }, (_, i) => `value ${i}`));
  for (const body of [v.object({ amount: v.number() }), z.object({ at: z.date() }), recursive, large])
    expect(schemasOf(endpoint({ body }, answer))).toEqual({});
  expect(schemasOf(answer)).toEqual({});
  expect(schemasOf(null)).toEqual({});
});
