/**
 * The property of rules: whatever the schema, its rules and its records, each caller gets of each question what the model says,
 * hears of each change what the model says, and nothing differs by a value that the caller may not read.
 *
 * A run makes a schema and records, then: (1) asks everything for every caller, twice, so that answers from memory and by ETag are
 * among them; (2) makes changes as several callers, while sockets listen and a list is paged; (3) asks again; (4) replays; (5) changes
 * values that somebody may not read, and compares every answer to them byte for byte.
 */
import { expect } from "bun:test";
import type { Answer } from "../kit.ts";
import { type TestServer, type TestSocket, until } from "../sockets.ts";
import { Generator } from "./generate.ts";
import { Model, type ModelCaller, type ModelCollection, type ModelRecord, ownerField } from "./model.ts";
import { type Question, questionsFor } from "./questions.ts";
import type { Literal } from "./syntax.ts";

export interface Cast {
  readonly server: TestServer;
  /** Nobody, users and an admin, in this order. */
  readonly callers: readonly (ModelCaller & { readonly token: string | undefined })[];
}
type Actor = Cast["callers"][number];

/** The service with its callers. */
export async function openCast(open: (options: object) => Promise<TestServer>): Promise<Cast> {
  const server = await open({
    collections: [],
    // Every request here comes from one address.
    settings: { SERVICE_LIMITS_RATE_RECORDS: "off" },
  });
  const users = [];
  for (const name of ["ann", "bob", "eve"]) {
    const { user, accessToken } = await server.register(`${name}@example.com`);
    users.push({ name, id: user.id, isAdmin: false, token: accessToken });
  }
  const nobody = { name: "nobody", id: null, isAdmin: false, token: undefined };
  const token = await server.admin();
  const { id } = (await server.request<{ user: { id: string } }>("GET", "/api/auth/me", { token })).body.user;
  const admin = { name: "admin", id, isAdmin: true, token };
  return { server, callers: [nobody, ...users, admin] };
}

interface Told {
  readonly type: string;
  readonly payload: unknown;
}

export class World {
  readonly #cast: Cast;
  readonly #generator: Generator;
  readonly #collections: readonly ModelCollection[];
  readonly #heard = new Map<Actor, Told[]>();
  readonly #sockets = new Map<Actor, TestSocket>();
  /** Answers by caller and path, with their tags. */
  readonly #earlier = new Map<string, { tag: string; body: unknown }>();
  #model: Model;
  #secrets = 0;

  constructor(cast: Cast, choose: (bound: number) => number) {
    this.#cast = cast;
    this.#generator = new Generator(choose);
    this.#collections = this.#generator.collections();
    this.#model = new Model(this.#collections, new Map());
  }

  async run(): Promise<void> {
    await this.#define();
    await this.#fill();
    await this.#ask();
    await this.#listen();
    const since = await this.#lastEvent();
    for (let left = 6; left > 0; left--) await this.#change();
    await this.#compareHeard();
    await this.#ask();
    await this.#replay(since);
    await this.#interfere();
    for (const socket of this.#sockets.values()) socket.socket.close();
  }

  get #admin(): Actor {
    return this.#cast.callers.at(-1) as Actor;
  }

