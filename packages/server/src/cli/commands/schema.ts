/** `socle schema pull` and `socle schema push`: copy the definitions from a service to the files, and back. */

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type {
  ChangedDefinition,
  ChangedField,
  CollectionDefinition,
  FieldDefinition,
  MigrationPlan,
  MigrationStep,
  ValueChange,
} from "@socle/protocol";
import {
  askService,
  doServiceWork,
  droppedIn,
  openService,
  planAgainst,
  readDefinitions,
  restoreIn,
} from "../../app/index.ts";
import { loadConfig } from "../../base/config/index.ts";
import { AppError, count, isObject, printable, quote, SetupError } from "../../base/kernel/index.ts";
import {
  parseDefinition,
  readDefinitionFiles,
  readDefinitionTexts,
  type ValueRename,
} from "../../data/collections/index.ts";
import {
  type Command,
  type CommandInvocation,
  needDatabase,
  type Settings,
  type Terminal,
  UsageError,
} from "../command.ts";
import { keyRemote, type Remote, remoteOptions, withRemote } from "../remote.ts";

const schemaPath = "/api/admin/schema.json";

export const schemaPull: Command = {
  name: "schema pull",
  args: ["URL"],
  summary: "Write the collections of a service into collections/",
  options: remoteOptions,
  run: (invocation) =>
    withRemote(invocation, async (remote, { config }) => {
      const folder = join(config.folder, "collections");
      const own = new Map(
        (await readDefinitionFiles(folder)).map(({ path, parsed }) => [parsed.definition.name, { path, parsed }]),
      );
      const { definitions } = await readSchema(remote);
      await mkdir(folder, { recursive: true });
      const { terminal } = invocation;
      for (const definition of definitions) {
        const before = own.get(definition.name);
        own.delete(definition.name);
        if (JSON.stringify(before?.parsed.definition) === JSON.stringify(definition)) continue;
        const path = before?.path ?? join(folder, `${definition.name}.json`);
        await Bun.write(path, `${JSON.stringify(definition, null, 2)}\n`);
        terminal.out(`${before === undefined ? "Wrote" : "Changed"} ${path}\n`);
      }
      // A service of this folder remembers the texts: what its database changes from now on is no change of a file.
      const pulled = await askService(config.database, { kind: "pulled" }, {});
      if (pulled?.error) terminal.err(`${pulled.error}\n`);
      for (const { path } of own.values()) terminal.out(`${path} is only here, and stays\n`);
      terminal.out(`Now equal to the service: ${count(definitions.length, "collection")}\n`);
      return 0;
    }),
};

export const schemaRestore: Command = {
  name: "schema restore",
  args: ["[ID]"],
  summary: "Bring dropped values back, or list the dropped values; also while the service runs",
  async run({ args: [id], terminal, load }) {
    const work = { ...(await load()), open: openService };
    needDatabase(work);
    if (id === undefined) {
      const request = { kind: "dropped" } as const;
      const entries = await doServiceWork({ ...work, request, alone: async (service) => droppedIn(service) });
      for (const { id: each, collection, field, at, cause, values } of entries) {
        const what =
          field === null
            ? `${collection} (${count(values, "record")})`
            : `${collection}.${field} (${count(values, "value")})`;
        terminal.out(`${each}  ${what}, dropped ${at} by ${cause}\n`);
      }
      if (entries.length === 0) terminal.out("There are no dropped values\n");
      return 0;
    }
    const request = { kind: "restore", id } as const;
    const { restored, left } = await doServiceWork({ ...work, request, alone: (service) => restoreIn(service, id) });
    terminal.out(`${restored} restored, ${left} left\n`);
    return 0;
  },
};

/** The definitions of the service, validated: the service may be of another version. */
async function readSchema(remote: Remote): Promise<{ definitions: CollectionDefinition[]; tag: string | null }> {
  const { body, headers } = await remote("GET", schemaPath);
  const collections = isObject(body) ? body["collections"] : null;
  if (!Array.isArray(collections)) throw new SetupError("the answer of the service has no collections");
  return { definitions: collections.map((item) => parseDefinition(item).definition), tag: headers.get("etag") };
}

/** The exit code of a plan that drops values. */
const losesValues = 3;

/** Prints a plan. Answers the exit code. */
function showPlan(terminal: Terminal, changes: readonly MigrationPlan[]): number {
  terminal.out(schemaDiff(changes) || "Nothing to do: the collections are the same\n");
  const drops = changes.flatMap(({ steps }) => steps.filter(({ step }) => step === "drop" || step === "delete"));
  return drops.some(({ records }) => records > 0) ? losesValues : 0;
}

/**
 * Prints what a start with the files of this project would change: in the data of a project folder, which is read alone, or in
 * the data of a service, with the key of an admin. Answers the exit code.
 */
