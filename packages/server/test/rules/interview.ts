/** Interviews of the property test of rules: the answers to callers' questions, fresh, from memory and by the ETags of earlier answers. */
import { expect } from "bun:test";
import type { Answer } from "../kit.ts";
import type { Actor, Cast } from "./cast.ts";
import type { Question } from "./question.ts";

export class Interview {
  readonly #cast: Cast;
  /** Answers by caller and path, with their tags. */
  readonly #earlier = new Map<string, { tag: string; body: unknown }>();

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  /** Asks every caller, one after the other; then in reverse order, with the ETags of the caller and of another caller. */
  async ask(question: Question): Promise<void> {
    const tags = new Map<Actor, string>();
    for (const caller of this.#cast.callers) {
      const answer = await this.answerTo(question, caller);
      const tag = answer.headers.get("etag");
      if (answer.status === 200 && tag !== null) tags.set(caller, tag);
    }
    for (const caller of [...this.#cast.callers].reverse()) {
      const own = tags.get(caller);
      if (own !== undefined && !question.isFleeting) {
        const headers = { "If-None-Match": own };
        expect([question.path, caller.name, (await this.#cast.get(caller, question.path, headers)).status]).toEqual([
          question.path,
          caller.name,
          304,
        ]);
      }
      for (const [other, tag] of tags)
        if (other !== caller) await this.answerTo(question, caller, { tag, isLike: same(question, caller, other) });
    }
    await this.#page(question);
  }

  /** @param known a tag of another caller: the tag fits when both callers get the same answer. */
  async answerTo(
    question: Question,
    caller: Actor,
    known: { tag: string; isLike: boolean } | null = null,
  ): Promise<Answer<unknown>> {
    if (known === null) await this.#compareEarlier(question, caller);
    const headers = known === null ? {} : { "If-None-Match": known.tag };
    const answer = await this.#cast.get(caller, question.path, headers);
    const expected = question.answerTo(caller);
    const at = [question.path, caller.name];
    if (known?.isLike === true && answer.status === 304) return answer;
    if (!("body" in expected))
      expect([...at, [...expected.statuses].includes(answer.status), answer.status]).toEqual([
        ...at,
        true,
        answer.status,
      ]);
    else
      expect([...at, answer.status, comparable(question, caller, answer.body)]).toEqual([
        ...at,
        200,
        question.isUnordered(caller) ? sorted(expected.body) : expected.body,
      ]);
    const tag = answer.headers.get("etag");
    if (known === null && "body" in expected && tag !== null)
      this.#earlier.set(`${caller.name} ${question.path}`, { tag, body: expected.body });
    return answer;
  }

  /** The ETag of an earlier answer is for the same answer alone, whatever has changed since. */
  async #compareEarlier(question: Question, caller: Actor): Promise<void> {
    const earlier = this.#earlier.get(`${caller.name} ${question.path}`);
    if (earlier === undefined) return;
    const headers = { "If-None-Match": earlier.tag };
    const { status } = await this.#cast.get(caller, question.path, headers);
    if (status !== 304) return;
    const at = [question.path, caller.name, "not modified"];
    expect([...at, question.answerTo(caller)]).toEqual([...at, { body: earlier.body }]);
  }

  /** The same list in pages of two. */
  async #page(question: Question): Promise<void> {
    if (!question.isPaged) return;
    for (const caller of this.#cast.callers) {
      if (question.isUnordered(caller)) continue;
      const expected = question.answerTo(caller);
      if (!("body" in expected)) continue;
      const items: unknown[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const path: string = `${question.path}&limit=2&cursor=${cursor}`;
        const { status, body } = await this.#cast.get(caller, path);
        expect([path, caller.name, status]).toEqual([path, caller.name, 200]);
        const page = body as { items: unknown[]; nextCursor: string | null };
        items.push(...page.items);
        cursor = page.nextCursor;
      }
      expect([question.path, caller.name, items]).toEqual([
        question.path,
        caller.name,
        (expected.body as { items: unknown[] }).items,
      ]);
    }
  }
}

function same(question: Question, one: Actor, other: Actor): boolean {
  return JSON.stringify(question.answerTo(one)) === JSON.stringify(question.answerTo(other));
}

/** An answer in a form that can be compared: the cursor differs for each caller, so only its presence counts. */
function comparable(question: Question, caller: Actor, body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("nextCursor" in body)) return body;
  const { nextCursor, ...rest } = body;
  const page = { ...rest, hasMore: nextCursor !== null };
  return question.isUnordered(caller) ? sorted(page) : page;
}

/** A page with its items in a fixed order. */
function sorted(body: unknown): unknown {
  const { items, ...rest } = body as { items: { id: string }[] };
  return { ...rest, items: items.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}
