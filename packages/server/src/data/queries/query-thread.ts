/** The entry of a query thread: the thread runs the inputs of queries, beside plain statements. */
import { releasedMemory } from "../../base/kernel/index.ts";
import { serveThread } from "../../store/database/index.ts";
import type { QueryInput } from "./plan.ts";
import { runQuery } from "./sql/run.ts";

/** The rows of a large answer, its records and its text take about so many times the bytes of the answer. */
const copies = 4;

// The inputs come from `Queries` alone, as JSON.
serveThread((reader, input) => {
  const answer = runQuery(reader, JSON.parse(String(input)) as QueryInput, true);
  releasedMemory(textLength(answer) * copies);
  return answer;
});

/** The length of the texts of an answer. */
function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, each) => sum + textLength(each), 0);
}
