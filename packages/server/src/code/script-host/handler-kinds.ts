/** The kinds of handlers of function files, and the texts by which a file names a kind (contract, "Shapes of functions"). */
import { USERS } from "@socle/protocol";

export const HANDLER_KINDS = [
  "onCreate",
  "onUpdate",
  "onDelete",
  "onLogin",
  "beforeCreate",
  "beforeUpdate",
  "beforeDelete",
  "beforeRegister",
  "beforeLogin",
] as const;
export type HandlerKind = (typeof HANDLER_KINDS)[number];

/** A kind, and the collection that is named with the kind; null when the folder of the file decides. */
export interface NamedKind {
  readonly kind: HandlerKind;
  readonly collection: string | null;
}

/** Words of a trigger in the small letters of a comparison, beside the names of the kinds. */
const words: { readonly [word: string]: HandlerKind } = {
  ...Object.fromEntries(HANDLER_KINDS.map((kind) => [kind.toLowerCase(), kind])),
  create: "onCreate",
  created: "onCreate",
  register: "onCreate",
  update: "onUpdate",
  updated: "onUpdate",
  delete: "onDelete",
  deleted: "onDelete",
  login: "onLogin",
};

/** The kind that `onCreate`, `on-create`, `create`, `posts.created` or `auth.login` names; null for any other text. */
export function kindNamed(text: string): NamedKind | null {
  const [, collection = null, word = ""] = /^(?:(.+)\.)?([^.]+)$/.exec(text) ?? [];
  const plain = word.toLowerCase().replaceAll(/[-_ ]/g, "");
  // An own word: `constructor` is none.
  const kind = Object.hasOwn(words, plain) ? words[plain] : undefined;
  return kind === undefined ? null : { kind, collection: collection === null ? null : collectionNamed(collection) };
}

/** The collection that a folder or a text names: events of `users` are named `auth.login`, so `auth` means `users`, too. */
export function collectionNamed(name: string): string {
  return name === "auth" ? USERS : name;
}

/** Whether a text may name the kind in any spelling. A name in a comment counts. */
export function mayName(text: string, kind: HandlerKind): boolean {
  return new RegExp(kind.replace(/(?=[A-Z])/, "[-_ ]?"), "i").test(text);
}
