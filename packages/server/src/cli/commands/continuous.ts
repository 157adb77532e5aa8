/** The commands of a continuous backup: `socle backup list`, and the parts of `socle restore`, `socle verify` and `socle serve --from`. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { dataPathsOf, keepFilesPrivate, knownSchemas } from "../../app/index.ts";
import { count, printable, SetupError, toTimestamp } from "../../base/kernel/index.ts";
import {
  BackupPlace,
  gapText,
  type Identity,
  type Moment,
  missingText,
  momentsOf,
  restoreMoment,
  segmentsOf,
  surveyOf,
} from "../../operate/backup/index.ts";
import { type Command, type Settings, type Terminal, UsageError } from "../command.ts";
import { ProgressBar, readableSize } from "../progress-bar.ts";

/** The moment of `--at`. @throws UsageError. */
export function momentOf(text: string | undefined): Moment {
  if (text === undefined) return null;
  if (/^\d+$/.test(text)) return { position: Number(text) };
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new UsageError(`--at ${text}: is no moment; allowed: a time like 2026-11-30T08:15:00Z, or a position`);
  return { at };
}

/** The address of a place: an address of a bucket, or an absolute path. */
export function addressOfPlace(given: string): string {
  return given.startsWith("s3://") ? given : resolve(given);
}

/** Restores a moment of a continuous backup, and prints what was restored. */
export async function restoreFromPlace(
  { config }: Pick<Settings, "config">,
  options: {
    address: string;
    force: boolean;
    moment: Moment;
    identity: () => Promise<Identity>;
    terminal: Terminal;
    /** Takes a line on the restore. */
    say: (line: string) => void;
  },
): Promise<void> {
  const { address, identity, terminal, say } = options;
  const paths = dataPathsOf(config);
  let asked: Promise<Identity> | null = null;
  const askOnce = (): Promise<Identity> => {
    asked ??= identity();
    return asked;
  };
  const place = new BackupPlace(address, { keys: paths.files.s3, identity: askOnce });
  using bar = new ProgressBar(terminal, "Restore");
  const onProgress = (done: number, total: number): void => bar.show(done, total);
  const restored = await restoreMoment(place, {
    ...options,
    identity: askOnce,
    paths,
    schemas: knownSchemas,
    onProgress,
  });
  bar.end();
  const { position, at, commits, snapshot, aside, missing, filesLine, lostLine } = restored;
  for (const folder of aside) say(`The former data are in ${folder}`);
  if (missing.length > 0) say(`${count(missing.length, "file")} without a copy: ${missing.join(", ")}`);
  for (const line of [filesLine, lostLine]) if (line !== null) say(printable(line));
  say(`Restored position ${position}, the state of ${toTimestamp(at)}: ${snapshot} and ${count(commits, "commit")}`);
}

/** For `socle serve --from`. @throws SetupError when there are data. */
export async function restoreForStart(
  settings: Settings,
  { address, identity, terminal }: { address: string; identity: () => Promise<Identity>; terminal: Terminal },
): Promise<void> {
  const { config, logger } = settings;
  const { database } = config;
  keepFilesPrivate();
  if (existsSync(database) && statSync(database).size > 0)
    throw new SetupError(
      `database ${database}: has data, and --from begins on an empty folder alone. Start without --from; or put the data aside with socle restore ${address} --force`,
    );
  const say = (line: string): void => logger.notice(line);
  await restoreFromPlace(settings, { address, identity, terminal, say, force: false, moment: null });
}

export const backupList: Command = {
  name: "backup list",
  args: ["[PLACE]"],
  summary: "List snapshots, segments, moments and gaps of a continuous backup (default: backup.continuous)",
  options: { json: { summary: "as JSON" } },
  async run({ args, options, terminal, load }) {
    const { config } = await load();
    const given = args[0] ?? config["backup.continuous"];
    if (given === undefined) throw new UsageError("name a place, or set backup.continuous");
    const paths = dataPathsOf(config);
    const place = new BackupPlace(addressOfPlace(given), { keys: paths.files.s3 });
    const survey = await surveyOf(place, paths);
    const { chain, snapshots, first, last } = survey;
    const gaps = survey.gaps.filter(({ number }) => number > 1);
    const segments = await segmentsOf(place);
    const { missing } = segments;
    if (options["json"] === true) {
      const shown = { place: place.address, chain, snapshots, first, last, gaps, missing };
      terminal.out(`${JSON.stringify(shown, null, 2)}\n`);
      return 0;
    }
    const rows = snapshots.map(
      ({ name, position, bytes, madeAt }) =>
        `  ${toTimestamp(madeAt)}  position ${position}  ${readableSize(bytes)}  ${name}\n`,
    );
    terminal.out(`${place.address}: chain ${printable(chain ?? "")}
${count(segments.count, "segment")}, from number ${first.number} to ${last.number}
${missing.map((each) => `  ${missingText(each)}\n`).join("")}Restore with --at: ${momentsOf(survey)}
${count(snapshots.length, "snapshot")}
${rows.join("")}${count(gaps.length, "gap")}
${gaps.map((gap) => `  ${gapText(gap)}\n`).join("")}`);
    return 0;
  },
};
