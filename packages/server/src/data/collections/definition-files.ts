/**
 * Definition files: reads `collections/*.json`, finds the changed files, and applies the definitions. Also the entrance
 * to the parser.
 */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError, isObject, messageOf, readJsonFile, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Migration, Reader } from "../../store/database/index.ts";
import type { Collections } from "./collections.ts";
import { type AppliedFile, appliedFiles, putAppliedFile } from "./definition-table.ts";
import { MigrationError } from "./migration-error.ts";
import type { CollectionPlan, ParsedDefinition } from "./plan.ts";
import type { SchemaChange } from "./plan-change.ts";

/**
 * Reads a collection definition from JSON. A service without changed definitions never loads the validator, and
 * is 2 MB smaller.
 * @throws AppError `bad_request` with a message that lists every problem.
 */
export async function parseDefinition(input: unknown): Promise<ParsedDefinition> {
  const definition = await import("./definition.ts");
  return definition.parseDefinition(input);
}

interface DefinitionFile {
  readonly file: string;
  readonly path: string;
  readonly content: unknown;
  /** The fingerprint of the content: a new layout or a comment is no change. */
  readonly fingerprint: string;
}

type ParsedFile = DefinitionFile & { readonly parsed: ParsedDefinition };

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
  const content = await readJsonFile(path);
  return { file, path, content, fingerprint: Bun.SHA256.hash(JSON.stringify(content), "hex") };
}

async function parseFile(read: DefinitionFile): Promise<ParsedFile> {
  try {
    return { ...read, parsed: await parseDefinition(read.content) };
  } catch (thrown) {
    throw thrown instanceof AppError ? new SetupError(`${read.path}: ${thrown.message}`) : thrown;
  }
}

