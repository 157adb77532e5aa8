/** The words every module shares: errors, principals, ids, the clock. A closed list of small files without state. */
export { AppError, messageOf, reasonsOf, SetupError } from "./app-error.ts";
export { type Awaitable, inTurn } from "./awaitable.ts";
export { BoundedMap } from "./bounded-map.ts";
export { type Alarm, Clock, toTimestamp } from "./clock.ts";
export { parseDatetime } from "./datetime.ts";
export { canStartThread, countsDescriptorsSlowly, descriptorLimit, openDescriptors } from "./descriptors.ts";
export { freeBytes } from "./disk.ts";
export { FairGate } from "./fair-gate.ts";
export { Gate } from "./gate.ts";
export { newId, randomToken } from "./ids.ts";
export { isObject, JsonText, readJsonFile } from "./json.ts";
export { callerGone, LIMITS, type LimitName, overloaded } from "./limits.ts";
export { isTimeMovable, machineTime, moveTime, timeOffset } from "./moved-time.ts";
export {
  actingFor,
  actorOf,
  chainOf,
  depthOf,
  hookFor,
  isAdmin,
  maxDepth,
  type Principal,
  type SignedIn,
  type System,
  system,
  systemFor,
} from "./principal.ts";
export { releasedMemory } from "./released-memory.ts";
export { matchWeight, type SearchTerm, searchedCharacters, standsAt } from "./search-terms.ts";
export { type SearchWord, searchText, searchWords } from "./search-words.ts";
export { isSameSecret, Secret } from "./secret.ts";
export { allOf, count, excerpt, nearest, oneOf, printable, quote } from "./text.ts";
export { compareText, containsText, isAscii } from "./text-match.ts";
export { threadEntry } from "./thread-entry.ts";
export { LoopTurns, nextTurn, presentTurn, stepsPerLook } from "./turn.ts";
