/** Hook files: the hooks that the files of functions export, and those that a file which does not load may have. */
import type { AuthStep } from "../auth/index.ts";
import type { HookedOperation } from "../records/index.ts";
import type { BrokenScript, Script, ScriptExports } from "../script-host/index.ts";

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
  /** The collection, or `users`. */
  readonly collection: string;
  /** Whether its file does not load, so that nobody knows whether it has this handler: what it may be for is refused. */
  readonly isBroken: boolean;
}

/** The names of the hooks that a file in the folder of a collection, or of users, may export. */
export function hookNamesOf(collection: string): HookName[] {
  return Object.values(collection === "users" ? userHooks : recordHooks);
}

/** The name of the hooks before an operation on records, or a step of users. */
export function hookBefore(operation: HookedOperation | AuthStep): HookName {
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
    hooksIn(exports).map((handler) => ({ ...identityOf(file), handler, isBroken: false })),
  );
  const closed = broken.flatMap(({ file, source }) =>
    hookNamesOf(file.collection ?? "")
      .filter((name) => mayExport(source, name))
      .map((handler) => ({ ...identityOf(file), handler, isBroken: true })),
  );
  return [...loaded, ...closed].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function identityOf({ path, collection }: Script["file"]): { path: string; collection: string } {
  return { path, collection: collection ?? "" };
}

/** The text of a file that does not load cannot be read as a module. A name in a comment counts: that refuses too much, never too little. */
function mayExport(source: string | null, name: string): boolean {
  return source === null || new RegExp(`\\b${name}\\b|\\bexport\\s*\\*`).test(source);
}
