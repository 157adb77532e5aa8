/** Hook files: the hooks that the files of functions export, and the possible hooks of a file which does not load. */

import type { HookedOperation } from "../../data/records/index.ts";
import type { AuthStep } from "../../people/auth/index.ts";
import type { BrokenScript, Script, ScriptExports } from "../script-host/index.ts";

type HookedStep = HookedOperation | AuthStep;

const recordHooks = {
  create: "beforeCreate",
  update: "beforeUpdate",
  delete: "beforeDelete",
} as const satisfies { [operation in HookedOperation]: string };

const userHooks = { register: "beforeRegister", login: "beforeLogin" } as const satisfies {
  [step in AuthStep]: string;
};

/** The name of a hook. */
type HookName = (typeof recordHooks)[HookedOperation] | (typeof userHooks)[AuthStep];

/** The names of all hooks. */
export const hookNames: readonly HookName[] = [...Object.values(recordHooks), ...Object.values(userHooks)];

const operations: { readonly [name in HookName]: HookedStep } = {
  beforeCreate: "create",
  beforeUpdate: "update",
  beforeDelete: "delete",
  beforeRegister: "register",
  beforeLogin: "login",
};

/** The last word of the type of the event that follows a change with a hook. */
const events: { readonly [name in HookName]: string } = {
  beforeCreate: "created",
  beforeUpdate: "updated",
  beforeDelete: "deleted",
  beforeRegister: "register",
  beforeLogin: "login",
};

/** A handler that runs before a write, a registration or a login. */
export interface Hook {
  readonly path: string;
  /** The name of the export. */
  readonly handler: HookName;
  readonly operation: HookedStep;
  /** The collection, or `users`. */
  readonly collection: string;
  /** Whether its file does not load, so that the handler is unknown: all changes that the hook may be for are refused. */
  readonly isBroken: boolean;
}

/** The names of the hooks that a file in the folder of a collection, or of users, may export. */
export function hookNamesOf(collection: string): HookName[] {
  return Object.values(collection === "users" ? userHooks : recordHooks);
}

/** The name of the hooks before an operation on records, or a step of users. */
export function hookBefore(operation: HookedStep): HookName {
  return operation === "register" || operation === "login" ? userHooks[operation] : recordHooks[operation];
}

/** The type of the event that follows the change which a hook runs before. */
export function eventAfter({ collection, handler }: Pick<Hook, "collection" | "handler">): string {
  return `${collection === "users" ? "auth" : collection}.${events[handler]}`;
}

/** The hooks among the exports of a file. */
export function hooksIn(exports: ScriptExports): HookName[] {
  return hookNames.filter((name) => exports.functions.includes(name));
}

/** The hooks of all files, in the order of their paths. */
export function hooksOf(scripts: readonly Script[], broken: readonly BrokenScript[]): Hook[] {
  const loaded = scripts.flatMap(({ file, exports }) =>
    hooksIn(exports).map((handler) => hookOf(file, handler, false)),
  );
  const closed = broken.flatMap(({ file, source }) =>
    hookNamesOf(file.collection ?? "")
      .filter((name) => mayExport(source, name))
      .map((handler) => hookOf(file, handler, true)),
  );
  return [...loaded, ...closed].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function hookOf({ path, collection }: Script["file"], handler: HookName, isBroken: boolean): Hook {
  return { path, collection: collection ?? "", handler, operation: operations[handler], isBroken };
}

/** The text of a file that does not load cannot be read as a module. A name in a comment counts: that refuses too much, never too little. */
function mayExport(source: string | null, name: string): boolean {
  return source === null || new RegExp(`\\b${name}\\b|\\bexport\\s*\\*`).test(source);
}
