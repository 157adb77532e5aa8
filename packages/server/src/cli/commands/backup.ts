/** `socle backup`, `socle restore`, `socle verify` and `socle vacuum`: the data of an installation as a whole. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { askService, build, dataPathsOf, keepFilesPrivate, knownSchemas } from "../../app/index.ts";
import { count, printable, refuseIrreplaceable, SetupError } from "../../base/kernel/index.ts";
import {
  type ArchiveSource,
  BackupPlace,
  backupFolder,
  backupIdentity,
  type DataPaths,
  encryptionFor,
  type Finding,
  type Identity,
  isBackupPlace,
  makeBackup,
  putRight,
  restoreBackup,
  sourceOf,
  verifyBackup,
  verifyContinuous,
  verifyData,
} from "../../operate/backup/index.ts";
import { Database, reasonOfEnd, vacuumDatabase } from "../../store/database/index.ts";
import {
  type Command,
  type CommandInvocation,
  needDatabase,
  type Settings,
  type Terminal,
  textOption,
  UsageError,
} from "../command.ts";
import { identityOption } from "../identity-option.ts";
import { ProgressBar, readableSize } from "../progress-bar.ts";
import { addressOfPlace, momentOf, restoreFromPlace } from "./continuous.ts";

/** A new passphrase; a person types the passphrase twice, because a backup with a mistyped passphrase is lost. */
async function newPassphrase(terminal: Terminal): Promise<string> {
  const passphrase = await terminal.askSecret("Passphrase: ");
  if (passphrase === "") throw new UsageError("no passphrase was given");
  if (terminal.isAnswered() && (await terminal.askSecret("Again: ")) !== passphrase)
    throw new UsageError("the two passphrases differ");
  return passphrase;
}

/** The key of an encrypted backup: from `--identity`, otherwise a passphrase that is asked for. */
export async function identityOf({ options, terminal }: CommandInvocation): Promise<Identity> {
  const file = textOption(options, "identity");
  if (file === undefined) return { passphrase: await terminal.askSecret("Passphrase of the backup: ") };
  if (!existsSync(file)) throw new SetupError(`${file}: there is no such file`);
  return { identity: backupIdentity(readFileSync(file, "utf8"), file) };
}

/** Opens the file of a backup for `work`, and shows how much of the file is read. */
async function reading<T>(
  { file, label, paths }: { file: string; label: string; paths: DataPaths },
  invocation: CommandInvocation,
  work: (archive: ArchiveSource) => Promise<T>,
): Promise<T> {
  const { source, size } = await sourceOf(file, paths);
  using bar = new ProgressBar(invocation.terminal, label);
  const identity = (): Promise<Identity> => identityOf(invocation);
  const onProgress = (done: number): void => bar.show(done, size);
  return await work({ name: file, source, identity, schemas: knownSchemas, onProgress });
}

export const backup: Command = {
  name: "backup",
  args: ["FILE"],
  summary: "Write database and files of this moment into a file; also while the service runs",
  options: { passphrase: { summary: "ask for a passphrase, and encrypt the backup" } },
  async run({ args, options, terminal, load }) {
    const file = resolve(args[0] ?? "");
    keepFilesPrivate();
    const settings = await load();
    const { config } = settings;
    needDatabase(settings);
    refuseIrreplaceable(file);
    const passphrase = options["passphrase"] === true ? await newPassphrase(terminal) : null;
    using bar = new ProgressBar(terminal, "Backup");
    const onProgress = (done: number, total: number): void => bar.show(done, total);
    const warnings: string[] = [];
    const asked = await askService(
      config.database,
      { kind: "backup", file, passphrase },
      {
        onProgress: ({ done, total }) => onProgress(done, total),
        onLog: ({ message }) => warnings.push(message),
      },
    );
    if (asked === null) {
      const encryption = encryptionFor(config["backup.recipient"], passphrase);
      const warning = await withoutService(settings, { output: file, encryption, onProgress });
      if (warning !== null) warnings.push(warning);
    } else if (asked.error !== null) throw new Error(asked.error);
    bar.end();
    for (const warning of warnings) terminal.err(`${file}: ${printable(warning)}\n`);
    terminal.out(`Wrote ${file} (${readableSize(statSync(file).size)})\n`);
    return 0;
  },
};

