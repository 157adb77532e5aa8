/** Function files: the functions and hooks that a file exports, and the possible hooks of a file which does not load. */
import { USERS } from "@socle/protocol";
import { AppError, maxDepth, nearest, oneOf, quote } from "../../base/kernel/index.ts";
import { Histogram } from "../../base/logging/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import { linear, type RetryPolicy } from "../runs/index.ts";
import {
  type BrokenScript,
  exportAdvice,
  type FoundHandler,
  type HandlerKind,
  type Lane,
  mayName,
  parseOptions,
  parseRetries,
  parseTimeout,
  type Script,
  type ScriptExports,
} from "../script-host/index.ts";

/** The handlers of a collection, with the end of the type of the event. A hook runs before an operation. */
const recordHandlers = [
  { name: "onCreate", event: "created", operation: null },
  { name: "onUpdate", event: "updated", operation: null },
  { name: "onDelete", event: "deleted", operation: null },
  { name: "beforeCreate", event: "created", operation: "create" },
  { name: "beforeUpdate", event: "updated", operation: "update" },
  { name: "beforeDelete", event: "deleted", operation: "delete" },
] as const;
/** The handlers of `functions/users/`, with the type of the event. Updates and deletions need a definition of `users`. */
const userHandlers = [
  { name: "onCreate", event: "auth.register", operation: null },
  { name: "onUpdate", event: "users.updated", operation: null },
  { name: "onDelete", event: "users.deleted", operation: null },
  { name: "onLogin", event: "auth.login", operation: null },
  { name: "beforeRegister", event: "auth.register", operation: "register" },
  { name: "beforeLogin", event: "auth.login", operation: "login" },
  { name: "beforeUpdate", event: "users.updated", operation: "update" },
] as const;
const allHandlers = [...recordHandlers, ...userHandlers];

type HandlerType = (typeof allHandlers)[number];
type HookType = Exclude<HandlerType, { operation: null }>;

function handlersOf(collection: string): readonly HandlerType[] {
  return collection === USERS ? userHandlers : recordHandlers;
}

function isHook(type: HandlerType): type is HookType {
  return type.operation !== null;
}

function eventTypeOf(collection: string, { event }: HandlerType): string {
  return collection === USERS ? event : `${collection}.${event}`;
}

/** The lanes that need a file with these exports. */
export function lanesOf({ handlers = [] }: ScriptExports): Lane[] {
  const isOfHook = handlers.map(({ kind }) => kind.startsWith("before"));
  return [
    ...(isOfHook.includes(false) ? ["runs" as const] : []),
    ...(isOfHook.includes(true) ? ["hooks" as const] : []),
  ];
}

/** The warning about a file without a handler, or with a handler for no collection. */
export function noticeOf({ file, exports: { handlers = [] } }: Script): string | null {
  if (handlers.length === 0)
    return "has no handler: it is code for other files, as a name that starts with _ says without this warning";
  const without = handlers.find(({ collection }) => (collection ?? file.collection) === null);
  if (without === undefined) return null;
  return `has no effect: functions are functions/<collection>/<file>.ts, or name the collection, as ${without.kind}("posts", handler) does`;
}

/** A handler and its events. */
export interface Trigger {
  readonly path: string;
  /** The name of the handler in the file: the kind, with the collection if the folder is of another collection. */
  readonly handler: string;
  readonly kind: HandlerType["name"];
  readonly collection: string;
  readonly eventType: string;
  readonly timeoutMs: number;
  readonly policy: RetryPolicy;
}

/**
 * The triggers of a function file. A file may have hooks alone, or no handler at all: such a file is code for other files.
 * @throws Error that names the fault of the file, and the allowed values.
 */
export function triggersOf({ file, exports }: Script, defaultTimeoutMs: number): Trigger[] {
  const { path } = file;
  const { handlers = [], functions, values } = exports;
  const found = handlers.flatMap((handler) =>
    placesOf(handler, file.collection).map((place) => ({ ...handler, ...place })),
  );
  for (const { name } of allHandlers)
    if (values[name] !== undefined) throw new Error(`${name} must be a function, not of type ${String(values[name])}`);
  if (handlers.length === 0) refuseAttempts(functions, file.collection);
  const { timeout, retries } = parseOptions(values["options"], ["timeout", "retries"]);
  const timeoutMs = parseTimeout(timeout, defaultTimeoutMs);
  const policy = linear(parseRetries(retries, 0));
  return found
    .filter(({ type }) => !isHook(type))
    .map(({ name: handler, kind, collection, type }) => {
      return { path, handler, kind, collection, eventType: eventTypeOf(collection, type), timeoutMs, policy };
    });
}

/** The collection and the type of a handler; nothing for a handler without a collection. @throws Error. */
function placesOf(
  { kind, collection: own }: Omit<FoundHandler, "name">,
  folder: string | null,
): { collection: string; type: HandlerType }[] {
  const collection = own ?? folder;
  if (collection === null) return [];
  const type = handlersOf(collection).find(({ name }) => name === kind);
  if (type !== undefined) return [{ collection, type }];
  const where =
    collection === folder ? `in functions/${collection}/, where a file may export` : `for ${collection}; possible are`;
  throw new Error(`${kind} does not work ${where} ${allowedFor(collection)}`);
}

function allowedFor(collection: string): string {
  return oneOf(handlersOf(collection).map(({ name }) => name));
}

