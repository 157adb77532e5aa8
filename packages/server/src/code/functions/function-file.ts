/** Function files: the functions and hooks that a file exports, and the possible hooks of a file which does not load. */
import { USERS } from "@socle/protocol";
import { AppError, maxDepth, oneOf, quote } from "../../base/kernel/index.ts";
import { Histogram } from "../../base/logging/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import { linear, type RetryPolicy } from "../runs/index.ts";
import {
  type BrokenScript,
  exportAdvice,
  type Lane,
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
export function lanesOf({ functions }: ScriptExports): Lane[] {
  const found = allHandlers.filter(({ name }) => functions.includes(name));
  const lanes: Lane[] = found.some(isHook) ? ["hooks"] : [];
  return found.every(isHook) ? lanes : ["runs", ...lanes];
}

/** A handler and its events. */
export interface Trigger {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  readonly collection: string;
  readonly eventType: string;
  readonly timeoutMs: number;
  readonly policy: RetryPolicy;
}

/**
 * The triggers of a function file. A file may have hooks alone.
 * @throws Error that names the fault of the file, and the allowed values.
 */
export function triggersOf({ file, exports }: Script, defaultTimeoutMs: number): Trigger[] {
  const { path } = file;
  const collection = file.collection ?? "";
  const handlers = handlersOf(collection);
  const names = handlers.map(({ name }) => name);
  const allowed = oneOf(names);
  for (const { name } of allHandlers) {
    const type = exports.values[name];
    if (type !== undefined) throw new Error(`${name} must be a function, not of type ${String(type)}`);
    if (exports.functions.includes(name) && !names.includes(name))
      throw new Error(`${name} does not work in functions/${collection}/, where a file may export ${allowed}`);
  }
  const found = handlers.filter(({ name }) => exports.functions.includes(name));
  if (found.length === 0) throw new Error(`exports none of ${allowed}${exportAdvice(exports.functions, names)}`);
  const { timeout, retries } = parseOptions(exports.values["options"], ["timeout", "retries"]);
  const timeoutMs = parseTimeout(timeout, defaultTimeoutMs);
  const policy = linear(parseRetries(retries, 0));
  return found
    .filter((type) => !isHook(type))
    .map((type) => {
      const eventType = eventTypeOf(collection, type);
      return { path, handler: type.name, collection, eventType, timeoutMs, policy };
    });
}

/** A handler that runs before a write, a registration or a login. */
export interface Hook {
  readonly path: string;
  /** The name of the export. */
  readonly handler: HookType["name"];
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
  collections: Pick<Collections, "successorsOf">,
  former: readonly Hook[],
): Hook[] {
  const files = [
    ...scripts.map(({ file, exports }) => {
      return { file, isBroken: false, has: (name: string) => exports.functions.includes(name) };
    }),
    ...broken.map(({ file, source }) => ({ file, isBroken: true, has: (name: string) => mayExport(source, name) })),
  ];
  const hooks = files.flatMap(({ file, isBroken, has }) => {
    const { path } = file;
    const folder = file.collection ?? "";
    const successors = collections.successorsOf(folder);
    const named = successors.length === 0 ? [folder] : successors;
    const types = handlersOf(folder)
      .filter(isHook)
      .filter(({ name }) => has(name));
    return types.flatMap((type) =>
      named.map((collection) => {
        const { name: handler, operation } = type;
        const same = former.find((hook) => hook.path === path && hook.handler === handler);
        const calls = same?.calls ?? { passed: 0, refused: 0, failed: 0 };
        const durations = same?.durations ?? new Histogram();
        const eventType = eventTypeOf(collection, type);
        const place = { path, handler, collection };
        const renamed = collection === folder ? null : refusalOfRenamed(place, folder);
        const refusal = renamed ?? (isBroken ? refusalOfBroken(place) : null);
        return { ...place, operation, eventType, refusal, calls, durations };
      }),
    );
  });
  return hooks.sort((a, b) => (a.path < b.path ? -1 : 1));
}

type HookPlace = Pick<Hook, "path" | "handler" | "collection">;

function refusalOfBroken({ path, handler, collection }: HookPlace): HookRefusal {
  return {
    reason: "its file does not load",
    notice: `Until ${path} loads, what its ${handler} may be for in ${collection} is refused`,
  };
}

function refusalOfRenamed({ path, handler, collection }: HookPlace, folder: string): HookRefusal {
  const advice = `rename the folder functions/${folder}/ to functions/${collection}/`;
  return {
    reason: `the collection ${quote(folder)} is ${quote(collection)} now; ${advice}`,
    notice: `The collection ${quote(folder)} is ${quote(collection)} now. Until ${path} is gone, what its ${handler} may be for in ${collection} is refused: ${advice}`,
  };
}

/** The text of a file that does not load cannot be read as a module. A name in a comment counts: that refuses too much, never too little. */
function mayExport(source: string | null, name: string): boolean {
  return source === null || new RegExp(`\\b${name}\\b|\\bexport\\s*\\*`).test(source);
}

/** @param next the handler that would go on, the refused change, and advice. */
export function chainTooLong(next: string): AppError {
  return new AppError(
    "bad_request",
    `A chain of ${maxDepth} functions and hooks, each started by a change that the one before it made, would go on with ${next}`,
  );
}
