/** Definition files: reads `collections/*.json`, finds the changed files, and applies the definitions. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { type CollectionDefinition, isView } from "@socle/protocol";
import { AppError, isObject, messageOf, readJsonFile, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import { withNewTargets } from "./collection-renames.ts";
import type { Collections } from "./collections.ts";
import { parseDefinition } from "./definition.ts";
import { mergeDefinition } from "./definition-merge.ts";
import { type AppliedFile, appliedFiles, deleteAppliedFile, putAppliedFile } from "./definition-table.ts";
import { MigrationError } from "./migration-error.ts";
import type { CollectionPlan, Definitions, ParsedDefinition } from "./plan.ts";
import type { SchemaChange } from "./plan-change.ts";

interface DefinitionFile {
  readonly file: string;
  readonly path: string;
  /** The content as JSON: a new layout or a comment is no change. */
  readonly content: string;
  readonly fingerprint: string;
}

type ParsedFile = DefinitionFile & { readonly parsed: ParsedDefinition };

/** A changed file, with the definition that the file asks for. */
interface ChangedFile extends ParsedFile {
  /** The file as applied last, also under another name of the file; null for a file that is new to the database. */
  readonly former: AppliedFile | null;
  readonly asked: ParsedDefinition;
  /** See `Merged`. */
  readonly replaced: readonly string[];
  readonly kept: readonly string[];
}

/** The files of a folder beside a database. */
interface ComparedFiles {
  readonly changed: readonly ChangedFile[];
  /** The rows of files without a change that have another name, or that an earlier version applied without keeping the text. */
  readonly others: readonly AppliedFile[];
  /** The former names of files. */
  readonly gone: readonly string[];
}

/** @param onIgnored called for each folder, and for each file that may be meant as a definition. */
async function listFiles(folder: string, onIgnored: (path: string) => void = () => undefined): Promise<string[]> {
  try {
    const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
    const isDefinition = (entry: Dirent): boolean => entry.name.endsWith(".json") && !entry.isDirectory();
    for (const entry of entries)
      if (!isDefinition(entry) && (entry.isDirectory() || /\.json[c5]?$/i.test(entry.name)))
        onIgnored(join(folder, entry.name));
    return entries.filter(isDefinition).map(({ name }) => name);
  } catch (thrown) {
    if (isObject(thrown) && thrown["code"] === "ENOENT") return [];
    throw new SetupError(`${folder}: cannot be read: ${messageOf(thrown)}`);
  }
}

async function readFile(folder: string, file: string): Promise<DefinitionFile> {
  const path = join(folder, file);
  return toFile({ path, content: await readJsonFile(path) });
}

/** A definition as a file has it. */
export interface DefinitionText {
  readonly path: string;
  readonly content: unknown;
}

function toFile({ path, content }: DefinitionText): DefinitionFile {
  const text = JSON.stringify(content);
  return { file: basename(path), path, content: text, fingerprint: Bun.SHA256.hash(text, "hex") };
}

/** The present definition files, not parsed. */
export async function readDefinitionTexts(folder: string): Promise<DefinitionText[]> {
  return (await readFiles(folder)).map(({ path, content }) => ({ path, content: JSON.parse(content) }));
}

/**
 * The change that a start would make with these files.
 * @param reader of the database; null without a database. @throws SetupError with the file and the reason.
 */
export function changeByFiles(
  texts: readonly DefinitionText[],
  reader: Reader | null,
  current: Definitions,
): SchemaChange {
  const rows = reader === null ? [] : appliedFiles(reader);
  return changeOf(compareFiles(texts.map(toFile), rows, current).changed);
}

function parseFile(read: DefinitionFile): ParsedFile {
  try {
    return { ...read, parsed: parseDefinition(JSON.parse(read.content)) };
  } catch (thrown) {
    throw thrown instanceof AppError ? new SetupError(`${read.path}: ${thrown.message}`) : thrown;
  }
}

function refuseTwins(files: readonly DefinitionFile[]): void {
  const seen = new Map<string, string>();
  for (const { path, content } of files) {
    const name = nameIn(content);
    if (typeof name !== "string") continue;
    const twin = seen.get(name.toLowerCase());
    if (twin !== undefined) throw new SetupError(`${path}: the collection "${name}" is already defined by ${twin}`);
    seen.set(name.toLowerCase(), path);
  }
}

function describe(plan: CollectionPlan): string {
  const steps = plan.steps.map((step) => {
    if (step.step === "renameCollection") return `rename ${step.from} to ${step.to}`;
    if (step.step === "rename") return `rename ${step.from} to ${step.field}`;
    if (step.step === "index") return `${step.on ? "" : "drop "}index ${step.fields.join(" and ")}`;
    return "field" in step ? `${step.step} ${step.field}` : step.step;
  });
  return steps.join(", ");
}

