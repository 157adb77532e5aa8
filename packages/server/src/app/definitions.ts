/** The definitions of collections, for commands: the stored definitions, and changed files over the stored definitions. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type CollectionDefinition,
  type DroppedEntry,
  isView,
  type MigrationPlan,
  type RestoredValues,
  type RuleEffects,
  type User,
} from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { system } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import {
  type CollectionPlan,
  changeByFiles,
  changedDefinitions,
  checkRecords,
  countRecords,
  type DefinitionText,
  definitionsIn,
  droppedRows,
  entryOf,
  keepAgreedTexts,
  planChange,
  restoreDropped,
  type SchemaChange,
  siteOfRestore,
  viewsIn,
} from "../data/collections/index.ts";
import { EffectTrial } from "../data/records/index.ts";
import { tellChange } from "../operate/admin/index.ts";
import { userNamed, userTable } from "../people/auth/index.ts";
import { asSlowReader, Database, type Reader, type SlowReader } from "../store/database/index.ts";
import { doServiceWork } from "./control.ts";
import { buildService, type Service } from "./service.ts";

/**
 * The definitions as at the next start, also while the service runs.
 * @throws SetupError for a file that a start would refuse, or a database that cannot be read.
 */
export async function readDefinitions(config: Config, logger: Logger): Promise<CollectionDefinition[]> {
  if (!existsSync(config.database)) {
    const around = { users: userTable, successorsOf: () => [] };
    const current = new Map();
    const plan = (change: SchemaChange): CollectionPlan[] => planChange(change, current, around);
    return inForce([], await changedDefinitions(folderOf(config), null, { current, plan }));
  }
  return doServiceWork({
    config,
    logger,
    request: { kind: "definitions" },
    open: (options) => buildService({ ...options, onlyReads: true }),
    async alone(service) {
      await service.collections.start();
      return definitionsOf(service, config);
    },
  });
}

/** The definitions of a service, with the definitions of changed files on top. */
export async function definitionsOf(service: Service, config: Config): Promise<CollectionDefinition[]> {
  const { collections, database } = service;
  const stored = collections.allListed().map(({ definition }) => definition);
  const plan = (change: SchemaChange): CollectionPlan[] => collections.plan(change);
  const current = collections.definitions();
  return inForce(stored, await changedDefinitions(folderOf(config), database.reader, { current, plan }));
}

/** The dropped values of a service that can be restored, newest first. */
export function droppedIn({ database }: Service): DroppedEntry[] {
  return droppedRows(database.reader).map(entryOf);
}

/** Brings dropped values back, by the command line. @throws AppError as `restoreDropped`. */
export async function restoreIn({ database, collections }: Service, id: string): Promise<RestoredValues> {
  const site = await siteOfRestore(database.reader, collections, id);
  return database.migrate((tx) => restoreDropped(tx, { collections, id, principal: system }), site);
}

/** Keeps the texts of files that the database agrees with as the applied texts. */
export function keepPulled({ database, collections }: Service, config: Config): Promise<void> {
  return keepAgreedTexts({ folder: folderOf(config), database, collections });
}

/**
 * The plan of a start with definition files of another folder on the data of a project, which is read alone.
 * @param database the path. @throws SetupError for what the start would refuse.
 */
export async function planAgainst(
  texts: readonly DefinitionText[],
  { database: path, logger }: { database: string; logger: Logger },
): Promise<MigrationPlan[]> {
  if (!existsSync(path)) return planOn(texts, null);
  const database = new Database({ path, logger, isReader: true, onFatal: () => undefined });
  try {
    return await planOn(texts, database.reader);
  } finally {
    await database.close();
  }
}

/** How long the effects on one collection are counted. */
const effectsMs = 10_000;

/**
 * The effects of definition files on a user, for each collection with other rules than in the database, which is read alone.
 * @param name the id or the email of the user. @returns null for an unknown user.
 */
export async function effectsOfFiles(
  texts: readonly DefinitionText[],
  { database: path, logger, name }: { database: string; logger: Logger; name: string },
): Promise<{ user: User; effects: RuleEffects[] } | null> {
  const database = new Database({ path, logger, isReader: true, onFatal: () => undefined });
  try {
    const { reader } = database;
    const user = userNamed(reader, name);
    if (user === null) return null;
    const { plans, current } = plansOn(texts, reader);
    const caller = { as: user, isSample: false, principal: { userId: user.id, role: user.role } };
    const effects: RuleEffects[] = [];
    for (const { before } of plans) {
      if (before === null || isView(before)) continue;
      const trial = new EffectTrial(before.name, { plans, current, users: userTable });
      await trial.judge(asSlowReader(reader), [caller.principal], effectsMs);
      const found = trial.effects([caller], await countRecords(asSlowReader(reader), before.name));
      const isOther =
        found?.rules.some(({ from, to }) => from !== to) || found?.callers.some(({ fields }) => fields.length > 0);
      if (found !== null && isOther) effects.push(found);
    }
    return { user, effects };
  } finally {
    await database.close();
  }
}

function plansOn(texts: readonly DefinitionText[], reader: Reader | null) {
  const definitions = reader === null ? [] : [...definitionsIn(reader), ...viewsIn(reader)];
  const current = new Map(definitions.map((definition) => [definition.name, definition]));
  const change = changeByFiles(texts, reader, current);
  return { current, change, plans: planChange(change, current, { users: userTable, successorsOf: () => [] }) };
}

async function planOn(texts: readonly DefinitionText[], reader: Reader | null): Promise<MigrationPlan[]> {
  const { current, change, plans } = plansOn(texts, reader);
  const slow: SlowReader = reader === null ? { get: async () => null, all: async () => [] } : asSlowReader(reader);
  await checkRecords(slow, plans);
  const recordsOf = async (name: string): Promise<number> => {
    const definition = current.get(name);
    return definition === undefined || isView(definition) ? 0 : countRecords(slow, name);
  };
  return tellChange({ change, plans, reader: slow, recordsOf });
}

function folderOf({ folder }: Config): string {
  return join(folder, "collections");
}

/** The definitions after some plans, in the order of names. */
function inForce(
  definitions: readonly CollectionDefinition[],
  plans: readonly CollectionPlan[],
): CollectionDefinition[] {
  const latest = new Map(definitions.map((definition) => [definition.name, definition]));
  for (const { before } of plans) if (before !== null) latest.delete(before.name);
  for (const { after } of plans) latest.set(after.name, after);
  return [...latest.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
