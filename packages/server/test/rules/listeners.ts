/** Listeners of the property test of rules: sockets of all callers, and the events that the callers hear by the model. */
import { expect } from "bun:test";
import { type TestSocket, until } from "../sockets.ts";
import type { Actor, Cast } from "./cast.ts";
import type { Generator } from "./generate.ts";
import { itemsIn, type Model, type ModelRecord } from "./model.ts";
import { type Condition, type Literal, textOfRule } from "./syntax.ts";

/** A subscription with a filter, beside the caller's subscriptions without a filter. */
interface Filtered {
  readonly name: string;
  readonly condition: Condition;
}

/** The id of the subscriptions with a filter. */
const filteredId = "filtered";

interface Told {
  readonly type: string;
  readonly payload: unknown;
}

/** A record before and after a change; null while the record does not exist. */
export interface Change {
  /** The name of the collection. */
  readonly name: string;
  readonly before: ModelRecord | null;
  readonly after: ModelRecord | null;
}

export class Listeners {
  readonly #cast: Cast;
  readonly #names: readonly string[];
  readonly #heard = new Map<Actor, Told[]>();
  readonly #sockets = new Map<Actor, TestSocket>();
  readonly #filtered = new Map<Actor, Filtered>();
  readonly #heardThrough = new Map<Actor, Told[]>();
  #mayHaveGaps = false;

  /** @param names of the collections. */
  constructor(cast: Cast, names: readonly string[]) {
    this.#cast = cast;
    this.#names = names;
  }

