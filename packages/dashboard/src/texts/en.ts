/** Every text of the dashboard, in English. A section belongs to a page or part; functions take the values inside a text. */
import { account } from "./en/account.ts";
import { api } from "./en/api.ts";
import { backups } from "./en/backups.ts";
import { editor } from "./en/editor.ts";
import { failures } from "./en/failures.ts";
import { first } from "./en/first.ts";
import * as functions from "./en/functions.ts";
import { jobs } from "./en/jobs.ts";
import { keys } from "./en/keys.ts";
import * as mails from "./en/mails.ts";
import { markdown } from "./en/markdown.ts";
import { overview } from "./en/overview.ts";
import { queries } from "./en/queries.ts";
import * as records from "./en/records.ts";
import { diagram, schema } from "./en/schema.ts";
import * as settings from "./en/settings.ts";
import * as shell from "./en/shell.ts";
import { sockets } from "./en/sockets.ts";
import { sql } from "./en/sql.ts";
import { storage } from "./en/storage.ts";
import { trace } from "./en/trace.ts";
import * as transfer from "./en/transfer.ts";
import { trash } from "./en/trash.ts";
import * as undo from "./en/undo.ts";
import { users } from "./en/users.ts";

export const en = {
  ...first,
  ...shell,
  ...records,
  ...functions,
  ...settings,
  ...mails,
  ...undo,
  ...{
    account,
    api,
    backups,
    markdown,
    overview,
    editor,
    schema,
    diagram,
    queries,
    sql,
    users,
    storage,
    jobs,
    keys,
    sockets,
    failures,
    trace,
    trash,
  },
  import: transfer.importing,
  export: transfer.exporting,
};
