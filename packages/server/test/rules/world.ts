/**
 * The property of rules: whatever the schema, its rules and its records, each caller gets to each question the answer of the model,
 * hears of each change the event of the model, and no answer differs by a value that the caller may not read.
 *
 * A run makes a schema and records, then: (1) asks all questions for every caller, twice, so that some answers come from memory and
 * by ETag; (2) makes changes as several callers, while sockets listen and a list is paged; (3) asks again; (4) replays; (5) changes
 * values that some callers may not read, and compares every answer to these callers byte for byte.
 */
import { expect } from "bun:test";
import type { Answer } from "../kit.ts";
import type { Actor, Cast } from "./cast.ts";
import { type Attempt, noteFiles, refusalOf } from "./changes.ts";
import { Downloads } from "./files.ts";
import { Generator } from "./generate.ts";
import { Interview } from "./interview.ts";
import { Listeners } from "./listeners.ts";
import { Model, type ModelCollection, type ModelRecord, ownerField, recordItems } from "./model.ts";
import type { Question } from "./question.ts";
import { pageQuestion, questionsFor } from "./questions.ts";
import type { Value } from "./syntax.ts";

/** The collection whose events show that all earlier events have arrived. */
const ending = { name: "ending", fields: [{ name: "n", type: "integer" }] };

export class World {
  readonly #cast: Cast;
  readonly #generator: Generator;
  readonly #listeners: Listeners;
  readonly #interview: Interview;
  #collections: readonly ModelCollection[];
  #model: Model;
  /** See `Model`. */
  readonly #unread = new Set<string>();
  #secrets = 0;

  constructor(cast: Cast, choose: (bound: number) => number) {
    this.#cast = cast;
    this.#generator = new Generator(choose);
    this.#collections = this.#generator.collections();
    this.#model = new Model(this.#collections, new Map());
    this.#interview = new Interview(cast);
    this.#listeners = new Listeners(cast, this.#generator.names);
  }

  async run(): Promise<void> {
    await this.#define();
    await this.#fill();
    await this.#ask();
    await this.#listeners.begin(this.#model, this.#generator);
    const { events } = this.#cast.server.service;
    const since = (await events.at(events.flushedSeq))?.id ?? "";
    for (let left = 12; left > 0; left--) {
      const kind = this.#generator.of(["record", "record", "record", "record", "role", "rules"] as const);
      if (kind === "record") await this.#change();
      else await this.#aside(() => (kind === "role" ? this.#changeRole() : this.#changeRules()));
    }
    await this.#listeners.compare();
    await this.#ask();
    await this.#listeners.replay(since, this.#model);
    await this.#interfere();
    this.#listeners.end();
  }

  async #define(): Promise<void> {
    for (const user of this.#cast.users) await this.#cast.setRole(user, "authenticated");
    await this.#cast.must("PUT", "/api/admin/schema.json", { collections: [ending] });
    await this.#cast.must("PUT", "/api/admin/schema.json", { collections: [ending, ...this.#model.definitions()] });
  }

