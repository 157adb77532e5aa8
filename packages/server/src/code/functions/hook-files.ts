/** Hook files: the hooks that the files of functions export, and the possible hooks of a file which does not load. */

import { Histogram } from "../../base/logging/index.ts";
import type { BrokenScript, Script, ScriptExports } from "../script-host/index.ts";

/** The hooks of records: the operation after each hook, and the last word of the type of the event that follows. */
const recordHooks = [
  { name: "beforeCreate", operation: "create", event: "created" },
  { name: "beforeUpdate", operation: "update", event: "updated" },
  { name: "beforeDelete", operation: "delete", event: "deleted" },
] as const;
/** The hooks of users: the step after each hook, and the last word of the type of its event. */
const userHooks = [
  { name: "beforeRegister", operation: "register", event: "register" },
  { name: "beforeLogin", operation: "login", event: "login" },
] as const;
const allHooks = [...recordHooks, ...userHooks];

type HookType = (typeof allHooks)[number];

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
  /** Whether its file does not load, so that the handler is unknown: all changes that the hook may be for are refused. */
  readonly isBroken: boolean;
  /** The calls that let the change pass, refused the change, or did not decide. */
  readonly calls: { passed: number; refused: number; failed: number };
  /** The durations of the calls. */
  readonly durations: Histogram;
}

/** The names of all hooks. */
export const hookNames: readonly string[] = allHooks.map(({ name }) => name);

/** The names of the hooks that a file in the folder of a collection, or of users, may export. */
export function hookNamesOf(collection: string): string[] {
  return typesOf(collection).map(({ name }) => name);
}

function typesOf(collection: string): readonly HookType[] {
  return collection === "users" ? userHooks : recordHooks;
}

/** Whether a file exports a hook. */
export function hasHooks({ functions }: ScriptExports): boolean {
  return hookNames.some((name) => functions.includes(name));
}

interface HookSources {
  readonly scripts: readonly Script[];
  readonly broken: readonly BrokenScript[];
  /** The hooks of before: a hook with the same name in the same file goes on with their counts. */
  readonly former: readonly Hook[];
}

/** The hooks of all files, in the order of their paths. */
export function hooksOf({ scripts, broken, former }: HookSources): Hook[] {
  const hookOf = ({ path, collection }: Script["file"], type: HookType, isBroken: boolean): Hook => {
    const { name: handler, operation, event } = type;
    const eventType = `${collection === "users" ? "auth" : collection}.${event}`;
    const same = former.find((hook) => hook.path === path && hook.handler === handler);
    const { calls, durations } = same ?? {
      calls: { passed: 0, refused: 0, failed: 0 },
      durations: new Histogram(),
    };
    return { path, collection: collection ?? "", handler, operation, eventType, isBroken, calls, durations };
  };
  const loaded = scripts.flatMap(({ file, exports }) =>
    allHooks.filter(({ name }) => exports.functions.includes(name)).map((type) => hookOf(file, type, false)),
  );
  const closed = broken.flatMap(({ file, source }) =>
    typesOf(file.collection ?? "")
      .filter(({ name }) => mayExport(source, name))
      .map((type) => hookOf(file, type, true)),
  );
  return [...loaded, ...closed].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The text of a file that does not load cannot be read as a module. A name in a comment counts: that refuses too much, never too little. */
function mayExport(source: string | null, name: string): boolean {
  return source === null || new RegExp(`\\b${name}\\b|\\bexport\\s*\\*`).test(source);
}
