/** The vocabulary of all modules: errors, principals, ids, the clock. A closed list of small files without state. */
export { Admission, type Holder, type Place } from "./admission.ts";
export { AppError, callerGone, LastingFault, messageOf, overloaded, reasonsOf, SetupError } from "./app-error.ts";
export { BoundedMap } from "./bounded-map.ts";
export { type Alarm, Clock, toTimestamp } from "./clock.ts";
export { parseDatetime } from "./datetime.ts";
export { canStartThread, countsDescriptorsSlowly, descriptorLimit, openDescriptors } from "./descriptors.ts";
export { freeBytes, refuseIrreplaceable } from "./disk.ts";
export { newId, randomToken } from "./ids.ts";
export { isObject, JsonText, type LongText, readJsonFile } from "./json.ts";
export { LIMITS, type LimitName } from "./limits.ts";
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
export { releaseBytes, releasedMemory } from "./released-memory.ts";
export { matchWeight, type SearchTerm, searchedCharacters, standsAt } from "./search-terms.ts";
export { type SearchWord, searchText, searchWords } from "./search-words.ts";
export { isSameSecret, Secret } from "./secret.ts";
export { allOf, count, excerpt, nearest, oneOf, printable, quote } from "./text.ts";
export { compareText, containsText, isAscii } from "./text-match.ts";
export { threadEntry } from "./thread-entry.ts";
export { LoopTurns, nextTurn, presentTurn, stepsPerLook } from "./turn.ts";
