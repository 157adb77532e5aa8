/** `socle backup` and `socle restore`. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { askService, dataPathsOf, keepFilesPrivate, knownSchemas, version } from "../../app/index.ts";
import type { Config } from "../../base/config/index.ts";
import { count, printable, refuseIrreplaceable, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import {
  backupIdentity,
  encryptionFor,
  type Identity,
  makeBackup,
  putRight,
  restoreBackup,
  sourceOf,
} from "../../operate/backup/index.ts";
import { Database } from "../../store/database/index.ts";
import {
  type Command,
  type CommandInvocation,
  type OptionValues,
  type Terminal,
  textOption,
  UsageError,
  withoutLog,
} from "../command.ts";
import { ProgressBar, readableSize } from "../progress-bar.ts";
import { configOption, loadSettings } from "../settings.ts";

/** A new passphrase; a person types the passphrase twice, because a backup with a mistyped passphrase is lost. */
async function newPassphrase(terminal: Terminal): Promise<string> {
  const passphrase = await terminal.askSecret("Passphrase: ");
  if (passphrase === "") throw new UsageError("no passphrase was given");
  if (terminal.isAnswered && (await terminal.askSecret("Again: ")) !== passphrase)
    throw new UsageError("the two passphrases differ");
  return passphrase;
}

/** The key of an encrypted backup: from `--identity`, otherwise a passphrase that is asked for. */
export function identityOf(options: OptionValues, terminal: Terminal): () => Promise<Identity> {
  return async () => {
    const file = textOption(options, "identity");
    if (file !== undefined) {
      if (!existsSync(file)) throw new SetupError(`${file}: there is no such file`);
      return { identity: backupIdentity(readFileSync(file, "utf8"), file) };
    }
    return { passphrase: await terminal.askSecret("Passphrase of the backup: ") };
  };
}

export const identityOption = {
  identity: { value: "FILE", summary: "the age identity of an encrypted backup; else its passphrase is asked for" },
};

export const backup: Command = {
  name: "backup",
  args: ["FILE"],
  summary: "Write database and files of this moment into one file; also while the service runs",
  options: {
    ...configOption,
    passphrase: { summary: "ask for a passphrase, and encrypt with it" },
  },
  async run({ args, options, terminal }: CommandInvocation) {
    const file = resolve(args[0] ?? "");
    keepFilesPrivate();
    const { config, logger } = await loadSettings(options, withoutLog(terminal));
    if (!existsSync(config.database)) throw new SetupError(`database ${config.database}: there is none`);
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
      const warning = await withoutService({ config, logger, file, passphrase, onProgress });
      if (warning !== null) warnings.push(warning);
    } else if (asked.error !== null) throw new Error(asked.error);
    bar.end();
    for (const warning of warnings) terminal.err(`${file}: ${printable(warning)}\n`);
    terminal.out(`Wrote ${file} (${readableSize(statSync(file).size)})\n`);
    return 0;
  },
};

async function withoutService(options: {
  config: Config;
  logger: Logger;
  file: string;
  passphrase: string | null;
  onProgress: (done: number, total: number) => void;
}): Promise<string | null> {
  const { config, logger, file, passphrase, onProgress } = options;
  const paths = dataPathsOf(config);
  const database = new Database({
    path: config.database,
    logger,
    onFatal: (error) => logger.error("The disk refused a write", { error }),
    onLocked: () => void putRight(paths),
  });
  try {
    const files = database.reader.get<{ size: number | null }>("SELECT sum(size) AS size FROM _files");
    return await makeBackup({
      database,
      paths,
      holdRemovals: () => async () => undefined,
      filesSize: files?.size ?? 0,
      output: file,
      encryption: encryptionFor(config["backup.recipient"], passphrase),
      maxLog: config["backup.log"],
      version,
      signal: new AbortController().signal,
      onProgress,
    });
  } finally {
    await database.close();
  }
}

export const restore: Command = {
  name: "restore",
  args: ["FILE"],
  summary: "Restore database and files from a backup, completely or not at all",
  options: {
    ...configOption,
    ...identityOption,
    force: { summary: "also if data exist: they are moved aside and kept" },
  },
  async run({ args: [file = ""], options, terminal }) {
    keepFilesPrivate();
    const { config } = await loadSettings(options, withoutLog(terminal));
    const { source, size } = await sourceOf(file, dataPathsOf(config));
    using bar = new ProgressBar(terminal, "Restore");
    const { head, aside } = await restoreBackup(
      {
        name: file,
        source,
        identity: identityOf(options, terminal),
        schemas: knownSchemas,
        onProgress: (done) => bar.show(done, size),
      },
      { paths: dataPathsOf(config), force: options["force"] === true },
    );
    bar.end();
    const { counts, createdAt, missing } = head;
    for (const folder of aside) terminal.out(`What was there is in ${folder}\n`);
    if (missing.length > 0)
      terminal.out(`${count(missing.length, "file")} had no bytes when the backup was made: ${missing.join(", ")}\n`);
    terminal.out(
      `Restored the state of ${createdAt}: ${count(counts.records, "record")}, ${count(counts.users, "user")}, ${count(counts.files, "file")}\n`,
    );
    return 0;
  },
};
