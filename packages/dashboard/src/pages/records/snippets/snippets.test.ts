import { expect, test } from "bun:test";
import type { FieldDefinition } from "@socle/protocol";
import { exampleOf, exampleRecord } from "./example.ts";
import { sampleOf } from "./pattern.ts";
import { LANGUAGES, REQUESTS, ruleOf, shellWord, snippet, type Target } from "./requests.ts";

const target: Target = {
  baseUrl: "http://localhost:8080",
  collection: "posts",
  permissions: { read: "public", create: "authenticated", update: "owner" },
  filter: `title = "it's" && views > 1 || $HOME ~ "\`id\`"`,
  search: undefined,
  sort: "-views,title",
  recordId: "rec_1",
  values: { title: 'It\'s $HOME "quoted" \\ `id`\nnew 😀', views: 1 },
  change: { title: "x" },
};

/** The arguments that a shell passes to a command. */
async function wordsOf(command: string): Promise<string[]> {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\nTOKEN=secret\n${command}`;
  const shell = Bun.spawn(["sh", "-c", script], { stdout: "pipe" });
  return (await new Response(shell.stdout).text()).split("\0").slice(0, -1);
}

test("a shell gets every word unchanged", async () => {
  for (const word of ["plain", "it's", "$HOME", "`id`", "a\nb", '"', "\\", "😀", "", "!x", "a'b'c"])
    expect(await wordsOf(`curl ${shellWord(word)}`)).toEqual([word]);
});

test("curl: list and create", async () => {
  expect(await wordsOf(snippet("list", "curl", target))).toEqual([
    "-G",
    "http://localhost:8080/api/posts",
    "--data-urlencode",
    `filter=${target.filter}`,
    "--data-urlencode",
    "sort=-views,title",
    "--data-urlencode",
    "limit=50",
  ]);
  const create = await wordsOf(snippet("create", "curl", target));
  expect(create).toContain("Authorization: Bearer secret");
  expect(JSON.parse(create.at(-1) ?? "")).toEqual(target.values);
  expect(await wordsOf(snippet("delete", "curl", target))).toContain("DELETE");
});

test("fetch: the address and the body return unchanged", () => {
  const list = snippet("list", "fetch", target);
  const address = new URL(JSON.parse(/fetch\((".*")\)/.exec(list)?.[1] ?? "null"));
  expect(address.searchParams.get("filter")).toBe(target.filter ?? null);
  expect(address.searchParams.get("sort")).toBe("-views,title");
});

test("every snippet is TypeScript that can be read", () => {
  const reader = new Bun.Transpiler({ loader: "ts" });
  for (const language of LANGUAGES.filter((each) => each !== "curl"))
    for (const kind of REQUESTS) expect(reader.transformSync(snippet(kind, language, target))).not.toBe("");
});

test("the token is in the snippet only if the rules need a token", () => {
  const rules = REQUESTS.map((kind) => ruleOf(kind, target.permissions));
  expect(rules).toEqual(["public", "public", "authenticated", "owner", "owner", "public"]);
  for (const language of ["curl", "fetch"] as const)
    expect(REQUESTS.map((kind) => snippet(kind, language, target).includes("$TOKEN"))).toEqual([
      false,
      false,
      true,
      true,
      true,
      false,
    ]);
  expect(ruleOf("delete", null)).toBe("public");
  expect(ruleOf("delete", { read: "admin" })).toBe("admin");
});

test("examples keep the rules of their fields", () => {
  const fits = (more: Partial<FieldDefinition>): boolean => {
    const field: FieldDefinition = { name: "f", type: "string", ...more };
    const value = exampleOf(field);
    if (typeof value === "number") return value >= (field.min ?? value) && value <= (field.max ?? value);
    const length = [...String(value)].length;
    const pattern = new RegExp(field.regex ?? "", "u");
    return length >= (field.min ?? 0) && length <= (field.max ?? length) && pattern.test(String(value));
  };
  for (const more of [
    { max: 2 },
    { min: 200, max: 210 },
    { regex: "^[a-z0-9-]+$" },
    { regex: "^[A-Z]{3}-\\d{4}$" },
    { regex: "^(EUR|USD)$" },
    { regex: "^\\+?[1-9]\\d{6,14}$" },
    { regex: "^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$" },
    { regex: "^v\\d+\\.\\d+$", min: 6 },
    { type: "integer", min: 100 },
    { type: "integer", max: -1 },
    { type: "float", min: 0, max: 1 },
  ] satisfies Partial<FieldDefinition>[])
    expect([more, fits(more)]).toEqual([more, true]);
  expect(sampleOf("(a", 1)).toBeNull();
  expect(sampleOf("\\bword", 1)).toBeNull();
});

test("a record's example leaves out the fields that the service fills, and names unknown values", () => {
  const fields: FieldDefinition[] = [
    { name: "author", type: "relation", collection: "users", owner: true, required: true },
    { name: "post", type: "relation", collection: "posts", required: true },
    { name: "parent", type: "relation", collection: "posts" },
    { name: "cover", type: "file" },
  ];
  expect(exampleRecord(fields, new Map())).toEqual({ post: "rec_…" });
  expect(exampleRecord(fields, new Map([["parent", "rec_7"]]))).toEqual({ post: "rec_…", parent: "rec_7" });
});
