/** The type declarations of a project: `.socle/types.d.ts`, written from the collections of the project. */
import {
  type CollectionDefinition,
  type FieldDefinition,
  isAccountField,
  isUnique,
  isView,
  USERS,
} from "@socle/protocol";
import queryTypes from "@socle/protocol/query-types.txt" with { type: "text" };
import type { Config } from "../../base/config/index.ts";
import { quote } from "../../base/kernel/index.ts";
import { typeOf } from "../../data/fields/index.ts";
import contextTypes from "./context-types.txt" with { type: "text" };
import { variablesOf } from "./environment.ts";
import testTypes from "./test-types.txt" with { type: "text" };

/** The declaration of the module `socle/test`. The declarations of the client are in `test/` beside the module. */
export const testDeclarations: string = testTypes;

/** `^(draft|published)$` names all possible values. */
const enumPattern = /^\^\((?:\?:)?([\w -]+(?:\|[\w -]+)*)\)\$$/;

function typescriptOf(field: FieldDefinition): string {
  const values = field.values ?? enumPattern.exec(field.regex ?? "")?.[1]?.split("|");
  if (values === undefined) return typeOf(field).typescript.type;
  const union = values.map((value) => JSON.stringify(value)).join(" | ");
  return field.multiple === true ? `(${union})[]` : union;
}

/** The operators that an update may have in the place of a value. */
function operatorsOf(field: FieldDefinition): string {
  const { operators } = typeOf(field);
  const mark = operators.length > 1 ? "?" : "";
  const members = operators.map((operator) => `${operator}${mark}: ${typescriptOf(field)}`);
  return members.length === 0 ? "" : ` | { ${members.join("; ")} }`;
}

function noteOf(field: FieldDefinition): string {
  const { note } = typeOf(field).typescript;
  const target = field.collection === undefined ? note : `the id of one of ${field.collection}`;
  const about = [field.multiple === true && target !== undefined ? `each ${target}` : target];
  if (field.owner === true) about.push("the owner");
  if (field.min !== undefined) about.push(`min ${field.min}`);
  if (field.max !== undefined) about.push(`max ${field.max}`);
  if (field.regex !== undefined && !enumPattern.test(field.regex))
    about.push(`matches ${field.regex.replaceAll("*/", "*\\/")}`);
  if (field.format !== undefined)
    about.push(
      field.format === "markdown" ? "Markdown" : `an ${field.format === "url" ? "address" : "e-mail address"}`,
    );
  if (isUnique(field)) about.push(field.unique === "nocase" ? "unique without regard to case" : "unique");
  if (field.default !== undefined) about.push(`default ${quote(field.default).replaceAll("*/", "*\\/")}`);
  const text = about.filter((each) => each !== undefined).join(", ");
  return text === "" ? "" : `      /** ${text} */\n`;
}

/** Whether a record may lack a value of a required field: a user who was made without a form lacks the field. */
function mayBeOpen({ name }: CollectionDefinition, field: FieldDefinition): boolean {
  return name === USERS && !isAccountField(name, field.name) && field.default === undefined;
}

/** The type of the email of a user, which collections and contexts name. An anonymous user has none. */
export function emailDeclaration({ "auth.anonymous": hasAnonymous }: Pick<Config, "auth.anonymous">): string {
  return `/** Null for an anonymous user (\`auth.anonymous\`). */\ntype SocleEmail = string${hasAnonymous ? " | null" : ""};\n`;
}

/**
 * A required field is never null, neither in a record nor in the values of a write; others may be. Numbers of a sequence
 * and account fields are not written.
 */
function fieldsOf(definition: CollectionDefinition, mode: "record" | "create" | "update"): string {
  return definition.fields
    .filter(
      ({ name, sequence }) => mode === "record" || (sequence === undefined && !isAccountField(definition.name, name)),
    )
    .map((field) => {
      const isOptional =
        mode === "update" || (mode === "create" && (field.required !== true || field.default !== undefined));
      const isFilled = field.required === true && !(mode === "record" && mayBeOpen(definition, field));
      const isNeverNull = isFilled || field.sequence !== undefined || field.multiple === true;
      const operators = mode === "update" ? operatorsOf(field) : "";
      const isEmail = definition.name === USERS && field.name === "email";
      const type = isEmail ? "SocleEmail" : `${typescriptOf(field)}${isNeverNull ? "" : " | null"}${operators}`;
      return `${noteOf(field)}      ${field.name}${isOptional ? "?" : ""}: ${type};\n`;
    })
    .join("");
}

