/** `socle types`, `socle client`, `socle check` and `socle add`: the files of a project, without the service. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import {
  checkFile,
  checkScripts,
  clientFolder,
  readDefinitions,
  roomFaults,
  shellCommand,
  typesFile,
  version,
  writeCheckSettings,
  writeClient,
  writeTypes,
  writeTypesModule,
} from "../../app/index.ts";
import { count } from "../../base/kernel/index.ts";
import { findScripts, runTool, toolOutput, withRuntimeNames } from "../../code/script-host/index.ts";
import { readDefinitionFiles } from "../../data/collections/index.ts";
import { sharedAddresses } from "../../people/auth/index.ts";
import { DatabaseFile } from "../../store/database/index.ts";
import { type Command, type CommandInvocation, type Settings, type Terminal, textOption } from "../command.ts";
import { parseUrl } from "../remote.ts";
import { showEffects } from "../rule-effects.ts";
import { untaggedFilterWarnings } from "../untagged-filters.ts";
import { showPlanAgainst } from "./schema.ts";

export const types: Command = {
  name: "types",
  summary: `Write ${typesFile}, the types of functions and jobs`,
  options: {
    module: {
      value: "FILE",
      summary: "write the types for a client into a module, without globals: src/socle-types.ts",
    },
  },
  async run({ terminal, options, load }) {
    const { config, logger } = await load();
    const definitions = await readDefinitions(config, logger);
    const module = textOption(options, "module");
    if (module !== undefined) {
      await writeTypesModule({ config, definitions, environment: terminal.environment }, resolve(module));
      terminal.out(`Wrote ${module}\n`);
      return 0;
    }
    await writeTypes(config, definitions);
    terminal.out(`Wrote ${typesFile}: ${definitions.map(({ name }) => name).join(", ") || "no collections"}\n`);
    return 0;
  },
};

export const client: Command = {
  name: "client",
  args: ["DIR"],
  summary: 'Write the client with the types of this project into DIR/socle: import { socle } from "./socle"',
  options: { url: { value: "URL", summary: "the address of the service (default: the origin of the page)" } },
  async run({ args: [dir = "."], terminal, options, load }) {
    const { config, logger } = await load();
    const given = textOption(options, "url");
    const definitions = await readDefinitions(config, logger);
    const files = await writeClient(
      { config, definitions, environment: terminal.environment },
      { folder: resolve(dir), url: given === undefined ? null : parseUrl(given), version },
    );
    for (const file of files) terminal.out(`  ${join(dir, clientFolder, file)}\n`);
    return 0;
  },
};

export const check: Command = {
  name: "check",
  summary:
    "Check the configuration, the collections, and the types and the loading of functions, jobs, endpoints, queries and migrations",
  options: {
    against: {
      value: "FOLDER|URL",
      summary:
        "show the changes that a start with these files would make to the data of a project, or of a service (a key in SOCLE_KEY)",
    },
    as: {
      value: "USER",
      summary:
        "show the records that a user, by email or id, gains and loses by the rules of these files beside the database",
    },
  },
  async run(invocation) {
    const settings = await invocation.load();
    const user = textOption(invocation.options, "as");
    const checked = await checkProject(invocation, settings);
    const shown = user === undefined ? 0 : await showEffects(user, invocation, settings);
    const code = checked === 0 ? shown : checked;
    const target = textOption(invocation.options, "against");
    if (target === undefined) return code;
    const planned = await showPlanAgainst(target, invocation, settings);
    return code === 0 ? planned : code;
  },
};

/** Answers the exit code. */
async function checkProject({ terminal }: CommandInvocation, settings: Settings): Promise<number> {
  const { config, logger, unknown } = settings;
  for (const problem of unknown) terminal.err(`${problem}\n`);
  const found = unknown.length > 0 ? 1 : 0;
  const definitions = await readDefinitions(config, logger);
  for (const { path, parsed } of await readDefinitionFiles(join(config.folder, "collections")))
    for (const warning of parsed.warnings ?? []) terminal.out(`${path}: ${warning}\n`);
  await writeTypes(config, definitions);
  const faults = await roomFaults(config, definitions);
  for (const fault of faults) terminal.out(`${fault}\n`);
  const code = faults.length > 0 ? 1 : found;
  for (const rule of config["auth.anonymous"] ? rulesForAnybody(definitions) : [])
    terminal.out(`${rule} lets anonymous users in, too (auth.anonymous); @user.anonymous = false keeps them out\n`);
  for (const line of sharedAddressesIn(config.database)) terminal.out(`${line}\n`);
  if (findScripts(config.folder).scripts.length === 0) {
    const collections = count(definitions.length, "collection");
    terminal.out(
      `Checked the configuration and ${collections}; there are no functions, jobs, endpoints or queries to check\n`,
    );
    return code;
  }
  await writeCheckSettings(config.folder);
  const typesCode = await checkTypes(config.folder, terminal);
  const { problems, missing, notices } = await checkScripts({ config, logger, environment: terminal.environment });
  // A machine that checks the project need not have the secrets.
  for (const name of missing) terminal.out(`${name}, which scripts.env declares, is not set here\n`);
  for (const notice of [...notices, ...untaggedFilterWarnings(config.folder)]) terminal.out(`${notice}\n`);
  for (const { path, message } of problems) terminal.out(`${path} does not load: ${message}\n`);
  return problems.length > 0 ? 1 : Math.max(typesCode, code);
}

/** The rules "authenticated" of collections and fields, each as the subject of a sentence. */
function rulesForAnybody(definitions: readonly CollectionDefinition[]): string[] {
  const placed = definitions.flatMap(({ name, permissions, fields }) => [
    [name, permissions] as const,
    ...fields.map((field) => [`${name}.${field.name}`, field.permissions] as const),
  ]);
  return placed.flatMap(([place, rules = {}]) =>
    Object.entries(rules).flatMap(([operation, rule]) =>
      rule === "authenticated" ? `${place}: "${operation}": "authenticated"` : [],
    ),
  );
}

/** The lines about users with one address; the service may have the database open. */
function sharedAddressesIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const database = new DatabaseFile(path);
  try {
    return sharedAddresses(database);
  } finally {
    database.close();
  }
}

/** Runs the type checker. The advice names the package manager of the runtime; this executable contains that, too. */
async function checkTypes(cwd: string, { environment, program, out, err, progress }: Terminal): Promise<number> {
  const color = progress() === null ? {} : { FORCE_COLOR: "1" };
  const words = ["check", "--no-script", "-p", checkFile];
  const { code, stdout, stderr } = await toolOutput(words, { cwd, environment: { ...color, ...environment } });
  const advised = (text: string): string =>
    text.replace(/\b(?:bun add -d|npm i(?:nstall)? (?:--save-dev|-D)) (?=@?\w)/g, `${shellCommand(program, "add")} `);
  if (stdout !== "") out(advised(stdout));
  if (stderr !== "") err(advised(stderr));
  return code;
}

export const add: Command = {
  name: "add",
  args: ["PACKAGE..."],
  summary: "Install npm packages for functions and jobs, beside the configuration",
  async run({ args, terminal, load }) {
    const { config } = await load();
    const manifest = join(config.folder, "package.json");
    // Without a manifest, the tool would take the next manifest above, which belongs to some other project.
    if (!existsSync(manifest)) await writeFile(manifest, '{\n  "private": true\n}\n');
    const cwd = config.folder;
    return runTool(["add", ...args], {
      cwd,
      environment: withRuntimeNames({ cwd, environment: terminal.environment }),
    });
  },
};