/** How a drop becomes a rename, for a dropped field and an added field of the same type; empty without such fields. */
function renameAdvice({ before, after, steps }: CollectionPlan): string {
  const typeOf = (definition: CollectionDefinition | null, name: string): string | undefined =>
    definition?.fields.find((field) => field.name === name)?.type;
  const dropped = steps.flatMap((step) => (step.step === "drop" ? [step.field] : []));
  for (const step of steps) {
    if (step.step !== "add") continue;
    const from = dropped.find((name) => typeOf(before, name) === typeOf(after, step.field));
    if (from !== undefined) return `. To rename instead, give "${step.field}" the attribute "renamedFrom": "${from}"`;
  }
  return "";
}

/** The present definition files. @throws SetupError with the file and the reason. */
export async function readDefinitionFiles(folder: string): Promise<{ path: string; parsed: ParsedDefinition }[]> {
  return (await readFiles(folder)).map(parseFile);
}

/** The definition files of a folder, not parsed. @param onIgnored see `listFiles`. */
async function readFiles(folder: string, onIgnored?: (path: string) => void): Promise<DefinitionFile[]> {
  const files = await Array.fromAsync(await listFiles(folder, onIgnored), (file) => readFile(folder, file));
  refuseTwins(files);
  return files;
}

/**
 * The files that changed since the last application, merged with the definitions of the database.
 * @param rows the files as applied last. @throws SetupError with the file and the reason.
 */
function compareFiles(
  files: readonly DefinitionFile[],
  rows: readonly AppliedFile[],
  current: Definitions,
): ComparedFiles {
  const changed: (ParsedFile & { former: AppliedFile | null })[] = [];
  const others: AppliedFile[] = [];
  const gone: string[] = [];
  const present = new Set(files.map(({ content }) => nameIn(content)));
  for (const read of files) {
    const former = formerOf(read, rows, present);
    if (former !== null && former.file !== read.file) gone.push(former.file);
    // Applied definitions were validated then.
    if (former?.fingerprint !== read.fingerprint) changed.push({ ...parseFile(read), former });
    else if (former.file !== read.file || former.content === null)
      others.push({ ...former, file: read.file, content: read.content });
  }
  const renames = new Map(
    changed.flatMap(({ parsed: { collectionFrom, definition } }) =>
      collectionFrom === undefined || current.has(definition.name) ? [] : [[collectionFrom, definition.name]],
    ),
  );
  const defined = new Set(changed.map(({ parsed }) => parsed.definition.name));
  return { others, gone, changed: changed.map((file) => mergeFile(file, { current, renames, defined })) };
}

/** The name in the text of a file; undefined in a text that is no definition. */
function nameIn(content: string): unknown {
  const definition: unknown = JSON.parse(content);
  return isObject(definition) ? definition["name"] : undefined;
}

/** The row of the same collection, or else the row of the same name of the file, if no present file has the collection. */
function formerOf(
  { file, content }: DefinitionFile,
  rows: readonly AppliedFile[],
  present: ReadonlySet<unknown>,
): AppliedFile | null {
  const describedBy = (row: AppliedFile): unknown => (row.content === null ? row.collection : nameIn(row.content));
  const own = rows.find((row) => row.file === file) ?? null;
  const same = rows.filter((row) => describedBy(row) === nameIn(content));
  if (own !== null && (same.includes(own) || (same.length === 0 && !present.has(describedBy(own))))) return own;
  return same[0] ?? null;
}

function mergeFile(
  file: ParsedFile & { former: AppliedFile | null },
  around: { current: Definitions; renames: ReadonlyMap<string, string>; defined: ReadonlySet<string> },
): ChangedFile {
  const { parsed, former } = file;
  const { name } = parsed.definition;
  const base = formerDefinition(former);
  const { collectionFrom, ...others } = parsed;
  const isRename =
    collectionFrom !== undefined &&
    !(base === null ? former !== null && around.current.has(name) : base.collectionFrom === collectionFrom);
  const wanted = isRename ? parsed : others;
  // The collection may have another name in the database.
  const present = former?.collection ?? name;
  const followed = base?.definition.name === name && !around.defined.has(present) ? around.current.get(present) : null;
  const stored = followed ?? around.current.get(name) ?? (isRename ? around.current.get(collectionFrom) : undefined);
  if (stored === undefined) return { ...file, asked: wanted, replaced: [], kept: [] };
  // No file has the fields of a view, which the service derives.
  const { reads: _, ...plain } = isView(stored) ? { ...stored, fields: [] } : stored;
  const input = { file: wanted, base, now: withNewTargets(plain, around.renames), name: followed?.name ?? name };
  try {
    const { definition, replaced, kept, ...renames } = mergeDefinition(input);
    const merged = parseDefinition(JSON.parse(JSON.stringify(definition)));
    return { ...file, asked: { ...wanted, ...renames, definition: merged.definition }, replaced, kept };
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    throw new SetupError(`${file.path}: together with the definition of the database: ${thrown.message}`);
  }
}

/** The file as applied last; null if the text was not kept, or this version does not read the text. */
function formerDefinition(former: AppliedFile | null): ParsedDefinition | null {
  if (former === null || former.content === null) return null;
  try {
    return parseDefinition(JSON.parse(former.content));
  } catch (thrown) {
    if (thrown instanceof AppError) return null;
    throw thrown;
  }
}

