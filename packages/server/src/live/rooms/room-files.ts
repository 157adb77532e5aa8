/** Room files: reads and validates `rooms/{name}.json`, the definitions of rooms. */
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { NAME_PATTERN, type RoomDefinition } from "@socle/protocol";
import { adviceOnName, isObject, quote, readJsonFile, SetupError } from "../../base/kernel/index.ts";

/** A definition with its file. */
export interface RoomFile {
  readonly path: string;
  readonly definition: RoomDefinition;
}

const attributes = ["$schema", "name", "key", "join", "send", "presence", "events"];

/** The folder of the definitions, in the folder of a project. */
export function roomFolder(folder: string): string {
  return join(folder, "rooms");
}

/** The paths of the definitions of a project, in the order of names. */
export function roomPaths(folder: string): string[] {
  const rooms = roomFolder(folder);
  const names = existsSync(rooms) ? readdirSync(rooms).filter((name) => name.endsWith(".json")) : [];
  return names.sort().map((name) => join(rooms, name));
}

/** The definitions of a project. @throws SetupError with the file and the reason. */
export function readRooms(folder: string): Promise<RoomFile[]> {
  return Promise.all(roomPaths(folder).map(readRoom));
}

/** @throws SetupError with the file and the reason. */
export async function readRoom(path: string): Promise<RoomFile> {
  const content = await readJsonFile(path);
  const refuse = (problem: string): never => {
    throw new SetupError(`${path}: ${problem}`);
  };
  if (!isObject(content)) return refuse("a room is a JSON object");
  const given = Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null));
  for (const name of Object.keys(given))
    if (!attributes.includes(name)) refuse(`unknown attribute ${quote(name)}.${adviceOnName(name, attributes)}`);
  const own = basename(path, ".json");
  const { name = own, key, join: joinRule, send = joinRule } = given;
  if (name !== own) refuse(`"name" must be ${quote(own)}, as the file is named, not ${quote(name)}`);
  if (!NAME_PATTERN.test(own))
    refuse(`the name ${quote(own)} must have letters, digits and _, and begin with a letter`);
  const texts = (attribute: "presence" | "events"): string[] => {
    const list = given[attribute] ?? [];
    if (Array.isArray(list) && list.every((each) => typeof each === "string" && each !== "")) return list as string[];
    return refuse(`"${attribute}" must be an array of names, not ${quote(list)}`);
  };
  const rule = (attribute: "join" | "send", value: unknown): string => {
    if (typeof value === "string" && value.trim() !== "") return value;
    const allowed = "public, authenticated, owner, admin, or an expression";
    return refuse(`"${attribute}" must be a rule (${allowed})${value === undefined ? "; it is missing" : ""}`);
  };
  return {
    path,
    definition: {
      name: own,
      key: keyOf(key) ?? refuse(`"key" must be "string" or { "collection": NAME }, not ${quote(key)}`),
      join: rule("join", joinRule),
      send: rule("send", send),
      presence: texts("presence"),
      events: texts("events"),
    },
  };
}

function keyOf(key: unknown): RoomDefinition["key"] | null {
  if (key === "string") return key;
  const collection = isObject(key) && Object.keys(key).length === 1 ? key["collection"] : null;
  return typeof collection === "string" ? { collection } : null;
}
