/** The address of the settings' page. */
import { type RawSearch, textParam } from "../../kit/search-params.ts";

export interface SettingsSearch {
  /** A part of a key or of its description. */
  search?: string | undefined;
}

export function readSettingsSearch(search: RawSearch): SettingsSearch {
  return { search: textParam(search, "search") };
}
