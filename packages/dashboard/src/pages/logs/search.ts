/** The address of the log's page. */
import { LOG_LEVELS, type LogLevel } from "@socle/protocol";
import { type RawSearch, searchOf, textParam } from "../../kit/search-params.ts";

/** The known levels of a text with commas between the levels. */
export function levelsIn(written: string | undefined): readonly LogLevel[] {
  const words = written?.split(",") ?? [];
  return LOG_LEVELS.filter((level) => words.includes(level));
}

function levelsParam(search: RawSearch, name: string): string | undefined {
  return levelsIn(textParam(search, name)).join(",") || undefined;
}

export const readLogSearch = searchOf({
  /** Levels with commas between the levels. */
  levels: levelsParam,
  /** A part of the message, of the request's id or of a field. */
  search: textParam,
});

export type LogSearch = ReturnType<typeof readLogSearch>;
