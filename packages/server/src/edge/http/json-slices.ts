/** Parser of long JSON texts: in slices of a few milliseconds, between which the event loop turns. */
import { InexactNumber, parseJsonText } from "@socle/protocol/cells";
import { AppError, excerpt, messageOf, nextTurn, randomToken } from "../../base/kernel/index.ts";

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

/** A name that no text has. */
const unusedName = randomToken(16);
/**
 * Members that take the place of members before and after a run of members. So the engine finds a comma that lacks, or that
 * is too much. An empty text forms no other token with the characters beside the text.
 */
const [arrayGap, objectGap] = ['""', `"${unusedName}":""`];

/**
 * The value of a JSON text, the same as from `JSON.parse`. Members of a long array or object are parsed in runs of a few
 * kilobytes.
 * @param onSlices called with the milliseconds of slices between two turns of the event loop.
 * @throws AppError `bad_request` for a text that is not JSON, or is nested too deeply.
 */
export async function parseInSlices(text: string, onSlices: (ms: number) => void = () => undefined): Promise<unknown> {
  const slices = new Slices(text);
  let startedAt = performance.now();
  try {
    while (slices.advance()) {
      const ms = performance.now() - startedAt;
      if (ms < turnMs) continue;
      onSlices(ms);
      await nextTurn();
      startedAt = performance.now();
    }
    return slices.value;
  } finally {
    onSlices(performance.now() - startedAt);
  }
}

/** The engine's reason why a text is not JSON. */
export function jsonError(thrown: unknown): AppError {
  if (thrown instanceof InexactNumber) return new AppError("bad_request", `${thrown.message}.`);
  const reason = thrown instanceof TypeError ? "it is not UTF-8" : messageOf(thrown).replace(/^JSON Parse error: /, "");
  // The parser's message may repeat a word of the body of any length.
  return new AppError("bad_request", `The body is not valid JSON: ${excerpt(reason, 100)}.`);
}

function parse(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (thrown) {
    throw jsonError(thrown);
  }
}

const unexpected = (text: string): AppError => jsonError(new SyntaxError(`Unexpected token '${text}'`));

class Slices {
  readonly #text: string;
  /** The text as the only member of an array. */
  readonly #root: Container = { isObject: false, start: 0, from: 0, value: [], last: "nothing", text: [0, 0] };
  /** The open containers of the text, the outermost first. */
  readonly #open: Container[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The value of the whole text, after the text was parsed to the end. @throws AppError for several values. */
  get value(): unknown {
    const { value } = this.#root;
    if (Array.isArray(value) && value.length === 1) return value[0];
    throw unexpected(",");
  }

  get #innermost(): Container {
    return this.#open.at(-1) ?? this.#root;
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
          this.#leave();
          break;
        case comma:
          if (this.#cut()) return true;
          break;
      }
    }
    // The engine finds what a text lacks.
    if (this.#open.length > 0 || text.trim() === "") parse(text);
    this.#take(this.#root, "end", text.length);
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
    this.#innermost.text = [start, end + 1];
  }

  #enter(): void {
    if (this.#open.length >= maxDepth)
      throw new AppError("bad_request", `The body is nested more than ${maxDepth} levels deep.`);
    const isObject = this.#text.charCodeAt(this.#at) === openObject;
    const start = this.#at;
    this.#open.push({ isObject, start, from: start + 1, value: null, last: "nothing", text: [0, 0] });
  }

  #leave(): void {
    const container = this.#open.pop();
    const isObject = this.#text.charCodeAt(this.#at) === closeObject;
    if (container === undefined || container.isObject !== isObject) throw unexpected(this.#text.charAt(this.#at));
    if (container.value === null) return;
    this.#take(container, "end", this.#at);
    const outer = this.#innermost;
    if (Array.isArray(outer.value)) outer.value.push(container.value);
    else if (outer.value !== null) set(outer.value, String(parse(this.#text.slice(...outer.text))), container.value);
    outer.from = this.#at + 1;
    outer.last = "member";
  }

  /** Parses the members of the innermost container so far, if these members are long enough. */
  #cut(): boolean {
    const container = this.#innermost;
    if (this.#at - container.from < sliceLength) return false;
    for (const [i, inner] of this.#open.entries()) {
      if (inner.value !== null) continue;
      this.#take(this.#open[i - 1] ?? this.#root, "container", inner.start);
      inner.value = inner.isObject ? {} : [];
    }
    this.#take(container, "comma", this.#at);
    container.from = this.#at += 1;
    return true;
  }

  /** Parses and adds the members of a container up to a position, before which a comma, a container or the end stands. */
  #take(container: Container, next: "comma" | "container" | "end", end: number): void {
    const { value, isObject, last } = container;
    const gap = isObject ? objectGap : arrayGap;
    const before = { nothing: "", comma: `${gap},`, member: gap }[last];
    const after = { comma: `,${gap}`, container: arrayGap, end: "" }[next];
    const members = `${before}${this.#text.slice(container.from, end)}${after}`;
    if (Array.isArray(value)) {
      const items = parse(`[${members}]`) as unknown[];
      const most = after === "" ? items.length : items.length - 1;
      for (let i = before === "" ? 0 : 1; i < most; i++) value.push(items[i]);
    } else if (value !== null) {
      for (const [name, member] of Object.entries(parse(`{${members}}`) as object))
        if (name !== unusedName) set(value, name, member);
    }
    container.last = next === "comma" ? "comma" : "member";
  }
}

/** Sets a member as `JSON.parse` does: `__proto__` is a name like any other. */
function set(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
