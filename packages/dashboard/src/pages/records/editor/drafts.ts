/**
 * Drafts: typed and unsaved edits of a form, kept in the browser's tab until the user saves or discards the edits. Drafts live
 * as long as the tokens, in `sessionStorage`, so that the next person at this browser finds no drafts.
 */
import type { Edit, Edits } from "./edits.ts";

export const MAX_DRAFTS = 20;
/** Most bytes of a draft. */
const MAX_DRAFT_SIZE = 256 * 1_024;

export interface Draft {
  /** ISO 8601. */
  readonly savedAt: string;
  readonly edits: Edits;
}

/** The part of `Storage` that drafts need. */
export type DraftStorage = Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">;

const prefix = "socle.draft:";

function isEdit(value: unknown): value is Edit {
  if (typeof value !== "object" || value === null || !("from" in value) || typeof value.from !== "string") return false;
  return "value" in value || ("text" in value && typeof value.text === "string");
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null || !("savedAt" in value) || !("edits" in value)) return false;
  const { savedAt, edits } = value;
  return (
    typeof savedAt === "string" &&
    typeof edits === "object" &&
    edits !== null &&
    Object.keys(edits).length > 0 &&
    Object.values(edits).every(isEdit)
  );
}

export class DraftStore {
  readonly #storage: DraftStorage;

  constructor(storage: DraftStorage) {
    this.#storage = storage;
  }

  read(collection: string, recordId: string): Draft | null {
    try {
      const value: unknown = JSON.parse(this.#storage.getItem(keyOf(collection, recordId)) ?? "null");
      return isDraft(value) ? value : null;
    } catch {
      return null;
    }
  }

  /** Keeps a draft, and the newest 20 in all. Answers false, and keeps nothing, when the draft is too large or the storage is full. */
  write(collection: string, recordId: string, draft: Draft): boolean {
    const key = keyOf(collection, recordId);
    const json = JSON.stringify(draft);
    if (new TextEncoder().encode(json).length > MAX_DRAFT_SIZE) {
      this.#storage.removeItem(key);
      return false;
    }
    const others = this.#oldestFirst().filter((each) => each !== key);
    for (const old of others.splice(0, Math.max(0, others.length - MAX_DRAFTS + 1))) this.#storage.removeItem(old);
    for (;;) {
      try {
        this.#storage.setItem(key, json);
        return true;
      } catch {
        // The browser's storage has a bound: the oldest drafts make room.
        const oldest = others.shift();
        if (oldest === undefined) return false;
        this.#storage.removeItem(oldest);
      }
    }
  }

  remove(collection: string, recordId: string): void {
    this.#storage.removeItem(keyOf(collection, recordId));
  }

  #oldestFirst(): string[] {
    const found: { key: string; savedAt: string }[] = [];
    for (let i = 0; i < this.#storage.length; i += 1) {
      const key = this.#storage.key(i);
      if (key === null || !key.startsWith(prefix)) continue;
      // `savedAt` comes first in the JSON of each draft.
      const savedAt = /"savedAt":"([^"]*)"/.exec((this.#storage.getItem(key) ?? "").slice(0, 100))?.[1] ?? "";
      found.push({ key, savedAt });
    }
    return found.sort((a, b) => (a.savedAt < b.savedAt ? -1 : 1)).map(({ key }) => key);
  }
}

function keyOf(collection: string, recordId: string): string {
  return `${prefix}${collection}/${recordId}`;
}
