/** Operators of updates: the resulting values, and the refusal of every other object and of a broken rule. */
import { describe, expect, test } from "bun:test";
import type { ErrorDetail } from "@socle/protocol";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const safe = Number.MAX_SAFE_INTEGER;
const several = (name: string, type: string, more: object = {}) => ({ name, type, multiple: true, ...more });
const { request, admin, register, service } = await openApi({
  collections: [
    {
      name: "things",
      fields: [
        { name: "title", type: "string" },
        { name: "stock", type: "integer", min: 0, max: 100 },
        { name: "count", type: "integer" },
        { name: "rating", type: "float" },
        { name: "code", type: "integer", unique: true },
        { name: "isOn", type: "boolean" },
        { name: "due", type: "datetime" },
        { name: "meta", type: "json" },
        { name: "toString", type: "string" },
        { name: "number", type: "integer", sequence: true },
        { name: "by", type: "relation", collection: "users", owner: true },
        { name: "part", type: "relation", collection: "things" },
        several("tags", "string", { min: 2, max: 4, regex: "^[a-z]+$" }),
        several("kinds", "string", { values: ["bug", "idea"], required: true, default: ["bug"] }),
      ],
      permissions: { update: "public" },
    },
  ],
});
const root = await admin();
const { accessToken: ann } = await register("ann@example.com");

type Fields = Record<string, unknown>;
async function make(collection: string, body: object, token = root): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, token });
  expect([answer.status, answer.body["error"]]).toEqual([201, undefined as never]);
  return String(answer.body["id"]);
}
const put = (path: string, body: object, token = ann): Promise<Answer> =>
  request("PUT", `/api/${path}`, { body, token });
const read = async (path: string): Promise<Fields> =>
  (await request<Fields>("GET", `/api/${path}`, { token: root })).body;
const detailsOf = ({ body }: Answer): unknown => body["error"]?.["details"];

describe("the resulting value", () => {
  test.each<[string, Fields, Fields, Fields]>([
    ["of an integer", { stock: 10 }, { stock: { $increment: -1 } }, { stock: 9 }],
    ["at the bounds", { stock: 10 }, { stock: { $increment: 90 } }, { stock: 100 }],
    ["from null", {}, { stock: { $increment: 3 }, rating: { $increment: -1.5 } }, { stock: 3, rating: -1.5 }],
    ["of a float", { rating: 1.5 }, { rating: { $increment: 1e300 } }, { rating: 1e300 }],
    ["at the end of the integers", { count: safe - 1 }, { count: { $increment: 1 } }, { count: safe }],
    ["beside a plain value", { stock: 1 }, { title: "t", stock: { $increment: 1 } }, { title: "t", stock: 2 }],
    ["with added items", { tags: ["b", "a"] }, { tags: { $add: ["d", "c"] } }, { tags: ["b", "a", "d", "c"] }],
    ["with items from none", {}, { tags: { $add: ["b", "a"] } }, { tags: ["b", "a"] }],
    [
      "with an item that is there already",
      { tags: ["b", "a"] },
      { tags: { $add: ["c", "b"] } },
      { tags: ["b", "a", "c"] },
    ],
    ["without items", { tags: ["c", "b", "a"] }, { tags: { $remove: ["b", "x"] } }, { tags: ["c", "a"] }],
    ["without any item", { tags: ["b", "a"] }, { tags: { $remove: ["a", "b"] } }, { tags: [] }],
    [
      "with and without items",
      { tags: ["a", "b", "c", "d"] },
      { tags: { $remove: ["b"], $add: ["e"] } },
      { tags: ["a", "c", "d", "e"] },
    ],
    [
      "with items in a place that becomes free",
      { kinds: ["bug"] },
      { kinds: { $add: ["idea"], $remove: ["bug"] } },
      { kinds: ["idea"] },
    ],
  ])("%s", async (_name, before, body, after) => {
    const id = await make("things", before);
    const seq = await lastSeq(service);
    const answer = await put(`things/${id}`, body);
    expect([answer.status, answer.body]).toMatchObject([200, after]);
    const stored = await read(`things/${id}`);
    expect(stored).toEqual(answer.body);
    // The event is the event of the same update with plain values.
    const events = await service.events.read(seq, 10);
    expect(events.map(({ type, payload }) => [type, payload])).toEqual([["things.updated", stored]]);
  });

  test.each<[string, Fields, Fields]>([
    ["0", { stock: 5 }, { stock: { $increment: 0 } }],
    ["an item that is there", { tags: ["a", "b"] }, { tags: { $add: ["b", "a"] } }],
    ["an absent item", { tags: ["a", "b"] }, { tags: { $remove: ["c"] } }],
    ["no items", { tags: ["a", "b"] }, { tags: { $add: [], $remove: [] } }],
    ["a number that a float does not hold", { rating: 1e300 }, { rating: { $increment: 1 } }],
  ])("stays with %s: no event, as with {}", async (_name, before, body) => {
    const id = await make("things", before);
    const [stored, seq] = [await read(`things/${id}`), await lastSeq(service)];
    const answer = await put(`things/${id}`, body);
    expect([answer.status, answer.body]).toEqual([200, stored] as never);
    expect(await eventsSince(service, seq)).toEqual([]);
  });

  test("the table of the items follows", async () => {
    const id = await make("things", { tags: ["one", "two"] });
    await put(`things/${id}`, { tags: { $add: ["three"], $remove: ["one"] } });
    const has = async (tag: string): Promise<number> =>
      (await request<{ items: [] }>("GET", `/api/things?filter=${encodeURIComponent(`tags = "${tag}"`)}`)).body.items
        .length;
    expect([await has("one"), await has("two"), await has("three")]).toEqual([0, 1, 1]);
  });

  test("an object on a json field is a value, in a create and in an update", async () => {
    const meta = { $increment: 1, $add: ["x"] };
    const id = await make("things", { meta });
    expect((await read(`things/${id}`))["meta"]).toEqual(meta);
    expect((await put(`things/${id}`, { meta: { $increment: 2 } })).body["meta"]).toEqual({ $increment: 2 } as never);
  });

  test("with If-Match: only of the named version", async () => {
    const id = await make("things", { stock: 5 });
    const { updatedAt } = await read(`things/${id}`);
    const buy = () =>
      request("PUT", `/api/things/${id}`, {
        body: { stock: { $increment: -1 } },
        token: root,
        headers: { "If-Match": `"${id}@${updatedAt}"` },
      });
    expect([(await buy()).status, (await buy()).status, (await read(`things/${id}`))["stock"]]).toEqual([200, 412, 4]);
  });
});