/**
 * The plans of the files that a start would apply.
 * @param plan plans the change beside the definitions of the database, as `Collections.plan` does.
 * @throws SetupError with the file and the reason.
 */
export async function changedDefinitions(
  folder: string,
  reader: Reader | null,
  { current, plan }: { current: Definitions; plan: (change: SchemaChange) => CollectionPlan[] },
): Promise<CollectionPlan[]> {
  const { changed } = compareFiles(await readFiles(folder), reader === null ? [] : appliedFiles(reader), current);
  try {
    return plan(changeOf(changed));
  } catch (thrown) {
    throw asSetupError(thrown, changed);
  }
}

function changeOf(changed: readonly ChangedFile[]): SchemaChange {
  return { define: changed.map(({ asked }) => asked), drop: [] };
}

/** Names the file of the refused definition; for a view that the change does not contain, the files of the change. */
function asSetupError(thrown: unknown, files: readonly ChangedFile[]): unknown {
  if (!(thrown instanceof MigrationError)) return thrown;
  const own = files.filter(({ asked }) => asked.definition.name === thrown.collection);
  const paths = (own.length > 0 ? own : files).map(({ path }) => path);
  return new SetupError(`${paths.join(", ")}: ${thrown.message}`);
}

/**
 * Applies `collections/*.json` (spec, "Startup rules" 2) in one transaction: all files, or no file after a refusal. Of a
 * file with another content than at the last application, the changes are applied; see `definition-merge.ts`.
 * @throws SetupError with the file and the reason.
 */
export async function applyDefinitionFiles(options: {
  folder: string;
  collections: Collections;
  database: Database;
  logger: Logger;
}): Promise<void> {
  const { collections, database, folder, logger } = options;
  const files = await readFiles(folder, (path) =>
    logger.warn(`${path} is no definition: definitions are files of this folder that end in .json`),
  );
  const compare = (reader: Reader): ComparedFiles =>
    compareFiles(files, appliedFiles(reader), collections.definitions());
  let { changed, others, gone } = compare(database.reader);
  if (changed.length === 0 && others.length === 0) return;
  let plans: readonly CollectionPlan[];
  try {
    const change = changeOf(changed);
    const site = await collections.siteOf(change, collections.plan(change));
    // In development mode, requests go on meanwhile, and may have changed the definitions.
    plans = await database.migrate(async (tx) => {
      ({ changed, others, gone } = compare(tx));
      for (const file of gone) deleteAppliedFile(tx, file);
      for (const row of others) putAppliedFile(tx, row);
      for (const file of changed) putApplied(tx, file);
      if (changed.length === 0) return [];
      return (await collections.migrate(tx, changeOf(changed), null)).plans;
    }, site);
  } catch (thrown) {
    throw asSetupError(thrown, changed);
  }
  for (const [i, plan] of plans.entries()) {
    if (plan.steps.length === 0) continue;
    const fields = { collection: plan.after.name, changes: describe(plan) };
    const cause = changed[i] === undefined ? "The names in the collection follow" : `Applied ${changed[i].file}`;
    const isLossy = plan.steps.some(({ step }) => step === "drop");
    if (isLossy) logger.warn(`${cause}, which dropped fields${renameAdvice(plan)}`, fields);
    else logger.info(cause, fields);
  }
  for (const file of changed) tellDifferences(file, options);
}

/** Keeps the texts of changed files that ask for nothing new as the applied texts. */
export async function keepAgreedTexts(options: {
  folder: string;
  collections: Collections;
  database: Database;
}): Promise<void> {
  const { collections, database, folder } = options;
  const files = await readFiles(folder);
  await database.transactLong("definitions", async (tx) => {
    const { changed } = compareFiles(files, appliedFiles(tx), collections.definitions());
    for (const file of changed)
      if (collections.plan(changeOf([file])).every(({ steps }) => steps.length === 0)) putApplied(tx, file);
  });
}

function putApplied(tx: Transactor, { file, fingerprint, content, asked }: ChangedFile): void {
  putAppliedFile(tx, { file, fingerprint, content, collection: asked.definition.name });
}

function tellDifferences(
  { file, parsed, former, asked, replaced, kept }: ChangedFile,
  { collections, logger }: { collections: Collections; logger: Logger },
): void {
  const fields = { collection: asked.definition.name };
  if (replaced.length > 0)
    logger.warn(`${file} replaced what was changed in the database since: ${replaced.join(", ")}`, fields);
  if (kept.length > 0)
    logger.warn(
      `${file} differs from the database, which stays unchanged, because no earlier text of the file is known: ${kept.join(", ")}. Later changes of the file are applied; socle schema push applies the file as a whole`,
      fields,
    );
  const { name } = parsed.definition;
  const before = former?.collection ?? name;
  if (before === asked.definition.name || collections.get(before) === undefined) return;
  logger.warn(
    `${file} described "${before}" before, and describes "${name}" now. "${before}" stays, with its records. To rename "${before}" instead, delete "${name}", and save the file with "renamedFrom": "${before}"`,
  );
}
