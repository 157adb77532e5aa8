/** `socle schema pull` and `socle schema push`: copy the definitions from a service to the files, and back. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CollectionDefinition, MigrationPlan, Schema } from "@socle/protocol";
import { readDefinitions } from "../../app/index.ts";
import { AppError, count, isObject, printable, SetupError } from "../../base/kernel/index.ts";
import { parseDefinition, readDefinitionFiles } from "../../data/collections/index.ts";
import { type Command, type CommandInvocation, UsageError, withoutLog } from "../command.ts";
import { type Remote, remoteOptions, withRemote } from "../remote.ts";
import { isLossy, schemaDiff } from "../schema-diff.ts";
import { configOption, loadSettings, type Settings } from "../settings.ts";

const schemaPath = "/api/admin/schema.json";

async function atAddress(
  { args: [address = ""], options, terminal }: CommandInvocation,
  work: (remote: Remote, settings: Settings) => Promise<number>,
): Promise<number> {
  const settings = await loadSettings(options, withoutLog(terminal));
  return withRemote(address, { options, terminal, ...settings }, (remote) => work(remote, settings));
}

export const schemaPull: Command = {
  name: "schema pull",
  args: ["URL"],
  summary: "Write the collections of a service into collections/",
  options: { ...configOption, ...remoteOptions },
  run: (invocation) =>
    atAddress(invocation, async (remote, { config }) => {
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
        if (before !== undefined && isSame(before.parsed.definition, definition)) continue;
        const path = before?.path ?? join(folder, `${definition.name}.json`);
        await Bun.write(path, `${JSON.stringify(definition, null, 2)}\n`);
        terminal.out(`${before === undefined ? "Wrote" : "Changed"} ${path}\n`);
      }
      for (const { path } of own.values()) terminal.out(`${path} is only here; it was left alone\n`);
      terminal.out(`Now as it is there: ${count(definitions.length, "collection")}\n`);
      return 0;
    }),
};

/** The definitions of the service, validated: the service may be of another version. */
async function readSchema(remote: Remote): Promise<{ definitions: CollectionDefinition[]; tag: string | null }> {
  const { body, headers } = await remote.send("GET", schemaPath);
  const collections = isObject(body) ? body["collections"] : null;
  if (!Array.isArray(collections)) throw new SetupError("the answer of the service has no collections");
  const definitions: CollectionDefinition[] = [];
  for (const item of collections) definitions.push((await parseDefinition(item)).definition);
  return { definitions, tag: headers.get("etag") };
}

function ifMatch(tag: string | null): Record<string, string> {
  return tag === null ? {} : { "If-Match": tag };
}

function isSame(a: CollectionDefinition, b: CollectionDefinition): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export const schemaPush: Command = {
  name: "schema push",
  args: ["URL"],
  summary: "Apply the collections of this project to a service; asks before anything is dropped",
  options: {
    ...configOption,
    ...remoteOptions,
    "dry-run": { summary: "only show what would change" },
    yes: { summary: "do not ask" },
  },
  run: (invocation) =>
    atAddress(invocation, async (remote, { config, logger }) => {
      const { terminal, options } = invocation;
      const { definitions, tag } = await readSchema(remote);
      const there = new Map(definitions.map((definition) => [definition.name, definition]));
      const local = await localSchema(config.folder, await readDefinitions(config, logger), there);
      const { schema } = local;
      for (const note of local.notes) terminal.err(`${note}\n`);
      const planned = await remote.send("PUT", `${schemaPath}?dryRun=true`, { body: schema, headers: ifMatch(tag) });
      const changes = changesOf(planned.body);
      const diff = schemaDiff(changes);
      if (diff === "") {
        terminal.out("Nothing to do: the collections are the same\n");
        return 0;
      }
      terminal.out(diff);
      if (options["dry-run"] === true) return 0;
      if (isLossy(changes) && options["yes"] !== true) {
        const answer = await terminal.ask("What has a - is lost there. Go on? [y/N] ");
        if (!/^y(es)?$/i.test(answer.trim())) {
          terminal.err("Nothing was changed\n");
          return 1;
        }
      }
      // Changes made by others since the plan was shown are not overwritten.
      await remote.send("PUT", schemaPath, { body: schema, headers: ifMatch(tag) });
      terminal.out("Done\n");
      return 0;
    }).catch((thrown: unknown) => {
      if (!(thrown instanceof AppError)) throw thrown;
      invocation.terminal.err(`Refused: ${printable(thrown.message)}\n`);
      return 1;
    }),
};

/**
 * The definitions of this installation, with the renames of its files. A field that exists already was renamed before:
 * asking again would take the next field of the old name, or swap two fields back. Its rename is sent as `null` then,
 * so that no rename is guessed.
 */
async function localSchema(
  folder: string,
  definitions: readonly CollectionDefinition[],
  there: ReadonlyMap<string, CollectionDefinition>,
): Promise<{ schema: Schema; notes: string[] }> {
  if (definitions.length === 0)
    throw new UsageError("there are no collections here; is this the folder of the configuration?");
  const files = await readDefinitionFiles(join(folder, "collections"));
  const renames = new Map(files.map(({ parsed }) => [parsed.definition.name, parsed.renamedFrom]));
  const notes: string[] = [];
  const collections = definitions.map((definition) => {
    const namesThere = new Set(there.get(definition.name)?.fields.map(({ name }) => name));
    const fields = definition.fields.map((field) => {
      const renamedFrom = renames.get(definition.name)?.get(field.name);
      if (renamedFrom === undefined) return field;
      if (renamedFrom === null || !namesThere.has(field.name)) return { ...field, renamedFrom };
      if (namesThere.has(renamedFrom))
        notes.push(
          `${definition.name}: both ${renamedFrom} and ${field.name} are there, so ${field.name} is not taken for a rename of ${renamedFrom}`,
        );
      return { ...field, renamedFrom: null };
    });
    return { ...definition, fields };
  });
  return { schema: { collections }, notes };
}

function changesOf(body: unknown): MigrationPlan[] {
  const changes = isObject(body) ? body["changes"] : null;
  if (!Array.isArray(changes)) throw new SetupError("the answer of the service is no plan");
  // A service of this version made the plan, or a service with the same format.
  return changes as MigrationPlan[];
}
