/**
 * The client of a project: the types of the collections, endpoints, queues, server queries and rooms as a module without globals, beside the client that is
 * inside the executable.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { SetupError } from "../base/kernel/index.ts";
import { collectionMembers, emailDeclaration, findScripts, toolOutput } from "../code/script-host/index.ts";
import { clientBuild, EmbeddedFiles } from "../edge/http/index.ts";
import { readRooms } from "../live/rooms/index.ts";
import { checkFile, writeCheckSettings, writeIfChanged, writeTypes } from "./types-file.ts";

interface Project {
  readonly config: Pick<Config, "folder" | "scripts.env" | "endpoints.prefix" | "auth.anonymous">;
  readonly definitions: readonly CollectionDefinition[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const note = "// Written by socle from the collections and the code of the project. Do not edit.\n";

/** The folder of the client, below the folder that a caller names. */
export const clientFolder = "socle";
/** Files of the check that shows types, in `.socle`. */
const shownFile = "shown.ts";
const shownSettings = "shown.json";

/**
 * The types whose text the type checker shows, because the types follow from the code of the project: the check fails at each
 * constant of the type `never`, and the message has the type. Aliases and interfaces are written out; a type that contains itself
 * becomes `any`.
 */
function shownSource(prefix: string): string {
  return `type Shown<T> = unknown extends T ? T : [JsonValue] extends [T] ? JsonValue
  : T extends Date | Blob | ((...values: never) => unknown) ? T
  : T extends object ? (T extends infer Members ? { [Name in keyof Members]: Shown<Members[Name]> } : never) : T;
type Named = {
  [Route in keyof Endpoints as Route extends \`\${infer Method} ${prefix}\${infer Path}\`
    ? \`\${Method} \${Path extends "" ? "/" : Path}\`
    : never]: Endpoints[Route];
};
declare const endpoints: Shown<Named>;
export const shownEndpoints: never = endpoints;
declare const queues: Shown<Queues>;
export const shownQueues: never = queues;
declare const queries: Shown<Queries>;
export const shownQueries: never = queries;
`;
}

/** The types of the records of a collection, by the name of the collection. */
function recordTypes(): string {
  const member = (name: string): string => `Collections[Name][${JSON.stringify(name)}]`;
  const [create, owner] = [member("create"), member("owner")];
  const input = `Omit<${create}, ${owner}> & Partial<Pick<${create}, ${owner} & keyof ${create}>>`;
  const of = (name: string): string => `${name}<Name extends keyof Collections>`;
  return `${declarationOf(of("RecordOf"), member("record"), 'A record: `RecordOf<"posts">`.')}
${declarationOf(of("NewRecord"), input, "The values of a new record, as `create` takes the values. The owner is the signed-in user.")}
${declarationOf(of("ChangesOf"), member("update"), "The values of an update, as `update` takes the values: fields, or operators in their place.")}`;
}

/** The texts of the types that follow from the code. @throws SetupError if the type checker shows no types. */
async function shownTypes({
  config,
  environment,
}: Project): Promise<{ endpoints: string; queues: string; queries: string }> {
  const { folder } = config;
  const kinds = ["endpoints", "jobs", "queries"];
  const hasTypes = findScripts(folder).scripts.some((script) => kinds.includes(script.folder));
  if (!hasTypes) return { endpoints: "{}", queues: "{}", queries: "{}" };
  await writeCheckSettings(folder);
  const file = join(folder, ".socle", shownFile);
  const settings = join(folder, ".socle", shownSettings);
  const compilerOptions = { noErrorTruncation: true, strict: true };
  try {
    await Bun.write(file, shownSource(config["endpoints.prefix"].replace(/\/$/, "")));
    await Bun.write(settings, JSON.stringify({ extends: join("..", checkFile), compilerOptions, files: [shownFile] }));
    const words = ["check", "--no-script", "--no-pretty", "--all", "-p", settings];
    const { stdout, stderr } = await toolOutput(words, { cwd: folder, environment });
    const shown = [
      ...stdout.matchAll(/^.*shown\.ts\(\d+,\d+\): error TS2322: Type '(.*)' is not assignable to type/gm),
    ];
    const [endpoints, queues, queries] = shown.map(([, text = ""]) => text);
    if (endpoints === undefined || queues === undefined || queries === undefined)
      throw new SetupError(`The type checker did not show the types of the code:\n${stdout}${stderr}`);
    return { endpoints, queues, queries };
  } finally {
    await rm(file, { force: true });
    await rm(settings, { force: true });
  }
}