export async function showPlanAgainst(
  target: string,
  { terminal }: CommandInvocation,
  { config, logger }: Settings,
): Promise<number> {
  const texts = await readDefinitionTexts(join(config.folder, "collections"));
  if (/^https?:\/\//.test(target)) {
    const remote = keyRemote(target, terminal.environment["SOCLE_KEY"]);
    const collections = texts.map(({ content }) => content);
    const { body } = await remote("PUT", `${schemaPath}?dryRun=files`, { body: { collections } });
    return showPlan(terminal, changesOf(body));
  }
  const file = join(target, "config.json");
  if (!existsSync(target)) throw new UsageError(`"${target}" is no folder of a project, and no address of a service`);
  const { config: theirs } = await loadConfig({ file: existsSync(file) ? file : null, environment: {} });
  const database = existsSync(file) ? theirs.database : resolve(target, "socle.db");
  return showPlan(terminal, await planAgainst(texts, { database, logger }));
}

/** The schema that `push` sends, and the changes that the service would make. */
async function planPush(remote: Remote, { config, logger }: Settings, terminal: Terminal) {
  const { definitions, tag } = await readSchema(remote);
  const headers: Record<string, string> = tag === null ? {} : { "If-Match": tag };
  const there = new Map(definitions.map((definition) => [definition.name, definition]));
  const { schema, notes } = await localSchema(config.folder, await readDefinitions(config, logger), there);
  for (const note of notes) terminal.err(`${note}\n`);
  const planned = await remote("PUT", `${schemaPath}?dryRun=true`, { body: schema, headers });
  return { schema, headers, changes: changesOf(planned.body) };
}

function refuse(terminal: Terminal, thrown: unknown): number {
  if (!(thrown instanceof AppError)) throw thrown;
  terminal.err(`Refused: ${printable(thrown.message)}\n`);
  return 1;
}

export const schemaDiffCommand: Command = {
  name: "schema diff",
  args: ["URL"],
  summary: "Show the changes that schema push would make in a service; ends with 3 when values would be dropped",
  options: remoteOptions,
  run: (invocation) =>
    withRemote(invocation, async (remote, settings) =>
      showPlan(invocation.terminal, (await planPush(remote, settings, invocation.terminal)).changes),
    ).catch((thrown: unknown) => refuse(invocation.terminal, thrown)),
};

export const schemaPush: Command = {
  name: "schema push",
  args: ["URL"],
  summary: "Apply the collections of this project to a service; asks before anything is dropped",
  options: {
    ...remoteOptions,
    "dry-run": { summary: "only show the changes" },
    yes: { summary: "do not ask" },
  },
  run: (invocation) =>
    withRemote(invocation, async (remote, settings) => {
      const { terminal, options } = invocation;
      const { schema, headers, changes } = await planPush(remote, settings, terminal);
      showPlan(terminal, changes);
      if (schemaDiff(changes) === "") return 0;
      if (options["dry-run"] === true) return 0;
      if (isLossy(changes) && options["yes"] !== true) {
        const answer = await terminal.ask(
          "Values behind a - are dropped; socle schema restore brings them back until dropped.keep is over. Go on? [y/N] ",
        );
        if (!/^y(es)?$/i.test(answer.trim())) {
          terminal.err("Nothing was changed\n");
          return 1;
        }
      }
      // Changes made by others since the plan was shown are not overwritten.
      await remote("PUT", schemaPath, { body: schema, headers });
      terminal.out("Done\n");
      return 0;
    }).catch((thrown: unknown) => refuse(invocation.terminal, thrown)),
};

/**
 * The definitions of this installation, with the renames of the files. A field that exists already was renamed before:
 * asking again would take the next field of the old name, or swap two fields back. The rename is sent as `null` then,
 * so that no rename is guessed.
 */
async function localSchema(
  folder: string,
  definitions: readonly CollectionDefinition[],
  there: ReadonlyMap<string, CollectionDefinition>,
): Promise<{ schema: { collections: ChangedDefinition[] }; notes: string[] }> {
  if (definitions.length === 0)
    throw new UsageError("no collections in this folder; is this the folder of the configuration?");
  const files = await readDefinitionFiles(join(folder, "collections"));
  const ofFiles = new Map(files.map(({ parsed }) => [parsed.definition.name, parsed]));
  const notes: string[] = [];
  const collections = definitions.map((definition) => {
    const fieldsThere = new Map(there.get(definition.name)?.fields.map((field) => [field.name, field]));
    const file = ofFiles.get(definition.name);
    const fields = definition.fields.map((stored): ChangedField => {
      const renamedFrom = file?.renamedFrom.get(stored.name);
      const renamed = file?.renamedValues?.get(stored.name);
      const target = fieldsThere.get(stored.name) ?? fieldsThere.get(renamedFrom ?? "");
      const isConverted = file?.converted?.has(stored.name) === true;
      const field: ChangedField = {
        ...stored,
        ...(renamed !== undefined && { values: changedValues(stored, renamed, target) }),
        ...(isConverted && { convertedFrom: "integer" }),
      };
      if (renamedFrom === undefined) return field;
      if (renamedFrom === null || !fieldsThere.has(field.name)) return { ...field, renamedFrom };
      if (fieldsThere.has(renamedFrom))
        notes.push(
          `${definition.name}: both ${renamedFrom} and ${field.name} are there, so ${field.name} is not taken for a rename of ${renamedFrom}`,
        );
      return { ...field, renamedFrom: null };
    });
    const from = file?.collectionFrom;
    const isPending = from !== undefined && there.has(from) && !there.has(definition.name);
    return { ...definition, fields, ...(isPending && { renamedFrom: from }) };
  });
  return { schema: { collections }, notes };
}