function refuseTwins(files: readonly DefinitionFile[]): void {
  const seen = new Map<string, string>();
  for (const { path, content } of files) {
    const name = isObject(content) ? content["name"] : undefined;
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

/**
 * The definition without the renames that were applied with the former content of the file: a second rename would take the
 * next field of the old name. `null` in place of a rename keeps the service from guessing.
 */
function withoutDone(parsed: ParsedDefinition, doneRenames: string): ParsedDefinition {
  const done = new Map<string, string | null>(JSON.parse(doneRenames));
  const renamedFrom = new Map(parsed.renamedFrom);
  for (const [name, from] of renamedFrom) if (done.get(name) === from) renamedFrom.set(name, null);
  const renamedValues = new Map(parsed.renamedValues);
  for (const [field, renames] of renamedValues)
    renamedValues.set(
      field,
      renames.filter(({ from, to }) => done.get(valueKey(field, to)) !== from),
    );
  const { collectionFrom, ...rest } = { ...parsed, renamedFrom, renamedValues };
  if (collectionFrom === undefined || done.get(ownKey) === collectionFrom) return rest;
  return { ...rest, collectionFrom };
}

/** The key of the rename of the collection itself: no field has this name. */
const ownKey = "";

/** The renames of a definition as `AppliedFile` keeps the renames. */
function renamesIn({ collectionFrom, renamedFrom, renamedValues = new Map() }: ParsedDefinition): string {
  const own = collectionFrom === undefined ? [] : [[ownKey, collectionFrom]];
  const values = [...renamedValues].flatMap(([field, renames]) =>
    renames.map(({ from, to }) => [valueKey(field, to), from]),
  );
  return JSON.stringify([...own, ...renamedFrom, ...values]);
}

/** No name of a field has a dot. */
function valueKey(field: string, value: string): string {
  return `${field}.${value}`;
}

/** The present definition files. @throws SetupError with the file and the reason. */
export async function readDefinitionFiles(folder: string): Promise<{ path: string; parsed: ParsedDefinition }[]> {
  const names = await listFiles(folder);
  const files = await Array.fromAsync(names, async (file) => parseFile(await readFile(folder, file)));
  refuseTwins(files);
  return files;
}

/** The files that changed since the last application; without a database, all files. */
async function readChanged(
  folder: string,
  reader: Reader | null,
  onIgnored?: (path: string) => void,
): Promise<{ changed: ParsedFile[]; applied: Map<string, AppliedFile> }> {
  const files = await Array.fromAsync(await listFiles(folder, onIgnored), (file) => readFile(folder, file));
  refuseTwins(files);
  const rows = reader === null ? [] : appliedFiles(reader);
  const applied = new Map(rows.map((row) => [row.file, row]));
  const changed: ParsedFile[] = [];
  // Applied definitions were validated then.
  for (const read of files)
    if (applied.get(read.file)?.fingerprint !== read.fingerprint) changed.push(await parseFile(read));
  return { changed, applied };
}

/**
 * The plans of the files that a start would apply.
 * @param plan plans the change beside the definitions of the database, as `Collections.plan` does.
 * @throws SetupError with the file and the reason.
 */
export async function changedDefinitions(
  folder: string,
  reader: Reader | null,
  plan: (change: SchemaChange) => CollectionPlan[],
): Promise<CollectionPlan[]> {
  const { changed, applied } = await readChanged(folder, reader);
  try {
    return plan({ define: definitionsIn(changed, applied), drop: [] });
  } catch (thrown) {
    throw asSetupError(thrown, changed);
  }
}

function definitionsIn(changed: readonly ParsedFile[], applied: ReadonlyMap<string, AppliedFile>): ParsedDefinition[] {
  return changed.map(({ file, parsed }) => withoutDone(parsed, applied.get(file)?.renames ?? "[]"));
}

/** Names the file of the refused definition. */
function asSetupError(thrown: unknown, files: readonly ParsedFile[]): unknown {
  if (!(thrown instanceof MigrationError)) return thrown;
  const path = files.find(({ parsed }) => parsed.definition.name === thrown.collection)?.path;
  return new SetupError(`${path}: ${thrown.message}`);
}

/**
 * Applies `collections/*.json` (spec, "Startup rules" 2) in one transaction: all files, or no file after a refusal. A file
 * with unchanged content is left out, so that later changes through the API stay.
 * @throws SetupError with the file and the reason.
 */
export async function applyDefinitionFiles(options: {
  folder: string;
  collections: Collections;
  database: Database;
  logger: Logger;
}): Promise<void> {
  const { changed, applied } = await readChanged(options.folder, options.database.reader, (path) =>
    options.logger.warn(`${path} is no definition: definitions are files of this folder that end in .json`),
  );
  if (changed.length === 0) return;
  const { collections, database } = options;
  const change = { define: definitionsIn(changed, applied), drop: [] };
  const migrate = async (tx: Migration): Promise<CollectionPlan[]> => {
    for (const { file, fingerprint, parsed } of changed)
      putAppliedFile(tx, { file, fingerprint, renames: renamesIn(parsed), collection: parsed.definition.name });
    return (await collections.migrate(tx, change, null)).plans;
  };
  let plans: CollectionPlan[];
  try {
    // In development mode, requests go on meanwhile.
    plans = await database.migrate(migrate, await collections.siteOf(change, collections.plan(change)));
  } catch (thrown) {
    throw asSetupError(thrown, changed);
  }
  for (const [i, plan] of plans.entries()) {
    if (plan.steps.length === 0) continue;
    const fields = { collection: plan.after.name, changes: describe(plan) };
    const cause = changed[i] === undefined ? "The names in the collection follow" : `Applied ${changed[i].file}`;
    // The field may have come through the API since the file was applied last.
    const isLossy = plan.steps.some(({ step }) => step === "drop");
    if (isLossy) options.logger.warn(`${cause}, which dropped what it does not name`, fields);
    else options.logger.info(cause, fields);
  }
  for (const { file, parsed } of changed) {
    const { name } = parsed.definition;
    const former = applied.get(file)?.collection ?? name;
    const isNamed = changed.some((other) => other.parsed.definition.name === former);
    if (isNamed || collections.get(former) === undefined) continue;
    options.logger.warn(
      `${file} described "${former}" before, and describes "${name}" now. "${former}" stays, with its records. To rename "${former}" instead, delete "${name}", and save the file with "renamedFrom": "${former}"`,
    );
  }
}