/** The types of a project as the text of a module: `Collections`, `Endpoints`, `Queues`, `Queries`, `Rooms` and `Project`. */
async function projectTypes(project: Project): Promise<string> {
  await writeTypes(project.config, project.definitions);
  const { endpoints, queues, queries } = await shownTypes(project);
  const types = `${declarationOf("Collections", collectionMembers(project.definitions), "Every collection: the types of the records, creates and updates, the field that shows the owner, and the relations.")}
${recordTypes()}
${declarationOf("Endpoints", endpoints, "The endpoints by method and path, without the prefix: params, query, body and answer.")}
${declarationOf("Queues", queues, "The queues, with the payload of each.")}
${declarationOf("Queries", queries, "The server queries, with the arguments and the value of each.")}
${declarationOf("Rooms", await roomTypes(project), "The rooms, with the fields of a member's state and the names of the events.")}
${declarationOf("Project", "{ collections: Collections; endpoints: Endpoints; queries: Queries; rooms: Rooms }", "For `createClient<Project>`.")}`;
  // A type that nothing uses is an error under `noUnusedLocals`.
  const json = "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };\n\n";
  const email = types.includes("SocleEmail") ? `${emailDeclaration(project.config)}\n` : "";
  return `${note}\n${types.includes("JsonValue") ? json : ""}${email}${types}\nexport {};\n`;
}

async function roomTypes({ config }: Project): Promise<string> {
  const members = (await readRooms(config.folder)).map(({ definition: { name, presence, events } }) => {
    const fields = presence.map((field) => `${JSON.stringify(field)}?: unknown`);
    const event = events.map((each) => JSON.stringify(each)).join(" | ") || "never";
    return `  ${name}: { state: { ${fields.join("; ")} }; event: ${event} };\n`;
  });
  return `{\n${members.join("")}}`;
}

function declarationOf(name: string, text: string, about: string): string {
  return `/** ${about} */\nexport type ${name} = ${text};\n`;
}

/** Writes the types of a project as a module. @param file the path of the module. */
export async function writeTypesModule(project: Project, file: string): Promise<void> {
  await writeIfChanged(file, await projectTypes(project));
}

/** The modules of the package, beside the client of the executable. */
function packageFiles({ url, prefix, version }: { url: string | null; prefix: string; version: string }): {
  readonly [file: string]: string;
} {
  const options = (own: string): string =>
    [
      ...(url === null ? [] : [`  baseUrl: ${JSON.stringify(url)},`]),
      ...(prefix === "/api/function" ? [] : [`  endpointsPrefix: ${JSON.stringify(prefix)},`]),
      "  live,",
      ...(own === "" ? [] : [own]),
    ].join("\n");
  const module = (
    own: string,
    singleton: string,
  ): string => `${note}import { createClient, live, noSession, requestSession } from "./client.js";

export * from "./client.js";

const options = {
${options(own)}
};

export const socle = createClient(${singleton});

export const clientFor = (source, headers) => createClient({ ...options, session: requestSession(source, headers) });
`;
  const manifest = {
    name: "socle-project-client",
    version,
    private: true,
    type: "module",
    sideEffects: ["./client-worker.js"],
    main: "./index.js",
    "react-native": "./native.js",
    types: "./index.d.ts",
    exports: {
      ".": { types: "./index.d.ts", "react-native": "./native.js", default: "./index.js" },
      "./*": "./*",
    },
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "index.js": module(
      '  worker: new URL("./client-worker.js", import.meta.url),',
      // All requests of a server share the module: nobody signs in with the client of the module.
      'typeof document === "undefined" ? { ...options, session: noSession } : options',
    ),
    // The engine of React Native does not know import.meta, and has no workers.
    "native.js": module("", "options"),
    "index.d.ts": `${note}import type { Cookies, Socle } from "./client.js";
import type { Project } from "./types.js";

export * from "./client.js";
export type * from "./types.js";
export type { NewRecord } from "./types.js";

/** The client with the collections of the project, for functions that take the client. */
export type SocleDatabase = Socle<Project>;

/** The client of the project: of a page or an app. On a server, all requests share this client, and nobody signs in. */
export declare const socle: SocleDatabase;

/**
 * A client of its own. On a server, with the session of a request: of the header \`Authorization\`, or of the cookie, which changes in the
 * headers of the response; or of the cookies of a framework. In a page, with the path of \`sessionHandler\`. Without a source, nobody is signed in.
 */
export declare function clientFor(source?: Request | Cookies | string, headers?: Headers): SocleDatabase;
`,
  };
}

/**
 * Writes the client of a project into `socle/` below a folder: a package with the client of the executable.
 * @param target.url the address of the service; null for the origin of the page.
 * @throws SetupError for a program that runs from source.
 */
export async function writeClient(
  project: Project,
  target: { readonly folder: string; readonly url: string | null; readonly version: string },
): Promise<readonly string[]> {
  if (clientBuild === null) throw new SetupError("The executable has the client: npm run build makes the executable");
  const build = new EmbeddedFiles(clientBuild);
  const files: Record<string, string> = {
    "types.d.ts": await projectTypes(project),
    ...packageFiles({ ...target, prefix: project.config["endpoints.prefix"] }),
  };
  for (const name of Object.keys(clientBuild.files)) files[name] = await build.text(name);
  for (const [name, text] of Object.entries(files)) await writeIfChanged(join(target.folder, clientFolder, name), text);
  return Object.keys(files).sort();
}
