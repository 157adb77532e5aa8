/** Keys of the configuration for people, and in the form of the environment and of `config.json`. */
import type { ConfigEntry, JsonValue } from "@socle/protocol";
import { formatBytes, formatNumber } from "../../kit/format.ts";
import { text } from "../../texts/index.ts";
import { shellWord } from "../records/snippets/requests.ts";

const timeUnits = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;
const sizeUnits = [
  ["GiB", 1_073_741_824],
  ["MiB", 1_048_576],
  ["KiB", 1_024],
] as const;

/** The largest unit that divides the value without a rest; null without a suitable unit. */
function inUnits(value: number, units: readonly (readonly [string, number])[]): [number, string] | null {
  const found = value === 0 ? undefined : units.find(([, size]) => value % size === 0);
  return found === undefined ? null : [value / found[1], found[0]];
}

type Valued = Pick<ConfigEntry, "value" | "unit">;

/** A value for people: 1 MiB, 15 min, on. */
export function readable({ value, unit }: Valued): string {
  if (value === null) return text.settings.notSet;
  if (typeof value === "boolean") return value ? text.settings.on : text.settings.off;
  if (typeof value === "number") {
    if (unit === "bytes") {
      const found = inUnits(value, sizeUnits);
      return found === null ? formatBytes(value) : `${formatNumber(found[0])} ${found[1]}`;
    }
    if (unit === "milliseconds") {
      const [count, name] = inUnits(value, timeUnits) ?? [value, "s"];
      return `${formatNumber(count)} ${name === "m" ? "min" : name}`;
    }
    // A port is no quantity, and users copy a count into a file: digits without separators.
    return String(value);
  }
  if (Array.isArray(value)) return value.map((item) => readable({ value: item, unit: null })).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value in the form of the configuration: "1MiB", "15m". */
export function written({ value, unit }: Valued): JsonValue {
  if (typeof value !== "number" || unit === null) return value;
  const found = inUnits(value, unit === "bytes" ? sizeUnits : timeUnits);
  return found === null ? value : found.join("");
}

/** A line for a shell or an `.env` file. A secret has no value here: the value stays empty. */
export function asVariable(entry: ConfigEntry): string {
  const value = entry.isSecret ? null : written(entry);
  if (value === null) return `${entry.variable}=`;
  const isTexts = Array.isArray(value) && value.every((item) => typeof item === "string");
  const plain = isTexts ? value.join(",") : typeof value === "object" ? JSON.stringify(value) : String(value);
  return `${entry.variable}=${/^[\w./:@+-]*$/.test(plain) ? plain : shellWord(plain)}`;
}

/** The key as an object for `config.json`. */
export function asJson(entry: ConfigEntry): string {
  let value: JsonValue = entry.isSecret ? "" : (written(entry) ?? "");
  for (const name of entry.key.split(".").toReversed()) value = { [name]: value };
  return JSON.stringify(value, null, 2);
}

/** The keys with a text in their name, description or variable, grouped by the part before the first dot, in the service's order. */
export function groupsOf(keys: readonly ConfigEntry[], search: string): [string, ConfigEntry[]][] {
  const words = search.trim().toLowerCase().split(/\s+/);
  const groups = new Map<string, ConfigEntry[]>();
  for (const entry of keys) {
    const { key, description, variable } = entry;
    const all = `${key} ${description} ${variable}`.toLowerCase();
    if (!words.every((word) => all.includes(word))) continue;
    const name = key.includes(".") ? (key.split(".", 1)[0] ?? "") : "";
    groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  return [...groups];
}
