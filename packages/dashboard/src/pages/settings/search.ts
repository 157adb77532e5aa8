/** The address of the settings' page. */
import { searchOf, textParam } from "../../kit/search-params.ts";

export const readSettingsSearch = searchOf({
  /** A part of a key or of its description. */
  search: textParam,
});
