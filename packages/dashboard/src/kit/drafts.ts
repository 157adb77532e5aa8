/**
 * Drafts: typed and unsaved contents of forms, kept in the browser's tab until the user saves or discards the contents. Drafts
 * live as long as the tokens, in `sessionStorage`, so that the next person at this browser finds no drafts.
 */

export const MAX_DRAFTS = 20;
/** Most bytes of a draft. */
const MAX_DRAFT_SIZE = 256 * 1_024;

export interface Draft<T> {
  /** ISO 8601. */
  readonly savedAt: string;
  readonly content: T;
}

/** The part of `Storage` that drafts need. */
export type DraftStorage = Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">;

const prefix = "socle.draft:";

function isDraft(value: unknown): value is Draft<unknown> {
  return typeof value === "object" && value !== null && "content" in value && "savedAt" in value;
}

export class DraftStore {
  readonly #storage: DraftStorage;

  constructor(storage: DraftStorage) {
    this.#storage = storage;
  }

  /** The draft of a form; null without a draft, and for a content of another form. */
  read<T>(id: string, isContent: (content: unknown) => content is T): Draft<T> | null {
    try {
      const value: unknown = JSON.parse(this.#storage.getItem(prefix + id) ?? "null");
      if (!isDraft(value) || typeof value.savedAt !== "string" || !isContent(value.content)) return null;
      return { savedAt: value.savedAt, content: value.content };
    } catch {
      return null;
    }
  }

  has(id: string): boolean {
    return this.#storage.getItem(prefix + id) !== null;
  }

  /** Keeps a draft, and the newest 20 in all. Answers false, and keeps nothing, when the draft is too large or the storage is full. */
  write(id: string, draft: Draft<unknown>): boolean {
    const key = prefix + id;
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

  remove(id: string): void {
    this.#storage.removeItem(prefix + id);
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