  #values(): { [field: string]: Value } {
    return this.#generator.values({ users: this.#cast.userIds, files: this.#cast.fileIds }, this.#secret());
  }

  #secret(): string {
    this.#secrets += 1;
    return `secret${this.#secrets}`;
  }

  async #fill(): Promise<void> {
    const ids = new Map<string, string[]>(this.#generator.names.map((name) => [name, []]));
    for (const [name, made] of ids)
      for (let left = 2 + Number(this.#generator.rarely(2)); left > 0; left--) {
        const owner = this.#generator.of([...this.#cast.userIds, null]);
        const body = { ...this.#values(), [ownerField]: owner };
        made.push(((await this.#cast.must("POST", `/api/${name}`, body)) as ModelRecord).id);
      }
    for (const [name, made] of ids)
      for (const id of made) await this.#cast.must("PUT", `/api/${name}/${id}`, this.#relations(name, ids));
    await this.#refresh();
  }

  #relations(name: string, ids: ReadonlyMap<string, readonly string[]>): { [field: string]: Value } {
    const targets = [...(this.#generator.targets.get(name) ?? [])];
    return Object.fromEntries(
      targets.map(([field, target]) => {
        const found = ids.get(target) ?? [];
        return [field, field === recordItems ? this.#generator.some(found) : this.#generator.of([...found, null])];
      }),
    );
  }

  /** Gives the model the records that an admin reads. */
  async #refresh(): Promise<void> {
    const tables = new Map<string, ModelRecord[]>();
    for (const name of this.#generator.names) {
      const { items } = (await this.#cast.must("GET", `/api/${name}`)) as { items: ModelRecord[] };
      tables.set(name, items.reverse());
    }
    this.#model = new Model(this.#collections, tables, new Set(this.#unread));
  }

  /** Asks all questions as every caller. */
  async #ask(): Promise<void> {
    for (const { name } of this.#collections)
      for (const question of questionsFor(this.#model, name, this.#generator)) await this.#interview.ask(question);
    await new Downloads(this.#cast, this.#model).compareAll();
  }

  /** A change by a random caller: the model decides whether the change is allowed, and which events the callers hear. */
  async #change(): Promise<void> {
    const generator = this.#generator;
    const caller = generator.rarely(3) ? this.#cast.admin : generator.of(this.#cast.callers);
    const { name } = generator.of(this.#collections);
    const record = generator.of([...this.#model.records(name), null]);
    const isDeleted = record !== null && generator.rarely(3);
    const operation = record === null ? "create" : isDeleted ? "delete" : "update";
    const body = operation === "delete" ? undefined : this.#body(name, caller, record);
    const path = record === null ? `/api/${name}` : `/api/${name}/${record.id}`;
    const method = { create: "POST", update: "PUT", delete: "DELETE" }[operation];
    const { files } = this.#cast;
    await this.#whilePaging(name, async () => {
      const before = this.#model;
      const answer = await this.#cast.request(caller, { method, path, ...(body !== undefined && { body }) });
      const attempt = { caller, name, operation, body: body ?? {}, record, files } as const;
      const id = record === null ? (answer.body as { id: Value }).id : record.id;
      if (answer.status < 300) noteFiles(before, attempt, { id, unread: this.#unread });
      await this.#refresh();
      const after = this.#model.record(name, id);
      this.#expectAnswer(before, attempt, { answer, after });
      if (JSON.stringify(record) !== JSON.stringify(after))
        this.#listeners.tell(this.#model, { name, before: record, after });
      await this.#listeners.caughtUp();
    });
  }

  /** A change of rights alone, during a list and subscriptions: the new rules hold at once for callers who already page and listen. */
  async #aside(change: () => Promise<void>): Promise<void> {
    await this.#whilePaging(this.#generator.of(this.#generator.names), async () => {
      await change();
      await this.#refresh();
      await this.#listeners.renew(this.#model, this.#generator);
    });
  }

  async #changeRole(): Promise<void> {
    const role = this.#generator.of(["authenticated", "admin", "public"] as const);
    await this.#cast.setRole(this.#generator.of(this.#cast.users), role);
  }

  async #changeRules(): Promise<void> {
    this.#collections = this.#generator.changedRules(this.#collections);
    const collections = [ending, ...new Model(this.#collections, new Map()).definitions()];
    await this.#cast.must("PUT", "/api/admin/schema.json", { collections });
    this.#listeners.rulesChanged();
  }

  /** A change between two pages of a list; afterwards all callers ask for a random collection and a random file. */
  async #whilePaging(name: string, change: () => Promise<void>): Promise<void> {
    const generator = this.#generator;
    const paging = generator.of(this.#cast.callers);
    const first = await this.#firstPage(paging, name);
    await change();
    await this.#otherPages(paging, name, first);
    // A right may depend on another collection than the changed collection.
    const question = pageQuestion(this.#model, generator.of(generator.names));
    for (const each of this.#cast.callers) await this.#interview.answerTo(question, each);
    await new Downloads(this.#cast, this.#model).compare(generator.of(this.#cast.files));
  }

  /** Some values of a record; for an existing record also its present values, which the caller may not know. */
  #body(name: string, caller: Actor, record: ModelRecord | null): { [field: string]: Value } {
    const { id: _, createdAt: __, updatedAt: ___, ...present } = record ?? { id: "", createdAt: "", updatedAt: "" };
    const ids = new Map(this.#generator.names.map((each) => [each, this.#model.records(each).map(({ id }) => id)]));
    const values = { ...this.#values(), ...this.#relations(name, ids) };
    const owner = caller.isAdmin ? { [ownerField]: this.#generator.of([...this.#cast.userIds, null]) } : {};
    const all = Object.entries(this.#generator.rarely(3) ? present : { ...values, ...owner });
    return Object.fromEntries(all.filter(() => this.#generator.rarely(2)));
  }

  #expectAnswer(
    model: Model,
    attempt: Attempt,
    { answer, after }: { answer: Answer<unknown>; after: ModelRecord | null },
  ): void {
    const { caller, name, operation, body, record } = attempt;
    const at = [operation, name, caller.name, JSON.stringify(body)];
    const refusal = refusalOf(model, attempt);
    if (refusal !== null) {
      expect([...at, refusal.includes(answer.status), answer.status]).toEqual([...at, true, answer.status]);
      expect([...at, after]).toEqual([...at, record]);
      return;
    }
    expect([...at, answer.status]).toEqual([...at, { create: 201, update: 200, delete: 204 }[operation]]);
    if (after === null) return;
    const isReadable = this.#model.canRead(caller, name, after);
    const named = new Set(["id", "createdAt", "updatedAt", ...Object.keys(body)]);
    expect([...at, answer.body]).toEqual([
      ...at,
      this.#model.part(caller, { collection: name, only: isReadable ? null : named }, after),
    ]);
  }

  /** A list whose first page comes before a change: its cursor, and the record that the next page follows. */
  async #firstPage(caller: Actor, name: string): Promise<{ cursor: string; id: string } | null> {
    const { status, body } = await this.#cast.get(caller, `/api/${name}?limit=1`);
    if (status !== 200) return null;
    const { items, nextCursor } = body as { items: { id: string }[]; nextCursor: string | null };
    const [first] = items;
    return nextCursor === null || first === undefined ? null : { cursor: nextCursor, id: first.id };
  }

  /** The next page follows the rights after the change. Ids rise with creation. */
  async #otherPages(caller: Actor, name: string, first: { cursor: string; id: string } | null): Promise<void> {
    if (first === null) return;
    const path = `/api/${name}?limit=50&cursor=${first.cursor}`;
    const { status, body } = await this.#cast.get(caller, path);
    const closed = this.#model.closedStatus(caller, name);
    if (closed !== null) {
      expect([path, caller.name, status]).toEqual([path, caller.name, closed]);
      return;
    }
    const older = this.#model.list(caller, name).filter(({ id }) => id < first.id);
    const items = older.map((record) => this.#model.shown(caller, name, record));
    expect([path, caller.name, status, body]).toEqual([path, caller.name, 200, { items, nextCursor: null }]);
  }

  /** Changes secrets, which no rule reads: a caller who may not read a secret gets every answer unchanged, except for the time. */
  async #interfere(): Promise<void> {
    const { name } = this.#generator.of(this.#collections);
    const records = this.#model.records(name);
    if (records.length === 0) return;
    const record = this.#generator.of(records);
    const kept = this.#cast.callers.filter(
      (caller) => !this.#model.visible(caller, name, record).has("s") || !this.#model.canRead(caller, name, record),
    );
    const questions = this.#collections.flatMap((each) => questionsFor(this.#model, each.name, this.#generator));
    const before = new Map<Actor, string[]>();
    for (const caller of kept) before.set(caller, await this.#texts(caller, questions));
    for (const value of [this.#secret(), "A", "zzzz".repeat(500), null]) {
      await this.#cast.must("PUT", `/api/${name}/${record.id}`, { s: value });
      for (const caller of kept)
        expect([caller.name, await this.#texts(caller, questions)]).toEqual([caller.name, before.get(caller) ?? []]);
    }
    await this.#refresh();
  }

  async #texts(caller: Actor, questions: readonly Question[]): Promise<string[]> {
    const texts: string[] = [];
    for (const { path } of questions) {
      const answer = await this.#cast.get(caller, path);
      const text = new TextDecoder().decode(answer.bytes);
      texts.push(`${answer.status} ${path} ${text.replaceAll(/"updatedAt":"[^"]*"/g, '"updatedAt":""')}`);
    }
    return texts;
  }
}