/**
 * The values of a field, with the old names of the values that the target does not have: another rename was done before.
 * @param target the field at the target; undefined if the field is not there.
 */
function changedValues(
  { values = [] }: FieldDefinition,
  renamed: readonly ValueRename[],
  target: FieldDefinition | undefined,
): (string | ValueChange)[] {
  const oldNames = new Map(renamed.map(({ from, to }) => [to, from]));
  return values.map((name) => {
    const renamedFrom = target?.values?.includes(name) === true ? undefined : oldNames.get(name);
    return renamedFrom === undefined ? name : { name, renamedFrom };
  });
}

function changesOf(body: unknown): MigrationPlan[] {
  const changes = isObject(body) ? body["changes"] : null;
  if (!Array.isArray(changes)) throw new SetupError("the answer of the service is no plan");
  // A service of this version made the plan, or a service with the same format.
  return changes as MigrationPlan[];
}

function describe({
  step,
  field = "",
  fields = [],
  unique,
  from = "",
  to = "",
  on,
  records,
  renamed = [],
  default: given,
}: MigrationStep): string {
  switch (step) {
    case "create":
      return "+ the collection";
    case "delete":
      return "- the collection; the records go to the dropped values";
    case "add":
      return `+ ${field}${given === undefined ? "" : `: ${count(records, "record")} ${records === 1 ? "gets" : "get"} ${quote(given)}`}`;
    case "drop":
      return `- ${field}: ${count(records, "record")} ${records === 1 ? "has" : "have"} a value, which goes to the dropped values`;
    case "restore":
      return `+ values of ${field}`;
    case "rename":
      return `> ${from} becomes ${field}`;
    case "renameCollection":
      return `> ${from} becomes ${to}`;
    case "follow":
      return `~ ${field} points to ${to}, which was ${from}`;
    case "owner":
      return `~ ${field} ${on === true ? "shows" : "no longer shows"} the owner`;
    case "require":
      return `~ ${field} is required`;
    case "unique":
      return `~ ${field} is ${on === true ? "" : "no longer "}unique${to === "nocase" ? " without regard to case" : ""}`;
    case "retarget":
      return `~ ${field} points to ${to} instead of ${from}`;
    case "rules":
      return `~ ${field} has other rules`;
    case "multiple":
      return `~ ${field} holds ${on === true ? "several items" : "one value"}`;
    case "type":
      return `~ ${field} becomes a ${to}`;
    case "values":
      return `~ ${field} has other values${renamed.map((value) => `; ${value.from} becomes ${value.to}`).join("")}`;
    case "default":
      return `~ ${field} has another default`;
    case "onDelete":
      return `~ ${field} has another effect when the record that the field points to is deleted`;
    case "sequence":
      return on === true ? `~ ${field} numbers the records` : `~ ${field} no longer numbers the records`;
    case "index":
      return `~ ${fields.join(", ")}: ${on === true ? (unique === true ? "a" : "an") : "the"} ${unique === true ? "unique " : ""}index ${on === true ? "comes" : "goes"}`;
    case "search":
      return fields.length === 0 ? "~ no field is searched" : `~ ${fields.join(", ")}: searched`;
    case "permissions":
      return field === "" ? "~ permissions" : `~ permissions of ${field}`;
    case "trash":
      return to === "" ? "~ no trash: deletions are final from now on" : `~ the trash keeps deleted records for ${to}`;
    case "query":
      return "~ the query, or the fields of the query";
    case "order":
      return "~ the order of its fields";
  }
}

/** The steps of a migration, a line per step: `+` adds, `-` removes, `>` renames, `~` changes. Empty for no change. */
export function schemaDiff(changes: readonly MigrationPlan[]): string {
  const parts = changes
    .filter(({ steps }) => steps.length > 0)
    .map(({ collection, action, records, steps }) => {
      const size = action === "create" ? "" : ` (${count(records, "record")})`;
      // The names are another service's.
      return `${printable(collection)}${size}\n${steps.map((step) => `  ${printable(describe(step))}\n`).join("")}`;
    });
  return parts.join("");
}

/** Whether a migration loses data. */
export function isLossy(changes: readonly MigrationPlan[]): boolean {
  return changes.some(({ steps }) => steps.some(({ step }) => step === "drop" || step === "delete"));
}