  #request(
    caller: Actor,
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string> } = {},
  ) {
    const { token } = caller;
    return this.#cast.server.request<unknown>(method, path, { ...options, ...(token !== undefined && { token }) });
  }

  async #must(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.#request(this.#admin, method, path, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async #define(): Promise<void> {
    const end = { name: "ending", fields: [{ name: "n", type: "integer" }] };
    await this.#must("PUT", "/api/admin/schema.json", { collections: [end] });
    await this.#must("PUT", "/api/admin/schema.json", { collections: [end, ...this.#model.definitions()] });
  }

  #userIds(): string[] {
    return this.#cast.callers.flatMap(({ id, isAdmin }) => (id === null || isAdmin ? [] : [id]));
  }

  #secret(): string {
    this.#secrets += 1;
    return `secret${this.#secrets}`;
  }

  async #fill(): Promise<void> {
    const ids = new Map<string, string[]>(this.#generator.names.map((name) => [name, []]));
    for (const [name, made] of ids)
      for (let left = 2 + Number(this.#generator.rarely(2)); left > 0; left--) {
        const owner = this.#generator.of([...this.#userIds(), null]);
        const body = { ...this.#generator.values(this.#userIds(), this.#secret()), [ownerField]: owner };
        made.push(((await this.#must("POST", `/api/${name}`, body)) as ModelRecord).id);
      }
    for (const [name, made] of ids)
      for (const id of made) await this.#must("PUT", `/api/${name}/${id}`, this.#relations(name, ids));
    await this.#refresh();
  }

  #relations(name: string, ids: ReadonlyMap<string, readonly string[]>): { [field: string]: Literal } {
    const targets = [...(this.#generator.targets.get(name) ?? [])];
    return Object.fromEntries(
      targets.map(([field, target]) => [field, this.#generator.of([...(ids.get(target) ?? []), null])]),
    );
  }

  /** The model sees the records as an admin does. */
  async #refresh(): Promise<void> {
    const tables = new Map<string, ModelRecord[]>();
    for (const name of this.#generator.names) {
      const { items } = (await this.#must("GET", `/api/${name}`)) as { items: ModelRecord[] };
      tables.set(name, items.reverse());
    }
    this.#model = new Model(this.#collections, tables);
  }

  /** Asks every caller everything, one after the other; then backwards, with the ETag of their own and of another caller. */
  async #ask(): Promise<void> {
    for (const { name } of this.#collections)
      for (const question of questionsFor(this.#model, name, this.#generator)) {
        const tags = new Map<Actor, string>();
        for (const caller of this.#cast.callers) {
          const answer = await this.#answerTo(question, caller);
          const tag = answer.headers.get("etag");
          if (answer.status === 200 && tag !== null) tags.set(caller, tag);
        }
        for (const caller of [...this.#cast.callers].reverse()) {
          const own = tags.get(caller);
          if (own !== undefined && !question.isFleeting) {
            const headers = { "If-None-Match": own };
            expect([
              question.path,
              caller.name,
              (await this.#request(caller, "GET", question.path, { headers })).status,
            ]).toEqual([question.path, caller.name, 304]);
          }
          for (const [other, tag] of tags)
            if (other !== caller)
              await this.#answerTo(question, caller, { tag, isLike: same(question, caller, other) });
        }
        await this.#page(question);
      }
  }

  /** @param known a tag of another caller: it fits where both get the same. */
  async #answerTo(
    question: Question,
    caller: Actor,
    known: { tag: string; isLike: boolean } | null = null,
  ): Promise<Answer<unknown>> {
    if (known === null) await this.#compareEarlier(question, caller);
    const headers = known === null ? {} : { "If-None-Match": known.tag };
    const answer = await this.#request(caller, "GET", question.path, { headers });
    const expected = question.answerTo(caller);
    const at = [question.path, caller.name];
    if (known?.isLike === true && answer.status === 304) return answer;
    if (!("body" in expected))
      expect([...at, [...expected.statuses].includes(answer.status), answer.status]).toEqual([
        ...at,
        true,
        answer.status,
      ]);
    else expect([...at, answer.status, withoutCursor(answer.body)]).toEqual([...at, 200, expected.body]);
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
    const { status } = await this.#request(caller, "GET", question.path, { headers });
    if (status !== 304) return;
    const at = [question.path, caller.name, "not modified"];
    expect([...at, question.answerTo(caller)]).toEqual([...at, { body: earlier.body }]);
  }

  /** The same list in pages of two. */
  async #page(question: Question): Promise<void> {
    if (!question.isPaged) return;
    for (const caller of this.#cast.callers) {
      const expected = question.answerTo(caller);
      if (!("body" in expected)) continue;
      const items: unknown[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const path: string = `${question.path}&limit=2&cursor=${cursor}`;
        const { status, body } = await this.#request(caller, "GET", path);
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

  async #listen(): Promise<void> {
    for (const caller of this.#cast.callers) {
      const socket = await this.#cast.server.connect(caller.token);
      for (const { name } of this.#collections) await socket.subscribe(`${name}.*`);
      await socket.subscribe("ending.created");
      this.#sockets.set(caller, socket);
      this.#heard.set(caller, []);
    }
  }

  async #lastEvent(): Promise<string> {
    const { events } = this.#cast.server.service;
    return (await events.at(events.flushedSeq))?.id ?? "";
  }

  /** A change by a random caller, of which the model says whether it is allowed, and what everybody hears of it. */
  async #change(): Promise<void> {
    const generator = this.#generator;
    const caller = generator.rarely(2) ? generator.of(this.#cast.callers) : this.#admin;
    const { name } = generator.of(this.#collections);
    const record = generator.of([...this.#model.records(name), null]);
    const isDeleted = record !== null && generator.rarely(3);
    const operation = record === null ? "create" : isDeleted ? "delete" : "update";
    const body = operation === "delete" ? undefined : this.#body(name, caller);
    const path = record === null ? `/api/${name}` : `/api/${name}/${record.id}`;
    const method = { create: "POST", update: "PUT", delete: "DELETE" }[operation];
    const paging = generator.of(this.#cast.callers);
    const first = await this.#firstPage(paging, name);
    const before = this.#model;
    const answer = await this.#request(caller, method, path, body === undefined ? {} : { body });
    await this.#refresh();
    const after = this.#model.record(name, record === null ? (answer.body as { id: Literal }).id : record.id);
    const at = { name, operation, body: body ?? {}, record } as const;
    this.#expectAnswer(before, caller, at, answer, after);
    await this.#otherPages(paging, name, first);
    if (JSON.stringify(record) !== JSON.stringify(after)) this.#tell(name, record, after);
  }

  #body(name: string, caller: Actor): { [field: string]: Literal } {
    const ids = new Map(this.#generator.names.map((each) => [each, this.#model.records(each).map(({ id }) => id)]));
    const values = { ...this.#generator.values(this.#userIds(), this.#secret()), ...this.#relations(name, ids) };
    const owner = caller.isAdmin ? { [ownerField]: this.#generator.of([...this.#userIds(), null]) } : {};
    const all = Object.entries({ ...values, ...owner });
    return Object.fromEntries(all.filter(() => this.#generator.rarely(2)));
  }

  #expectAnswer(
    model: Model,
    caller: Actor,
    change: {
      name: string;
      operation: "create" | "update" | "delete";
      body: { [field: string]: Literal };
      record: ModelRecord | null;
    },
    answer: Answer<unknown>,
    after: ModelRecord | null,
  ): void {
    const { name, operation, body, record } = change;
    const at = [operation, name, caller.name, JSON.stringify(body)];
    const refusal = this.#refusal(model, caller, change);
    if (refusal !== null) {
      expect([...at, refusal.includes(answer.status), answer.status]).toEqual([...at, true, answer.status]);
      expect([...at, after]).toEqual([...at, record]);
      return;
    }
    expect([...at, answer.status]).toEqual([...at, { create: 201, update: 200, delete: 204 }[operation]]);
    if (after === null) return;
    const isReadable = this.#model.canRead(caller, name, after);
    const named = new Set(["id", "createdAt", "updatedAt", ...Object.keys(body)]);
    expect([...at, answer.body]).toEqual([...at, this.#model.shown(caller, name, after, isReadable ? null : named)]);
  }

  /** The statuses by which a change may be refused; null where it is allowed. */
  #refusal(
    model: Model,
    caller: Actor,
    {
      name,
      operation,
      body,
      record,
    }: {
      name: string;
      operation: "create" | "update" | "delete";
      body: { [field: string]: Literal };
      record: ModelRecord | null;
    },
  ): readonly number[] | null {
    const { rules } = model.collection(name);
    const rule = rules[operation];
    const denied = caller.id === null ? [401, 403] : [403];
    if (rule !== "owner" || operation !== "create" ? model.standing(rule, caller) === "none" : caller.id === null)
      return denied;
    const next = { ...(record ?? this.#empty(name, caller)), ...body } as ModelRecord;
    if (record !== null && !model.allows(rule, caller, { collection: name, record }))
      return typeof rules.read !== "string" && !model.canRead(caller, name, record) ? [404] : denied;
    if (operation === "delete") return null;
    const isAllowed = typeof rule === "string" || model.allows(rule, caller, { collection: name, record: next });
    if (!isAllowed) return denied;
    const states = record === null ? [next] : [record, next];
    const visible = record === null ? new Set<string>() : model.visible(caller, name, record);
    for (const { name: field, read, update } of model.collection(name).fields) {
      if (!Object.hasOwn(body, field)) continue;
      const mayWrite = states.every((state) => {
        const own = update ?? read;
        return own === null || model.allows(own, caller, { collection: name, record: state });
      });
      const isSame = record !== null && visible.has(field) && record[field] === body[field];
      if (!mayWrite && !isSame) return [403];
    }
    return null;
  }

  #empty(name: string, caller: Actor): { [field: string]: Literal } {
    const fields = this.#model.collection(name).fields.map((field) => [field.name, null] as const);
    return {
      ...Object.fromEntries(fields),
      id: "",
      createdAt: "",
      updatedAt: "",
      [ownerField]: caller.isAdmin ? null : caller.id,
    };
  }

  async #firstPage(caller: Actor, name: string): Promise<string | null> {
    const { body } = await this.#request(caller, "GET", `/api/${name}?limit=1`);
    return (body as { nextCursor?: string }).nextCursor ?? null;
  }

  /** A list whose first page came before a change goes on by the rights after it. */
  async #otherPages(caller: Actor, name: string, first: string | null): Promise<void> {
    if (first === null) return;
    const path = `/api/${name}?limit=50&cursor=${first}`;
    const { status, body } = await this.#request(caller, "GET", path);
    expect([path, caller.name, status]).toEqual([path, caller.name, 200]);
    const visible = this.#model.list(caller, name).map((record) => this.#model.shown(caller, name, record));
    const { items } = body as { items: object[] };
    expect([path, caller.name, items]).toEqual([
      path,
      caller.name,
      items.length === 0 ? [] : visible.slice(-items.length),
    ]);
  }

  /** Notes the event that each caller is to hear. */
  #tell(name: string, before: ModelRecord | null, after: ModelRecord | null): void {
    for (const caller of this.#cast.callers) {
      const told = this.#told(caller, name, before, after);
      if (told !== null) this.#heard.get(caller)?.push(told);
    }
  }

  #told(caller: Actor, name: string, before: ModelRecord | null, after: ModelRecord | null): Told | null {
    const model = this.#model;
    const { read } = model.collection(name).rules;
    const isCondition = typeof read !== "string" && !caller.isAdmin;
    const [could, can] = [before, after].map(
      (record) => record !== null && model.allows(read, caller, { collection: name, record }),
    );
    const changed = before === null ? "created" : after === null ? "deleted" : "updated";
    const type = isCondition
      ? can === true
        ? could === true
          ? "updated"
          : "created"
        : could === true
          ? "deleted"
          : null
      : (after === null ? could : can) === true
        ? changed
        : null;
    if (type === null) return null;
    const record = after ?? before;
    if (record === null) return null;
    return {
      type: `${name}.${type}`,
      payload: type === "deleted" ? { id: record.id } : model.shown(caller, name, record),
    };
  }

  async #compareHeard(): Promise<void> {
    for (const [caller, socket] of this.#sockets) {
      const heard = await this.#heardBy(socket);
      expect([caller.name, heard]).toEqual([caller.name, this.#heard.get(caller) ?? []]);
    }
  }

  /** Everything that a socket has heard once the ending has come. */
  async #heardBy(socket: TestSocket): Promise<Told[]> {
    const endings = (): number =>
      socket.frames.filter((frame) => frame.type === "event" && frame.event.type === "ending.created").length;
    const before = endings();
    await this.#must("POST", "/api/ending", { n: 1 });
    await until(() => endings() > before, 20_000);
    return socket.frames.flatMap((frame) =>
      frame.type === "event" && frame.event.type !== "ending.created"
        ? [{ type: frame.event.type, payload: frame.event.payload }]
        : [],
    );
  }

  /** A replay tells nothing that the caller may not read now, and of each record that it tells, at last what it is. */
  async #replay(since: string): Promise<void> {
    for (const caller of this.#cast.callers) {
      const socket = await this.#cast.server.connect(caller.token);
      for (const { name } of this.#collections) await socket.subscribe(`${name}.*`, since);
      await socket.subscribe("ending.created");
      const last = new Map<string, Told>();
      for (const told of await this.#heardBy(socket)) {
        const { id } = told.payload as { id: string };
        this.#expectReplayed(caller, told);
        last.set(`${told.type.split(".")[0]} ${id}`, told);
      }
      for (const [key, { type, payload }] of last) {
        const [name = "", id = ""] = key.split(" ");
        const record = this.#model.record(name, id);
        if (type.endsWith(".deleted")) continue;
        expect([caller.name, key, payload]).toEqual([
          caller.name,
          key,
          record === null ? "gone" : this.#model.shown(caller, name, record),
        ]);
      }
      socket.socket.close();
    }
  }

  #expectReplayed(caller: Actor, { type, payload }: Told): void {
    const [name = "", change] = type.split(".");
    const fields = payload as { id: string } & { [field: string]: Literal };
    const at = [caller.name, type, fields.id];
    if (change === "deleted") {
      expect([...at, payload]).toEqual([...at, { id: fields.id }]);
      return;
    }
    const record = this.#model.record(name, fields.id);
    const visible =
      record === null || !this.#model.canRead(caller, name, record)
        ? new Set<string>()
        : this.#model.visible(caller, name, record);
    const hidden = Object.keys(fields).filter((field) => !visible.has(field));
    expect([...at, hidden]).toEqual([...at, []]);
  }

  /** Changes secrets, which no rule asks about: to whoever may not read one, every answer stays as it was, but for the time. */
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
      await this.#must("PUT", `/api/${name}/${record.id}`, { s: value });
      for (const caller of kept)
        expect([caller.name, await this.#texts(caller, questions)]).toEqual([caller.name, before.get(caller) ?? []]);
    }
    await this.#refresh();
  }

  async #texts(caller: Actor, questions: readonly Question[]): Promise<string[]> {
    const texts: string[] = [];
    for (const { path } of questions) {
      const answer = await this.#request(caller, "GET", path);
      const text = new TextDecoder().decode(answer.bytes);
      texts.push(`${answer.status} ${path} ${text.replaceAll(/"updatedAt":"[^"]*"/g, '"updatedAt":""')}`);
    }
    return texts;
  }
}

function same(question: Question, one: Actor, other: Actor): boolean {
  return JSON.stringify(question.answerTo(one)) === JSON.stringify(question.answerTo(other));
}

/** A cursor is another for each caller. */
function withoutCursor(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("nextCursor" in body)) return body;
  const { nextCursor, ...rest } = body;
  return { ...rest, hasMore: nextCursor !== null };
}