async function withoutService(
  { config, logger }: Settings,
  wanted: Pick<Parameters<typeof makeBackup>[0], "output" | "encryption" | "onProgress">,
): Promise<string | null> {
  const paths = dataPathsOf(config);
  const database = new Database({
    path: config.database,
    logger,
    onFatal: (error) => logger.error(reasonOfEnd(error), { error }),
    onLocked: () => void putRight(paths),
  });
  try {
    const files = database.reader.get<{ size: number | null }>("SELECT sum(size) AS size FROM _files");
    return await makeBackup({
      database,
      paths,
      folder: backupFolder(config.database),
      filesPlace: "in the archive",
      holdRemovals: () => async () => undefined,
      filesSize: files?.size ?? 0,
      maxLog: config["backup.log"],
      version: build,
      signal: new AbortController().signal,
      ...wanted,
    });
  } finally {
    await database.close();
  }
}

export const restore: Command = {
  name: "restore",
  args: ["FILE"],
  summary: "Restore database and files from a backup, or a moment of a continuous backup, completely or not at all",
  options: {
    ...identityOption,
    at: {
      value: "MOMENT",
      summary:
        "the moment of a continuous backup: a time like 2026-11-30T08:15:00Z, or a position (default: the newest)",
    },
    force: { summary: "also if data exist: the data are moved aside, and stay" },
  },
  async run(invocation) {
    const { args, options, terminal } = invocation;
    const [file = ""] = args;
    keepFilesPrivate();
    const settings = await invocation.load();
    const paths = dataPathsOf(settings.config);
    const force = options["force"] === true;
    const at = textOption(options, "at");
    if (await isBackupPlace(file, paths)) {
      const identity = (): Promise<Identity> => identityOf(invocation);
      const say = (line: string): void => terminal.out(`${line}\n`);
      const moment = momentOf(at);
      await restoreFromPlace(settings, { address: addressOfPlace(file), force, moment, identity, terminal, say });
      return 0;
    }
    if (at !== undefined) throw new UsageError(`--at is for a continuous backup, and ${file} has none`);
    const { head, aside, filesLine } = await reading({ file, label: "Restore", paths }, invocation, (archive) =>
      restoreBackup(archive, { paths, force }),
    );
    const { counts, createdAt, missing } = head;
    for (const folder of aside) terminal.out(`The former data are in ${folder}\n`);
    if (missing.length > 0)
      terminal.out(`${count(missing.length, "file")} had no bytes when the backup was made: ${missing.join(", ")}\n`);
    if (filesLine !== null) terminal.out(`${printable(filesLine)}\n`);
    terminal.out(
      `Restored the state of ${createdAt}: ${count(counts.records, "record")}, ${count(counts.users, "user")}, ${count(counts.files, "file")}\n`,
    );
    return 0;
  },
};

function table(findings: readonly Finding[]): string {
  const rows = findings.map(({ state, subject, text }) => [state, subject, printable(text)] as const);
  const width = Math.max(...rows.map(([, subject]) => subject.length));
  return rows.map(([state, subject, text]) => `${state.padEnd(5)}  ${subject.padEnd(width)}  ${text}\n`).join("");
}

async function verifyFile(file: string, paths: DataPaths, invocation: CommandInvocation): Promise<Finding[]> {
  if (!(await isBackupPlace(file, paths)))
    return reading({ file, label: "Verify", paths }, invocation, (archive) => verifyBackup(archive));
  const identity = (): Promise<Identity> => identityOf(invocation);
  const place = new BackupPlace(addressOfPlace(file), { keys: paths.files.s3, identity });
  return verifyContinuous(place, { paths, schemas: knownSchemas, identity });
}

export const verify: Command = {
  name: "verify",
  args: ["[FILE]"],
  summary: "Check the data, a backup, or a continuous backup for errors; exit code 1 for any error",
  options: {
    ...identityOption,
    repair: { summary: "move bytes that belong to no file aside, while the service does not run" },
  },
  async run(invocation) {
    const { args, options, terminal } = invocation;
    const [file] = args;
    keepFilesPrivate();
    const settings = await invocation.load();
    if (file === undefined) needDatabase(settings);
    const paths = dataPathsOf(settings.config);
    const isRepair = options["repair"] === true;
    const findings =
      file === undefined ? await verifyData(paths, { isRepair }) : await verifyFile(file, paths, invocation);
    terminal.out(table(findings));
    const errors = findings.filter(({ state }) => state === "error").length;
    terminal.out(errors === 0 ? "All is well\n" : `${count(errors, "error")}\n`);
    return errors === 0 ? 0 : 1;
  },
};

export const vacuum: Command = {
  name: "vacuum",
  summary: "Shrink the database file, while the service does not run",
  async run({ terminal, load }) {
    keepFilesPrivate();
    const settings = await load();
    const { config } = settings;
    needDatabase(settings);
    const { before, after } = vacuumDatabase(config.database);
    const gained = readableSize(Math.max(0, before - after));
    terminal.out(`${config.database}: ${readableSize(before)} before, ${readableSize(after)} now, ${gained} gained\n`);
    return 0;
  },
};
