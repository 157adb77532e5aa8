/** Kinds of the values of Firestore, and the common form of the values of a field. */
import { isObject, parseDatetime } from "../../../base/kernel/index.ts";

export type Kind =
  | "null"
  | "boolean"
  | "integer"
  | "float"
  | "text"
  | "time"
  | "place"
  | "reference"
  | "bytes"
  | "array"
  | "map";

interface Typed {
  readonly kind: Kind;
  /** A time: the stored form, or null for a time that Socle does not know. A place: `{ lat, lon }`. A reference: the path. */
  readonly value: unknown;
}

function timeOf(value: unknown): string | null {
  if (typeof value === "string") return parseDatetime(value);
  if (!isObject(value)) return null;
  const time = new Date(Number(value["_seconds"]) * 1_000 + Math.floor(Number(value["_nanoseconds"] ?? 0) / 1e6));
  return Number.isNaN(time.getTime()) ? null : parseDatetime(time.toISOString());
}

function hasOnly(value: Record<string, unknown>, ...names: string[]): boolean {
  return Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
}

export function typedOf(value: unknown): Typed {
  if (value === null || value === undefined) return { kind: "null", value: null };
  if (typeof value === "boolean") return { kind: "boolean", value };
  if (typeof value === "number") return { kind: Number.isSafeInteger(value) ? "integer" : "float", value };
  if (Array.isArray(value)) return { kind: "array", value };
  if (!isObject(value)) return { kind: "text", value: String(value) };
  const tag = hasOnly(value, "__datatype__", "value") ? value["__datatype__"] : undefined;
  const inner = tag === undefined ? value : value["value"];
  if (tag === "timestamp" || hasOnly(value, "_seconds", "_nanoseconds")) return { kind: "time", value: timeOf(inner) };
  if ((tag === "geopoint" && isObject(inner)) || hasOnly(value, "_latitude", "_longitude"))
    return {
      kind: "place",
      value: { lat: Reflect.get(Object(inner), "_latitude"), lon: Reflect.get(Object(inner), "_longitude") },
    };
  if (tag === "documentReference") return { kind: "reference", value: String(inner) };
  // NaN and the infinities.
  if (tag === "number") return { kind: "float", value: Number.NaN };
  if (tag === "bytes") return { kind: "bytes", value: inner };
  if (hasOnly(value, "type", "data") && value["type"] === "Buffer") return { kind: "bytes", value };
  return { kind: "map", value };
}

/** The names of the collections on a path, joined: `posts/comments` for `posts/p1/comments/c1`; and the ids. */
export function placeOf(path: readonly string[]): { names: string; key: string } {
  const every = (rest: number): string => path.filter((_, at) => at % 2 === rest).join("/");
  return { names: every(0), key: every(1) };
}

const longText = 255;
const maxItems = 1_000;
const maxItemLength = 1_000;

/** The common form of the values of a field in all documents. */
export class Shape {
  readonly kinds = new Set<Kind>();
  /** The collections that references lead to. */
  readonly targets = new Set<string>();
  #texts = 0;
  #ids = 0;
  /** Whether a text has several lines, or many characters. */
  isLong = false;
  /** The items of arrays. */
  items: Shape | null = null;
  /** Whether the items of each array are distinct texts or references that a multiple field takes. */
  isSet = true;
  mostItems = 0;

  /** Whether all texts are ids of users; `some` if only some texts are. */
  get ofUsers(): "all" | "some" | "none" {
    return this.#ids === 0 ? "none" : this.#ids === this.#texts ? "all" : "some";
  }

  add(given: unknown, isUser: (text: string) => boolean): void {
    const { kind, value } = typedOf(given);
    if (kind !== "null") this.kinds.add(kind);
    if (kind === "text") {
      const text = String(value);
      this.#texts += 1;
      if (isUser(text)) this.#ids += 1;
      if (text.length > longText || text.includes("\n")) this.isLong = true;
    }
    if (kind === "reference") this.targets.add(placeOf(String(value).split("/")).names);
    if (kind !== "array" || !Array.isArray(value)) return;
    this.items ??= new Shape();
    for (const item of value) this.items.add(item, isUser);
    const keys = value.map((item) => String(typedOf(item).value));
    this.mostItems = Math.max(this.mostItems, keys.length);
    this.isSet &&=
      new Set(keys).size === keys.length &&
      value.every((item) => ["text", "reference"].includes(typedOf(item).kind)) &&
      keys.every((key) => key !== "" && key.length <= maxItemLength) &&
      keys.length <= maxItems;
  }
}