/** Refuses a file without a handler that seems to have one: a default export, or a misspelt name. */
function refuseAttempts(functions: readonly string[], folder: string | null): void {
  const names = handlersOf(folder ?? "").map(({ name }) => name);
  const isAttempt = functions.some((name) => name === "default" || name === "handler" || nearest(name, names) !== null);
  if (isAttempt) throw new Error(`exports none of ${oneOf(names)}${exportAdvice(functions, names)}`);
}

/** A handler that runs before a write, a registration or a login. */
export interface Hook {
  readonly path: string;
  /** The name of the handler in the file. */
  readonly handler: string;
  readonly kind: HookType["name"];
  readonly operation: HookType["operation"];
  /** The collection, or `users`. */
  readonly collection: string;
  /** The type of the event that follows the change. */
  readonly eventType: string;
  /** Why all changes that the hook may be for are refused; null for a handler that is asked. */
  readonly refusal: HookRefusal | null;
  /** The calls that let the change pass, refused the change, or did not decide. */
  readonly calls: { passed: number; refused: number; failed: number };
  readonly durations: Histogram;
}

/** A hook that is not asked: the handler is unknown, or the folder has the former name of the collection. */
interface HookRefusal {
  /** Of the hook: "its file does not load". */
  readonly reason: string;
  /** For the log, once. */
  readonly notice: string;
}

/** The files of functions. */
export interface HookFiles {
  readonly scripts: readonly Script[];
  readonly broken: readonly BrokenScript[];
}

/**
 * The hooks of all files, in the order of paths. A hook in a folder with the former name of a collection is a hook of the
 * collection, and refuses.
 * @param former the hooks of before: a hook with the same name in the same file goes on with the counts.
 */
export function hooksOf(
  { scripts, broken }: HookFiles,
  collections: Pick<Collections, "all" | "successorsOf">,
  former: readonly Hook[],
): Hook[] {
  const names = [...collections.all().map(({ name }) => name), USERS];
  const found = [
    ...scripts.flatMap(({ file, exports: { handlers = [] } }) =>
      handlers.flatMap((each) =>
        placesOf(each, file.collection).map((place) => ({ ...place, file, handler: each.name, isBroken: false })),
      ),
    ),
    ...broken.flatMap((script) =>
      possibleHooks(script, names).map((possible) => ({ ...possible, file: script.file, isBroken: true })),
    ),
  ];
  const hooks = found.flatMap(({ file: { path, collection: folder }, handler, collection: named, type, isBroken }) => {
    if (!isHook(type)) return [];
    const { name: kind, operation } = type;
    const successors = collections.successorsOf(named);
    return (successors.length === 0 ? [named] : successors).map((collection) => {
      const same = former.find((hook) => hook.path === path && hook.handler === handler);
      const calls = same?.calls ?? { passed: 0, refused: 0, failed: 0 };
      const durations = same?.durations ?? new Histogram();
      const eventType = eventTypeOf(collection, type);
      const place = { path, handler, kind, collection };
      const renamed = collection === named ? null : refusalOfRenamed(place, named, named === folder);
      const refusal = renamed ?? (isBroken ? refusalOfBroken(place) : null);
      return { ...place, operation, eventType, refusal, calls, durations };
    });
  });
  return hooks.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The hooks that a file which does not load may have, for the collection of the folder and the collections that the text names. */
function possibleHooks(
  { file, source }: BrokenScript,
  names: readonly string[],
): { handler: string; collection: string; type: HandlerType }[] {
  const text = source === null ? null : `${file.path}\n${source}`;
  const isNamed = (name: string): boolean => text !== null && new RegExp(`["'\`]${name}["'\`.]`).test(text);
  const places = new Set([...(file.collection === null ? [] : [file.collection]), ...names.filter(isNamed)]);
  return [...places].flatMap((collection) =>
    handlersOf(collection)
      .filter(({ name }) => mayExport(text, name))
      .map((type) => ({
        handler: collection === file.collection ? type.name : `${type.name}.${collection}`,
        collection,
        type,
      })),
  );
}

type HookPlace = Pick<Hook, "path" | "kind" | "collection">;

function refusalOfBroken({ path, kind, collection }: HookPlace): HookRefusal {
  return {
    reason: "its file does not load",
    notice: `Until ${path} loads, the changes of its ${kind} in ${collection} are refused`,
  };
}

function refusalOfRenamed({ path, kind, collection }: HookPlace, former: string, isFolder: boolean): HookRefusal {
  const advice = isFolder
    ? `rename the folder functions/${former}/ to functions/${collection}/`
    : `name ${quote(collection)} in ${path}`;
  return {
    reason: `the collection ${quote(former)} is ${quote(collection)} now; ${advice}`,
    notice: `The collection ${quote(former)} is ${quote(collection)} now. Until ${path} ${isFolder ? "is gone" : "names the collection"}, the changes of its ${kind} in ${collection} are refused: ${advice}`,
  };
}

/** The text of a file that does not load cannot be read as a module. A name in a comment counts: that refuses too much, never too little. */
function mayExport(source: string | null, name: HandlerKind): boolean {
  return source === null || mayName(source, name) || /\bexport\s*\*/.test(source);
}

/** @param next the handler that would go on, the refused change, and advice. */
export function chainTooLong(next: string): AppError {
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions and hooks, each started by a change that the one before it made, would go on with ${next}`,
  );
}