const whole = "a whole number between -(2^53-1) and 2^53-1";
const text = "a string of Unicode text without NUL";
const of = (field: string, message: string, more: Partial<ErrorDetail> = {}): ErrorDetail => ({
  field,
  rule: "type",
  message: `${field}${message}`,
  ...more,
});

describe("400", () => {
  test.each<[string, Fields, ErrorDetail[]]>([
    ["an unknown operator", { stock: { $inc: 1 } }, [of("stock", ' has no operator "$inc"; allowed: $increment')]],
    [
      "an operator and another key",
      { stock: { $increment: 1, by: 2 } },
      [of("stock", ' has no operator "by"; allowed: $increment')],
    ],
    [
      "an operator of another type",
      { tags: { $increment: 1 } },
      [of("tags", ' has no operator "$increment"; allowed: $add or $remove')],
    ],
    [
      "a reference outside of a batch",
      { count: { $ref: 0 } },
      [of("count", ' has no operator "$ref"; allowed: $increment')],
    ],
    [
      "an empty object",
      { stock: {} },
      [of("stock", ` must be ${whole}, or an object with $increment; the object is empty`)],
    ],
    [
      "an empty object of items",
      { tags: {} },
      [
        of(
          "tags",
          ` must be an array, each item of it ${text}, or an object with $add or $remove; the object is empty`,
        ),
      ],
    ],
    ["null", { stock: { $increment: null } }, [of("stock", `.$increment must be ${whole}`)]],
    ["a text", { stock: { $increment: "1" } }, [of("stock", `.$increment must be ${whole}`)]],
    ["a fraction for an integer", { stock: { $increment: 0.5 } }, [of("stock", `.$increment must be ${whole}`)]],
    ["no items but null", { tags: { $add: null } }, [of("tags", `.$add must be an array, each item of it ${text}`)]],
    [
      "an item without array",
      { tags: { $add: ["x"], $remove: "a" } },
      [of("tags", `.$remove must be an array, each item of it ${text}`)],
    ],
    [
      "an item of another type",
      { tags: { $remove: ["a", 5] } },
      [of("tags", `.$remove[1] must be ${text}`, { item: 1 })],
    ],
    [
      "an item against the pattern",
      { tags: { $add: ["x", "X"] } },
      [of("tags", ".$add[1] must match ^[a-z]+$", { rule: "regex", item: 1 })],
    ],
    [
      "another value",
      { kinds: { $add: ["bugg"] } },
      [of("kinds", '.$add[0] must be "bug" or "idea"; did you mean "bug"?', { item: 0 })],
    ],
    [
      "an item twice",
      { tags: { $add: ["x", "x"] } },
      [of("tags", '.$add[1] is "x", as item 0 is, and items are distinct', { rule: "unique", item: 1 })],
    ],
    [
      "an item to add and to remove",
      { tags: { $add: ["x"], $remove: ["x"] } },
      [of("tags", ' cannot both $add and $remove "x"')],
    ],
    [
      "too many items at once",
      { tags: { $add: ["v", "w", "x", "y", "z"] } },
      [of("tags", ".$add must have at most 4 items", { rule: "max" })],
    ],
    [
      "a string",
      { title: { $increment: 1 } },
      [
        of(
          "title",
          ` must be ${text}; the field takes no operator: operators are for integer, float and multiple fields`,
        ),
      ],
    ],
    [
      "a field with the name of a method",
      { toString: { $add: [] } },
      [
        of(
          "toString",
          ` must be ${text}; the field takes no operator: operators are for integer, float and multiple fields`,
        ),
      ],
    ],
    ["an empty object on a string", { title: {} }, [of("title", ` must be ${text}`)]],
    [
      "a boolean",
      { isOn: { $increment: 1 } },
      [
        of(
          "isOn",
          " must be true or false; the field takes no operator: operators are for integer, float and multiple fields",
        ),
      ],
    ],
    [
      "a relation",
      { part: { $add: ["x"] } },
      [
        of(
          "part",
          " must be the id of a record, a string; the field takes no operator: operators are for integer, float and multiple fields",
        ),
      ],
    ],
    [
      "the owner",
      { by: { $add: ["x"] } },
      [
        of(
          "by",
          " must be the id of a record, a string; the field takes no operator: operators are for integer, float and multiple fields",
        ),
      ],
    ],
    ["a sequence", { number: { $increment: 1 } }, [of("number", " is numbered by the service", { rule: "readonly" })]],
    [
      "a sequence that stays",
      { number: { $increment: 0 } },
      [of("number", " is numbered by the service", { rule: "readonly" })],
    ],
    ["below min", { stock: { $increment: -6 } }, [of("stock", " must be at least 0", { rule: "min" })]],
    ["above max", { stock: { $increment: 96 } }, [of("stock", " must be at most 100", { rule: "max" })]],
    ["beyond the integers", { count: { $increment: safe } }, [of("count", ` must be ${whole}`)]],
    ["beyond the floats", { rating: { $increment: 1.7e308 } }, [of("rating", " must be a finite number")]],
    ["too few items", { tags: { $remove: ["a"] } }, [of("tags", " must have at least 2 items", { rule: "min" })]],
    [
      "too many items",
      { tags: { $add: ["x", "y", "z"] } },
      [of("tags", " must have at most 4 items", { rule: "max" })],
    ],
    [
      "no item of a required field",
      { kinds: { $remove: ["bug"] } },
      [of("kinds", " is required", { rule: "required" })],
    ],
    [
      "a value that is taken",
      { code: { $increment: 1 } },
      [of("code", " is taken by another record", { rule: "unique" })],
    ],
    [
      "several problems",
      { count: { $x: 1 }, stock: { $increment: -9 }, nosuch: { $increment: 1 }, title: 5 },
      [
        of("nosuch", "", { rule: "unknown", message: '"nosuch" is not a field of this collection' }),
        of("title", ` must be ${text}`),
        of("stock", " must be at least 0", { rule: "min" }),
        of("count", ' has no operator "$x"; allowed: $increment'),
      ],
    ],
  ])("%s", async (_name, body, details) => {
    const code = Math.floor(Math.random() * 1e9);
    await make("things", { code: code + 1 });
    const id = await make("things", { stock: 5, count: 1, rating: 1.7e308, code, tags: ["a", "b"], title: "t" });
    const [stored, seq] = [await read(`things/${id}`), await lastSeq(service)];
    const answer = await put(`things/${id}`, body);
    expect([answer.status, answer.body["error"]?.["code"]]).toEqual([400, "validation_error"] as never);
    expect(detailsOf(answer)).toEqual(details);
    expect(await read(`things/${id}`)).toEqual(stored);
    expect(await eventsSince(service, seq)).toEqual([]);
  });

  test.each<[Fields, ErrorDetail]>([
    [{ stock: { $increment: 1 } }, of("stock", ` must be ${whole}; operators are for the body of an update`)],
    [
      { tags: { $add: ["x"] } },
      of("tags", ` must be an array, each item of it ${text}; operators are for the body of an update`),
    ],
    [{ title: { $add: ["x"] } }, of("title", ` must be ${text}`)],
    [{ number: { $increment: 1 } }, of("number", " is numbered by the service", { rule: "readonly" })],
  ])("a create with %j", async (body, detail) => {
    expect(detailsOf(await request("POST", "/api/things", { body, token: ann }))).toEqual([detail]);
  });
});
