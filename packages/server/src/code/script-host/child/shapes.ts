/**
 * The shapes of function modules (contract, "Shapes of functions"): one reader finds the handlers of a module, as named exports, by
 * `trigger`, in an object, by calls such as `onCreate("posts", handler)`, or by the name of the file; of ES modules and of CommonJS.
 */
import { basename } from "node:path";
import { isObject, oneOf, quote } from "../../../base/kernel/index.ts";
import { collectionNamed, HANDLER_KINDS, type HandlerKind, kindNamed, type NamedKind } from "../handler-kinds.ts";
import type { FoundHandler } from "../protocol.ts";
import { functionScript } from "../script-files.ts";
import type { Module } from "./exports.ts";

type Handler = (context: unknown) => unknown;

interface Found extends NamedKind {
  readonly handler: Handler;
  /** The object that has the handler as a method. */
  readonly self?: object;
}

/** Members that name the kind of the handler beside the member. */
const selectors = ["trigger", "type", "event", "eventType", "kind"] as const;

/** Calls such as `onCreate("posts", handler)`, which the modules of this process make while the modules load. */
export class HandlerCalls {
  readonly #byFile = new Map<string, Found[]>();
  readonly #loaded = new Set<string>();
  /** The globals, and the exports of `socle/functions`. */
  readonly functions: { readonly [kind: string]: (collection: unknown, handler: unknown) => unknown };

  /** @param fileOf the file of the project that the stack of an error points into first. */
  constructor(fileOf: (error: Error) => string | null) {
    const functionOf = (kind: HandlerKind) => (collection: unknown, handler: unknown) => {
      if (typeof collection !== "string" || !isHandler(handler))
        throw new TypeError(`${kind} takes a collection and a handler: ${kind}("posts", async ({ record }) => { … })`);
      const path = fileOf(new Error());
      if (path === null || functionScript(path) === null)
        throw new Error(`${kind}(…) works in files below functions/ whose names do not start with _`);
      if (this.#loaded.has(path)) throw new Error(`${kind}(…) works while the file loads, and not later`);
      this.#byFile.getOrInsertComputed(path, () => []).push({ kind, collection: collectionNamed(collection), handler });
      return handler;
    };
    this.functions = Object.fromEntries(HANDLER_KINDS.map((kind) => [kind, functionOf(kind)]));
  }

  /** The calls of a file that has loaded. */
  of(path: string): readonly Found[] {
    this.#loaded.add(path);
    return this.#byFile.get(path) ?? [];
  }

  /** The module of a file is to be loaded again. */
  forget(path: string): void {
    this.#loaded.delete(path);
    this.#byFile.delete(path);
  }
}

/**
 * The handlers of a function file, and the module with each handler under the name of the handler.
 * @throws Error for a trigger that names no kind, or has no handler.
 */
export function shapeOf(
  path: string,
  exported: Module,
  called: readonly Found[],
): { module: Module; handlers: FoundHandler[] } {
  const { default: inner } = exported;
  // The default export of CommonJS has all exports.
  const all: Module = isObject(inner) ? { ...inner, ...exported } : exported;
  const named = membersOf(exported, HANDLER_KINDS);
  const found = [...called];
  const others = [...named, ...selected(exported, named.length > 0), ...[inner].flat().flatMap(readObject)];
  for (const each of others) if (!found.some((other) => isSame(each, other, called))) found.push(each);
  if (found.length === 0) found.push(...byFileName(path, all));
  if (found.length === 0 && exported["trigger"] !== undefined)
    throw new Error(
      "exports trigger, and no handler: a default export, or an export named handler, that is a function",
    );
  const folder = functionScript(path)?.collection ?? null;
  const module = Object.fromEntries(Object.entries(all).filter(([, value]) => !isClass(value)));
  const handlers = found.map(({ kind, collection, handler, self }, i): FoundHandler => {
    const isOfFolder = collection === null || collection === folder;
    const same = found.slice(0, i).filter((each) => each.kind === kind && each.collection === collection).length;
    const name = [kind, ...(isOfFolder ? [] : [collection]), ...(same === 0 ? [] : [same + 1])].join(".");
    module[name] = self === undefined || self === exported ? handler : handler.bind(self);
    return { name, kind, collection };
  });
  return { module, handlers };
}

/** A registered function may be exported, too, and CommonJS has each export twice. */
function isSame(found: Found, other: Found, called: readonly Found[]): boolean {
  if (found.handler !== other.handler) return false;
  return called.includes(other) || (found.kind === other.kind && found.collection === other.collection);
}

/** The members whose names are kinds. */
function membersOf(source: Module, names: Iterable<string>, given: string | null = null): Found[] {
  return [...names].flatMap((name) => {
    const { [name]: handler } = source;
    const named = kindNamed(name);
    if (named === null || !isHandler(handler)) return [];
    return [{ kind: named.kind, collection: named.collection ?? given, handler, self: source }];
  });
}

/** The handler beside `trigger`, with each kind that `trigger` names. */
function selected(source: Module, isOptional: boolean): Found[] {
  const selector = selectors.find((name) => source[name] !== undefined);
  const handler = [source["handler"], source["default"]].find(isHandler);
  if (selector === undefined || handler === undefined) return [];
  return [source[selector]].flat().flatMap((value): Found[] => {
    const named = namedBy(value);
    if (named !== null) return [{ ...named, collection: named.collection ?? givenBy(source), handler, self: source }];
    if (isOptional) return [];
    throw new Error(
      `${selector}: ${quote(value)} names no kind; allowed: ${oneOf(HANDLER_KINDS)}, and texts such as "posts.created"`,
    );
  });
}

function namedBy(value: unknown): NamedKind | null {
  if (typeof value === "string") return kindNamed(value);
  if (!isObject(value)) return null;
  const selector = selectors.find((name) => value[name] !== undefined);
  const named = selector === undefined ? null : namedBy(value[selector]);
  return named && { kind: named.kind, collection: givenBy(value) ?? named.collection };
}

/** The collection that a member names. */
function givenBy({ collection }: Module): string | null {
  return typeof collection === "string" ? collectionNamed(collection) : null;
}

/** The handlers of an object that is a default export: by kind, or with `trigger` and `handler`. */
function readObject(value: unknown): Found[] {
  if (!isObject(value)) return [];
  // Methods of a class are no own members.
  const members = membersOf(value, new Set([...Object.keys(value), ...HANDLER_KINDS]), givenBy(value));
  return [...members, ...selected(value, members.length > 0)];
}

/** A default export in a file such as `onCreate.ts`, `on-create.ts` or `notify.onCreate.ts`. */
function byFileName(path: string, { default: inner, handler }: Module): Found[] {
  const target = [inner, isObject(inner) ? inner["default"] : undefined, handler].find(isHandler);
  const named = kindNamed(basename(path, ".ts"));
  return target === undefined || named === null ? [] : [{ kind: named.kind, collection: null, handler: target }];
}

function isHandler(value: unknown): value is Handler {
  return typeof value === "function" && !isClass(value);
}

/** Code of other files, and no handler. */
function isClass(value: unknown): boolean {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