  /** Connects all callers. */
  async begin(model: Model, generator: Generator): Promise<void> {
    for (const caller of this.#cast.callers) {
      const socket = await this.#cast.server.connect(caller.token);
      for (const name of this.#names) await socket.subscribe(`${name}.*`);
      await socket.subscribe("ending.created");
      await this.#filter(socket, caller, { model, generator });
      this.#sockets.set(caller, socket);
      this.#heard.set(caller, []);
      this.#heardThrough.set(caller, []);
    }
  }

  /** Replaces filters after a change of rights: a filter that does not fit any more would end at the next change. */
  async renew(model: Model, generator: Generator): Promise<void> {
    for (const [caller, socket] of this.#sockets) {
      const filtered = this.#filtered.get(caller);
      if (filtered !== undefined) {
        if (fits(model, caller, filtered)) continue;
        await socket.ask({ action: "unsubscribe", channel: `${filtered.name}.*`, id: filteredId });
      }
      await this.#filter(socket, caller, { model, generator });
    }
  }

  /** A replay may have a gap from now on: a caller may have gained records, without a missed event of these records. */
  rulesChanged(): void {
    this.#mayHaveGaps = true;
  }

  /** Notes the event that each caller is to hear. */
  tell(model: Model, change: Change): void {
    for (const caller of this.#cast.callers) {
      const told = toldTo(caller, model, change);
      if (told !== null) this.#heard.get(caller)?.push(told);
      const filtered = this.#filtered.get(caller);
      const through = filtered?.name === change.name ? toldThrough(filtered, { caller, model }, change) : null;
      if (through !== null) this.#heardThrough.get(caller)?.push(through);
    }
  }

  /**
   * Resolves when every socket has heard the event of a new record of `ending`, which follows all earlier events. A filter or
   * a rule that takes long is decided late, by the records of that moment: the next change must wait for the decision, also
   * for a decision that tells the caller nothing.
   */
  async caughtUp(): Promise<void> {
    const sockets = [...this.#sockets.values()];
    const before = sockets.map(endingsOf);
    await this.#cast.must("POST", "/api/ending", { n: 1 });
    for (const [i, socket] of sockets.entries()) await until(() => endingsOf(socket) > (before[i] ?? 0));
  }

  async compare(): Promise<void> {
    await this.caughtUp();
    for (const [caller, socket] of this.#sockets) {
      expect([caller.name, eventsOf(socket, undefined)]).toEqual([caller.name, this.#heard.get(caller) ?? []]);
      const filtered = this.#filtered.get(caller);
      const at = [caller.name, filtered === undefined ? "" : textOfRule(filtered.condition)];
      expect([...at, eventsOf(socket, filteredId)]).toEqual([...at, this.#heardThrough.get(caller) ?? []]);
    }
  }

  /** All events of a socket, up to the event of `ending`. */
  async #heardBy(socket: TestSocket): Promise<Told[]> {
    const before = endingsOf(socket);
    await this.#cast.must("POST", "/api/ending", { n: 1 });
    await until(() => endingsOf(socket) > before);
    return eventsOf(socket, undefined);
  }

  /** A replay tells only data that the caller may read now, and ends each told record with its present state. */
  async replay(since: string, model: Model): Promise<void> {
    for (const caller of this.#cast.callers) {
      const socket = await this.#cast.server.connect(caller.token);
      for (const name of this.#names) {
        const answer = await socket.ask({ action: "subscribe", channel: `${name}.*`, since });
        const isGap = answer.type === "error" && answer.code === "resume_gap" && this.#mayHaveGaps;
        expect([caller.name, name, isGap || answer.type === "subscribed"]).toEqual([caller.name, name, true]);
      }
      await socket.subscribe("ending.created");
      const last = new Map<string, Told>();
      for (const told of await this.#heardBy(socket)) {
        const { id } = told.payload as { id: string };
        expectReplayed(told, caller, model);
        last.set(`${told.type.split(".")[0]} ${id}`, told);
      }
      for (const [key, { type, payload }] of last) {
        const [name = "", id = ""] = key.split(" ");
        const record = model.record(name, id);
        if (type.endsWith(".deleted")) continue;
        expect([caller.name, key, payload]).toEqual([
          caller.name,
          key,
          record === null ? "gone" : model.shown(caller, name, record),
        ]);
      }
      socket.socket.close();
    }
  }

  /** Subscribes through a filter. A filter that a list would refuse is refused; a collection that is closed to the caller sends no event. */
  async #filter(
    socket: TestSocket,
    caller: Actor,
    { model, generator }: { model: Model; generator: Generator },
  ): Promise<void> {
    const name = generator.of(this.#names);
    const condition = generator.condition(name, { depth: 1, hops: 2 });
    const text = textOfRule(condition);
    const answer = await socket.ask({ action: "subscribe", channel: `${name}.*`, filter: text, id: filteredId });
    const isAnswered = fits(model, caller, { name, condition });
    const at = [caller.name, name, text];
    expect([...at, answer.type]).toEqual([...at, isAnswered ? "subscribed" : "error"]);
    if (isAnswered) this.#filtered.set(caller, { name, condition });
    else this.#filtered.delete(caller);
  }

  end(): void {
    for (const socket of this.#sockets.values()) socket.socket.close();
  }
}

/** Whether a filter is answered. The filter of a collection that is closed to the caller is not examined. */
function fits(model: Model, caller: Actor, { name, condition }: Filtered): boolean {
  return model.closedStatus(caller, name) !== null || model.refusals(caller, name, condition).size === 0;
}

/** An event of a replay holds nothing that the caller may not read now. */
function expectReplayed({ type, payload }: Told, caller: Actor, model: Model): void {
  const [name = "", change] = type.split(".");
  const fields = payload as { id: string } & { [field: string]: Literal };
  const at = [caller.name, type, fields.id];
  if (change === "deleted") {
    expect([...at, payload]).toEqual([...at, { id: fields.id }]);
    return;
  }
  const record = model.record(name, fields.id);
  const visible =
    record === null || !model.canRead(caller, name, record) ? new Set<string>() : model.visible(caller, name, record);
  const hidden = Object.keys(fields).filter((field) => !visible.has(field));
  expect([...at, hidden]).toEqual([...at, []]);
}

function toldTo(caller: Actor, model: Model, change: Change): Told | null {
  const { name, before, after } = change;
  const { read } = model.collection(name).rules;
  const isReadable = (record: ModelRecord | null): boolean =>
    record !== null && atState(model, change, record).canRead(caller, name, record);
  const [could, can] = [isReadable(before), isReadable(after)];
  const changed = before === null ? "created" : after === null ? "deleted" : "updated";
  const byWord = (after === null ? could : can) ? changed : null;
  const isExpression = typeof read !== "string" && !caller.isAdmin;
  return toldAs(isExpression ? typeOf(could, can) : byWord, { caller, model }, change);
}

/** A filter acts like a narrower read rule that is an expression. */
function toldThrough({ name, condition }: Filtered, to: { caller: Actor; model: Model }, change: Change): Told | null {
  const { caller } = to;
  const isHeld = (record: ModelRecord | null): boolean => {
    if (record === null) return false;
    const model = atState(to.model, change, record);
    return model.canRead(caller, name, record) && model.matches(condition, caller, { collection: name, record });
  };
  return toldAs(typeOf(isHeld(change.before), isHeld(change.after)), to, change);
}

/**
 * The model in which to decide about a state of a changed record. A record that points to itself sees itself in that state; the paths of a
 * deleted record may lead back to the record by other records, too.
 */
function atState(model: Model, { name, before, after }: Change, record: ModelRecord): Model {
  const pointsToItself = [before, after].some(
    (state) =>
      state !== null &&
      Object.entries(state).some(([field, value]) => field !== "id" && itemsIn(value).includes(state.id)),
  );
  return after === null || pointsToItself ? model.with(name, record) : model;
}

function toldAs(
  type: string | null,
  { caller, model }: { caller: Actor; model: Model },
  { name, before, after }: Change,
): Told | null {
  const record = after ?? before;
  if (type === null || record === null) return null;
  const payload = type === "deleted" ? { id: record.id } : model.shown(caller, name, record);
  return { type: `${name}.${type}`, payload };
}

/** The number of events of `ending` that a socket has heard. */
function endingsOf({ frames }: TestSocket): number {
  return frames.filter((frame) => frame.type === "event" && frame.event.type === "ending.created").length;
}

/** The events of the subscriptions with an id, or of the subscriptions without an id. */
function eventsOf(socket: TestSocket, id: string | undefined): Told[] {
  return socket.frames.flatMap((frame) =>
    frame.type === "event" && frame.id === id && frame.event.type !== "ending.created"
      ? [{ type: frame.event.type, payload: frame.event.payload }]
      : [],
  );
}

/** The type of a change for a caller, by whether the caller had the record before the change, and has the record after the change. */
function typeOf(before: boolean, after: boolean): string | null {
  if (after) return before ? "updated" : "created";
  return before ? "deleted" : null;
}
