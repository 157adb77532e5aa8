/** `socle move-in`: the data of another service into a project folder. First a report; with `--yes` the move. */
import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { keepFilesPrivate, openService } from "../../app/index.ts";
import { count, SetupError } from "../../base/kernel/index.ts";
import {
  type Choices,
  checkTarget,
  Mover,
  readFirebase,
  readPocketBase,
  readSupabase,
  reportOf,
  survey,
  writeDefinitions,
} from "../../operate/move-in/index.ts";
import { type Command, type OptionValues, textOption, UsageError } from "../command.ts";
import { ProgressBar } from "../progress-bar.ts";

/** Texts `KEY=VALUE` of an option that may be given several times. @throws UsageError. */
function pairs(options: OptionValues, name: string): Map<string, string> {
  const texts = textOption(options, name)?.split("\n") ?? [];
  return new Map(
    texts.map((text): [string, string] => {
      const at = text.indexOf("=");
      if (at < 1) throw new UsageError(`--${name} is a name and a value, with = between, not ${text}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** A word of an option; null without the option. @throws UsageError for another word. */
function word<T extends string>(options: OptionValues, name: string, allowed: readonly T[]): T | null {
  const text = textOption(options, name);
  const found = allowed.find((each) => each === text);
  if (text !== undefined && found === undefined)
    throw new UsageError(`--${name} is ${allowed.join(" or ")}, not ${text}`);
  return found ?? null;
}

function choicesOf(options: OptionValues): Choices {
  return {
    dangling: word(options, "dangling", ["keep", "clear"]),
    clearsFiles: word(options, "missing-files", ["clear"]) !== null,
    firstKeepsEmail: word(options, "emails", ["first"]) !== null,
    emails: pairs(options, "email"),
    issuers: pairs(options, "issuer"),
  };
}

export const moveIn: Command = {
  name: "move-in",
  args: ["pocketbase|supabase|firebase", "PLACE"],
  summary:
    "Move from PocketBase (the data folder), Supabase (a plain dump of pg_dump) or Firebase (a folder with firestore.json and users.json) into this project. Without --yes, only a report",
  options: {
    yes: { summary: "move; again to go on, and for what has changed since" },
    dangling: {
      value: "keep|clear",
      summary: "ids of records that are gone: keep the ids, or clear the fields that may be empty",
    },
    "missing-files": { value: "clear", summary: "clear the fields with a file that is missing" },
    emails: {
      value: "first",
      summary: "of users with one address, the first keeps the address; the others have no address",
    },
    email: {
      value: "ID=ADDRESS",
      many: true,
      summary: "the address of a user, by the old id; for several users, again",
    },
    issuer: { value: "PROVIDER=URL", many: true, summary: "the issuer of a provider; for several providers, again" },
    delete: { summary: "delete the records of an earlier run that were deleted at the source since" },
    "any-version": { summary: "PocketBase: also data of a newer version, or of an app with migrations in Go" },
    files: { value: "FOLDER", summary: "Supabase, Firebase: the files of storage, as FOLDER/BUCKET/PATH" },
  },
  async run({ args: [service, place = ""], options, terminal, load }) {
    if (service !== "pocketbase" && service !== "supabase" && service !== "firebase")
      throw new UsageError(`move-in knows pocketbase, supabase and firebase, not ${service}`);
    const choices = choicesOf(options);
    const stored = textOption(options, "files");
    const folder = stored === undefined ? null : resolve(stored);
    if (service === "pocketbase" && folder !== null) throw new UsageError("--files is for supabase and firebase");
    keepFilesPrivate();
    const { config, logger } = await load();
    const work = `${config.database}-move-in`;
    using source =
      service === "pocketbase"
        ? await readPocketBase(resolve(place), { choices, work, anyVersion: options["any-version"] === true })
        : await (service === "supabase" ? readSupabase : readFirebase)(resolve(place), {
            choices,
            work,
            files: folder,
          });
    const found = await survey(source, choices);
    const report = reportOf(source, found);
    terminal.out(report);
    const open = found.findings.filter(({ kind }) => kind === "decide").length;
    if (options["yes"] !== true) {
      terminal.out(`\nNothing was moved. ${open > 0 ? "Decide first, then add" : "Add"} --yes to move.\n`);
      return 0;
    }
    if (open > 0)
      throw new SetupError(`nothing was moved: ${count(open, "point")} of the report must be decided by options`);
    await checkTarget(config, source, found);
    for (const path of writeDefinitions(config, source)) terminal.out(`Wrote ${path}\n`);
    const reportFile = join(config.folder, "move-in-report.txt");
    if (!existsSync(reportFile)) writeFileSync(reportFile, report);
    const map = join(config.folder, "move-in-map.ndjson");
    using bar = new ProgressBar(terminal, "Move");
    await using opened = await openService({
      config,
      logger,
      onFatal: (error) => logger.error("The disk has failed", { error }),
    });
    const onProgress = (done: number): void => bar.show(done, found.records);
    const { made, changed, unchanged, files, gone } = await new Mover(source, {
      ...opened,
      map,
      deletes: options["delete"] === true,
      onProgress,
    }).run();
    bar.end();
    const deleted =
      options["delete"] === true ? `${gone} deleted` : `${gone} gone at the source and kept (--delete deletes them)`;
    terminal.out(
      `${count(made, "record")} made, ${changed} changed, ${unchanged} as before, ${deleted}; ${count(files, "file")} stored\n`,
    );
    terminal.out(`Old addresses: ${map}\nReport: ${reportFile}\n`);
    return 0;
  },
};
