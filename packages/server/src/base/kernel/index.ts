/** The vocabulary of all modules: errors, principals, ids, the clock, JSON, admission to scarce work, limits, the machine. */

export { parseDatetime } from "@socle/protocol/cells";
export {
  Admission,
  BucketsOfRate,
  type Holder,
  isOwnMachine,
  type Place,
  type Rate,
  TokenBuckets,
} from "./admission.ts";
export {
  AppError,
  appErrorOf,
  CallerGone,
  callerGone,
  LastingFault,
  messageOf,
  overloaded,
  type PlainAppError,
  plainAppError,
  reasonsOf,
  SetupError,
} from "./app-error.ts";
export { BoundedMap } from "./bounded-map.ts";
export {
  type Alarm,
  Clock,
  isTimeMovable,
  isTimeZone,
  machineTime,
  moveTime,
  newId,
  startOfToday,
  TIME_UNITS,
  type TimeUnit,
  timeOffset,
  toTimestamp,
  unitStart,
} from "./clock.ts";
export { isObject, JsonText, type LongText, readChoice, readJsonFile } from "./json.ts";
export { LIMITS, type LimitName } from "./limits.ts";
export {
  canStartThread,
  countsDescriptorsSlowly,
  descriptorLimit,
  freeBytes,
  openDescriptors,
  ownExecutable,
  refuseIrreplaceable,
  residentBytes,
  threadEntry,
  watchMemory,
} from "./machine.ts";
export {
  type Acting,
  actingFor,
  actorOf,
  type Bearer,
  type Cause,
  causeOf,
  chainOf,
  codeOf,
  depthOf,
  hookFor,
  identityOf,
  isAdmin,
  isNobody,
  maxDepth,
  originOf,
  type Preview,
  type Principal,
  previewOf,
  type SignedIn,
  type System,
  shareOf,
  system,
  systemFor,
  type TraceOrigin,
  visitorFor,
} from "./principal.ts";
export { readShape } from "./read-shape.ts";
export { releaseBytes, releasedMemory, releasedText } from "./released-memory.ts";
export {
  matchWeight,
  type SearchTerm,
  type SearchWord,
  searchedCharacters,
  searchText,
  searchWords,
  standsAt,
  wordsVersion,
} from "./search-terms.ts";
export { isSameSecret, randomToken, Secret } from "./secret.ts";
export {
  adviceOnName,
  allOf,
  compareText,
  containsText,
  count,
  escapeHtml,
  excerpt,
  isAscii,
  nearest,
  oneOf,
  printable,
  quote,
} from "./text.ts";
export { LoopTurns, nextTurn, stepsPerLook } from "./turn.ts";
export {
  cosineDistance,
  decodeVector,
  encodeVector,
  lengthOf,
  numbersOf,
  vectorDistance,
  writeVector,
} from "./vectors.ts";
