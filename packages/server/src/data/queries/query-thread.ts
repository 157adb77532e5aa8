/** The entry of a query thread: the thread runs the inputs of queries, beside plain statements. */
import { isObject, type LongText, releasedMemory } from "../../base/kernel/index.ts";
import { serveThread } from "../../store/database/index.ts";
import type { QueryInput } from "./plan.ts";
import { runQuery } from "./sql/run.ts";
import { VectorMemory } from "./sql/vector-memory.ts";

/** A longer text crosses to the event loop as bytes. */
const longText = 64 * 1024;
/** The rows of a large answer, its records and its text take about so many times the bytes of the answer. */
const copies = 4;

/** The vectors of this thread. */
const vectors = new VectorMemory();

// The inputs come from `Queries` alone, as JSON.
serveThread((reader, input) => {
  const answer = runQuery(reader, JSON.parse(String(input)) as QueryInput, { isOnLoop: false, vectors });
  const long = longTextsOf(answer.outcome);
  const released = Object.values(long).reduce((sum, { bytes }) => sum + bytes.byteLength * copies, 0);
  // Once the answer has left: until then, the texts are in use.
  if (released > 0) setImmediate(() => releasedMemory(released));
  const outcome = isObject(answer.outcome) ? { ...answer.outcome, ...long } : answer.outcome;
  return { result: { ...answer, outcome }, buffers: Object.values(long).map(({ bytes }) => bytes.buffer) };
});

/** The long texts of an outcome, by the names in the outcome. */
function longTextsOf(outcome: unknown): { [name: string]: LongText } {
  const long: { [name: string]: LongText } = {};
  for (const [name, text] of isObject(outcome) ? Object.entries(outcome) : []) {
    if (typeof text !== "string" || text.length <= longText) continue;
    const bytes = new TextEncoder().encode(text);
    long[name] = { bytes, digest: Bun.SHA256.hash(bytes, "base64url") };
  }
  return long;
}
