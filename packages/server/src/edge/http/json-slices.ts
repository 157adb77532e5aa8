/** Parser of long JSON texts: in slices of a few milliseconds, between which the event loop turns. */
import { AppError, excerpt, messageOf, nextTurn } from "../../base/kernel/index.ts";

/** The approximate characters of a slice: the engine parses a slice in a few milliseconds at most. */
const sliceLength = 16 * 1024;
/** The event loop turns after this many milliseconds of slices. */
const turnMs = 4;
/** The most levels of nesting: the engine takes seconds to refuse a text with hundreds of thousands of levels. */
const maxDepth = 1_000;

const [quotation, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** An array or object that the parser has entered. */
interface Container {
  readonly isObject: boolean;
  readonly start: number;
  /** The beginning of the members that are not parsed yet. */
  from: number;
  /** Null before the first parsed member: a short container is parsed together with the members around the container. */
  value: unknown[] | Record<string, unknown> | null;
  /** The last piece of the members before `from`. */
  last: "nothing" | "comma" | "member";
  /** The place of the last text on this level: in an object, the name of the next member. */
  text: readonly [start: number, end: number];
}

/**
 * The value of a JSON text, the same as from `JSON.parse`. Members of a long array or object are parsed in runs of a few
 * kilobytes.
 * @throws AppError `bad_request` for a text that is not JSON, or is nested too deeply.
 */
export async function parseInSlices(text: string): Promise<unknown> {
  const slices = new Slices(text);
  for (let startedAt = performance.now(); slices.advance(); ) {
    if (performance.now() - startedAt < turnMs) continue;
    await nextTurn();
    startedAt = performance.now();
  }
  return slices.value;
}

/** The engine's reason why a text is not JSON. */
export function jsonError(thrown: unknown): AppError {
  const reason = thrown instanceof TypeError ? "it is not UTF-8" : messageOf(thrown).replace(/^JSON Parse error: /, "");
  // The parser's message may repeat a word of the body of any length.
  return new AppError("bad_request", `The body is not valid JSON: ${excerpt(reason, 100)}.`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw jsonError(thrown);
  }
}

const unexpected = (text: string): AppError => jsonError(new SyntaxError(`Unexpected token '${text}'`));

class Slices {
  readonly #text: string;
  readonly #open: Container[] = [];
  #at = 0;
  /** The value of the whole text, after the text was parsed to its end. */
  value: unknown;

  constructor(text: string) {
    this.#text = text;
  }

  /** Parses to the end of a slice. Answers whether the text goes on. */
  advance(): boolean {
    const text = this.#text;
    for (; this.#at < text.length; this.#at++) {
      switch (text.charCodeAt(this.#at)) {
        case quotation:
          this.#skipText();
          break;
        case openArray:
        case openObject:
          this.#enter();
          break;
        case closeArray:
        case closeObject:
          if (this.#leave()) return this.#end();
          break;
        case comma:
          if (this.#cut()) return true;
          break;
      }
    }
    return this.#end();
  }

  /** The text ends with its outermost container. A text without a container, or with an open container, is left to the engine. */
  #end(): false {
    if (this.value === undefined) this.value = parse(this.#text);
    else if (trimmed(this.#text.slice(this.#at + 1)) !== "") throw unexpected(this.#text.charAt(this.#at + 1));
    return false;
  }

  #skipText(): void {
    const text = this.#text;
    const start = this.#at;
    let end = start;
    for (let isEscaped = true; isEscaped; ) {
      end = text.indexOf('"', end + 1);
      if (end < 0) throw jsonError(new SyntaxError("Unterminated string"));
      let slashes = 0;
      while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
      isEscaped = slashes % 2 === 1;
    }
    this.#at = end;
    const container = this.#open.at(-1);
    if (container?.isObject === true) container.text = [start, end + 1];
  }

  #enter(): void {
    if (this.#open.length >= maxDepth)
      throw new AppError("bad_request", `The body is nested more than ${maxDepth} levels deep.`);
    const isObject = this.#text.charCodeAt(this.#at) === openObject;
    const start = this.#at;
    this.#open.push({ isObject, start, from: start + 1, value: null, last: "nothing", text: [0, 0] });
  }

  /** Answers whether the outermost container has ended. */
  #leave(): boolean {
    const container = this.#open.pop();
    const isObject = this.#text.charCodeAt(this.#at) === closeObject;
    if (container === undefined || container.isObject !== isObject) throw unexpected(this.#text.charAt(this.#at));
    if (container.value !== null) {
      this.#take(container, { end: this.#at, next: "end" });
      this.#attach(container.value);
    }
    if (this.#open.length > 0) return false;
    if (container.value === null) this.value = parse(this.#text.slice(container.start, this.#at + 1));
    if (trimmed(this.#text.slice(0, container.start)) !== "") throw unexpected(this.#text.charAt(0));
    return true;
  }

  /** Parses the members of the innermost container so far, if these members are long enough. */
  #cut(): boolean {
    const container = this.#open.at(-1);
    if (container === undefined) throw unexpected(",");
    if (this.#at - container.from < sliceLength) return false;
    for (const [i, outer] of this.#open.entries()) {
      outer.value ??= outer.isObject ? {} : [];
      const inner = this.#open[i + 1];
      if (inner === undefined || inner.value !== null) continue;
      const end = outer.isObject ? outer.text[0] : inner.start;
      this.#take(outer, { end, next: "container" });
      if (outer.isObject && trimmed(this.#text.slice(outer.text[1], inner.start)) !== ":") throw unexpected("[");
    }
    this.#take(container, { end: this.#at, next: "comma" });
    this.#at += 1;
    return true;
  }

  /** Parses and adds the members of a container up to a position. */
  #take(container: Container, { end, next }: { end: number; next: "comma" | "container" | "end" }): void {
    let members = trimmed(this.#text.slice(container.from, end));
    container.from = next === "comma" ? end + 1 : end;
    if (container.last === "member" && members !== "") {
      if (!members.startsWith(",")) throw unexpected(members.slice(0, 1));
      members = trimmed(members.slice(1));
      container.last = "comma";
      if (members === "" && next !== "container") throw unexpected(",");
    }
    if (next === "container" && members !== "") {
      if (!members.endsWith(",")) throw unexpected(members.slice(-1));
      members = trimmed(members.slice(0, -1));
      if (members === "") throw unexpected(",");
    } else if (members === "" && (next === "container" ? container.last === "member" : container.last === "comma")) {
      throw unexpected(",");
    }
    if (members !== "") this.#add(container, members);
    container.last = next === "comma" ? "comma" : "member";
  }

  #add({ value }: Container, members: string): void {
    if (Array.isArray(value)) {
      const items = parse(`[${members}]`) as unknown[];
      for (const item of items) value.push(item);
    } else if (value !== null) {
      for (const [name, member] of Object.entries(parse(`{${members}}`) as object)) set(value, name, member);
    }
  }

  /** Adds a container that was parsed in slices to the container around, or makes the container the whole value. */
  #attach(value: unknown): void {
    const outer = this.#open.at(-1);
    if (outer === undefined) {
      this.value = value;
      return;
    }
    if (Array.isArray(outer.value)) outer.value.push(value);
    else if (outer.value !== null) set(outer.value, String(parse(this.#text.slice(...outer.text))), value);
    outer.from = this.#at + 1;
    outer.last = "member";
  }
}

/** A text without the white space of JSON at both ends (RFC 8259, 2). */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(character: number): boolean {
  return character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09;
}

/** Sets a member as `JSON.parse` does: `__proto__` is a name like any other. */
function set(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