/** The collections that relations point to, by field. */
function relationsOf(fields: readonly FieldDefinition[]): string {
  const members = fields
    .filter(({ collection }) => collection !== undefined)
    .map(({ name, collection }) => `${name}: ${JSON.stringify(collection)}`);
  return members.length === 0 ? "{}" : `{ ${members.join("; ")} }`;
}

function collectionType(definition: CollectionDefinition): string {
  const owner = definition.fields.filter((field) => field.owner === true);
  const numbers = definition.fields.filter((field) => field.sequence !== undefined);
  const unique = definition.fields.filter(isUnique);
  // The times of a view are fields of its query, and nobody writes a view.
  const times = isView(definition) ? "" : "      createdAt: string;\n      updatedAt: string;\n";
  const written = (mode: "create" | "update"): string =>
    isView(definition) ? "never" : `{\n${fieldsOf(definition, mode)}    }`;
  return `  ${definition.name}: {
    record: {
      id: string;
${times}${fieldsOf(definition, "record")}    };
    create: ${written("create")};
    update: ${written("update")};
    owner: ${namesOf(owner)};
    numbers: ${namesOf(numbers)};
    unique: ${namesOf(unique)};
    relations: ${relationsOf(definition.fields)};
  };
`;
}

/** A union of the names of fields. */
function namesOf(fields: readonly FieldDefinition[]): string {
  return fields.length === 0 ? "never" : fields.map(({ name }) => JSON.stringify(name)).join(" | ");
}

/** The context of handlers, the collections, and the variables of `scripts.env`, for the editor and for `socle check`. */
export function typeDeclarations(
  definitions: readonly CollectionDefinition[],
  config: Pick<Config, "scripts.env" | "auth.anonymous">,
): string {
  const variables = variablesOf(config["scripts.env"]).map(
    ({ name, isOptional }) => `  readonly ${name}: string${isOptional ? " | undefined" : ""};\n`,
  );
  return `// Written by socle from the collections and the configuration, again with each change. Do not edit.

/** Every collection: the types of its records, creates and updates, and the field that shows the owner. */
interface Collections ${collectionMembers(definitions)}

/** The variables of the environment that \`scripts.env\` of the configuration declares. */
interface SocleEnv {
${variables.join("")}}

/** Conditions, orders and selections of queries by the collections: the types of the client of the project. */
declare namespace SocleQueries {
interface SystemFields { id: string; createdAt: string; updatedAt: string }
interface StoredRecord extends SystemFields { [field: string]: JsonValue }
${queryTypes.replaceAll(/^import .*\n/gm, "")}}

${emailDeclaration(config)}
${contextTypes}`;
}

/** The members of `Collections`, with braces. */
export function collectionMembers(definitions: readonly CollectionDefinition[]): string {
  return `{\n${definitions.map(collectionType).join("")}}`;
}

/** A file of the project as a member of an interface. The declarations are in a folder of the project. */
function fileType([name, path]: readonly [name: string, path: string]): string {
  return `  ${JSON.stringify(name)}: typeof import(${JSON.stringify(`../${path}`)});\n`;
}

/** Paths of files, by names. */
type FileNames = ReadonlyMap<string, string>;

/**
 * The modules of jobs, endpoints and server queries, from which types follow. These declarations are in a file of their own: who reads
 * the declarations has the compiler read the modules, too. Endpoints are named by route, such as `/api/function/orders/[id]`.
 */
export function fileDeclarations(files: { jobs: FileNames; endpoints: FileNames; queries: FileNames }): string {
  const { jobs, endpoints, queries } = files;
  return `// Written by socle from the names of files, again with each change. Do not edit.

interface JobFiles {
${[...jobs].map(fileType).join("")}}

interface EndpointFiles {
${[...endpoints].map(fileType).join("")}}

interface QueryFiles {
${[...queries].map(fileType).join("")}}
`;
}
