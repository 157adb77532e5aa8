/** Tests of the drafts. */
import { beforeEach, expect, test } from "bun:test";
import { type DraftStorage, DraftStore, MAX_DRAFTS } from "./drafts.ts";

/** A storage with a bound of characters, like the storage of a browser. */
class MemoryStorage implements DraftStorage {
  readonly items = new Map<string, string>();
  capacity = Number.POSITIVE_INFINITY;

  get length(): number {
    return this.items.size;
  }

  key(index: number): string | null {
    return [...this.items.keys()][index] ?? null;
  }

  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    const others = [...this.items].filter(([each]) => each !== key);
    const used = others.reduce((sum, [, each]) => sum + each.length, 0);
    if (used + value.length > this.capacity) throw new DOMException("full", "QuotaExceededError");
    this.items.set(key, value);
  }

  removeItem(key: string): void {
    this.items.delete(key);
  }
}

let storage: MemoryStorage;
let drafts: DraftStore;

beforeEach(() => {
  storage = new MemoryStorage();
  drafts = new DraftStore(storage);
});

function draft(value: string, minute = 0) {
  const savedAt = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return { savedAt, content: value };
}

function isText(content: unknown): content is string {
  return typeof content === "string" && content !== "";
}

function read(id: string) {
  return drafts.read(id, isText);
}

test("a draft returns unchanged, only for its form", () => {
  expect(drafts.write("posts/rec_1", draft("a"))).toBe(true);
  expect(read("posts/rec_1")).toEqual(draft("a"));
  expect(read("posts/rec_2")).toBeNull();
  drafts.remove("posts/rec_1");
  expect(read("posts/rec_1")).toBeNull();
});

test("the newest drafts stay, and other entries of the storage, too", () => {
  storage.items.set("other", "stays");
  for (let i = 0; i < MAX_DRAFTS + 5; i += 1) drafts.write(`posts/rec_${i}`, draft("a", i));
  expect(storage.items.size).toBe(MAX_DRAFTS + 1);
  expect(read("posts/rec_4")).toBeNull();
  expect(read("posts/rec_5")).not.toBeNull();
  expect(storage.items.get("other")).toBe("stays");
});

test("the same draft written again and again takes no place from others", () => {
  for (let i = 0; i < MAX_DRAFTS; i += 1) drafts.write(`posts/rec_${i}`, draft("a", i));
  for (let i = 0; i < 30; i += 1) drafts.write("posts/rec_19", draft("b", 60 + i));
  expect(read("posts/rec_0")).not.toBeNull();
});

test("a draft that is too large is refused, by its bytes, and the older draft of the record is removed", () => {
  drafts.write("posts/rec_1", draft("a"));
  expect(drafts.write("posts/rec_1", draft("ü".repeat(140_000)))).toBe(false);
  expect(read("posts/rec_1")).toBeNull();
});

test("the oldest drafts make space if the browser has none", () => {
  storage.capacity = 400;
  for (let i = 0; i < 4; i += 1) expect(drafts.write(`posts/rec_${i}`, draft("x".repeat(60), i))).toBe(true);
  expect(read("posts/rec_3")).not.toBeNull();
  expect(read("posts/rec_0")).toBeNull();
  expect(drafts.write("posts/rec_9", draft("x".repeat(500), 9))).toBe(false);
});

test("a text that is no draft, or no content of the form, is dropped", () => {
  for (const broken of [
    "{",
    "null",
    "[]",
    '{"savedAt":"x"}',
    '{"savedAt":1,"content":"a"}',
    '{"savedAt":"x","content":""}',
    '{"savedAt":"x","content":{}}',
  ]) {
    storage.items.set("socle.draft:posts/rec_1", broken);
    expect(read("posts/rec_1")).toBeNull();
  }
});
