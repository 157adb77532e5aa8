/** Every text of the dashboard, in English. A section belongs to a page or part; functions take the values inside a text. */

import { diagram } from "./en/diagram.ts";
import { editor } from "./en/editor.ts";
import { functions, scripts } from "./en/functions.ts";
import { jobs } from "./en/jobs.ts";
import { logs } from "./en/logs.ts";
import { overview } from "./en/overview.ts";
import { collections, records, snippets } from "./en/records.ts";
import { schema } from "./en/schema.ts";
import { events, settings } from "./en/settings.ts";
import { common, diff, errors, notFound, runs, status, table, tail } from "./en/shared.ts";
import { palette, shell, shortcuts } from "./en/shell.ts";
import { login, setup } from "./en/signing-in.ts";
import { storage } from "./en/storage.ts";
import { exporting, importing } from "./en/transfer.ts";
import { users } from "./en/users.ts";

export const en = {
  common,
  errors,
  notFound,
  table,
  diff,
  tail,
  status,
  runs,
  shell,
  shortcuts,
  palette,
  login,
  setup,
  overview,
  collections,
  records,
  editor,
  import: importing,
  export: exporting,
  snippets,
  schema,
  diagram,
  users,
  storage,
  scripts,
  functions,
  jobs,
  logs,
  events,
  settings,
};
