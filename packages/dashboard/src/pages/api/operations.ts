/** The operations of the OpenAPI document of the service, in the order of the document, by group. */

/** A JSON Schema of the document. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly enum?: readonly (string | number | null)[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
  readonly description?: string;
}

interface Content {
  readonly content?: { readonly [type: string]: { readonly schema: Schema } };
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Answer extends Content {
  readonly $ref?: string;
  readonly description?: string;
}

interface DocumentOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: { readonly [status: string]: Answer };
}

export interface ApiDocument {
  readonly paths: { readonly [path: string]: { readonly [method: string]: DocumentOperation } };
  readonly components: {
    readonly schemas: { readonly [name: string]: Schema };
    readonly responses: { readonly [name: string]: Answer };
  };
}

/** The body of a request or of an answer; the schema is null for a body of any form. */
export interface Body {
  readonly type: string;
  readonly schema: Schema;
}

export interface Operation {
  readonly id: string;
  readonly group: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string | null;
  /** Whether a caller without a token may send the request. */
  readonly isOpen: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: (Body & { readonly isRequired: boolean }) | null;
  readonly answers: readonly { readonly status: string; readonly meaning: string; readonly body: Body | null }[];
}

function bodyOf({ content }: Content): Body | null {
  const [first] = Object.entries(content ?? {});
  return first === undefined ? null : { type: first[0], schema: first[1].schema };
}

function operationOf(
  [path, method]: readonly [path: string, method: string],
  given: DocumentOperation,
  { components }: ApiDocument,
): Operation {
  const body = given.requestBody === undefined ? null : bodyOf(given.requestBody);
  return {
    id: given.operationId,
    group: given.tags[0] ?? "",
    method: method.toUpperCase(),
    path,
    summary: given.summary,
    description: given.description ?? null,
    isOpen: given.security.some((way) => Object.keys(way).length === 0),
    parameters: given.parameters ?? [],
    body: body && { ...body, isRequired: given.requestBody?.required === true },
    answers: Object.entries(given.responses).map(([status, answer]) => {
      const whole = answer.$ref === undefined ? answer : (components.responses[lastPart(answer.$ref)] ?? answer);
      return { status, meaning: whole.description ?? "", body: bodyOf(whole) };
    }),
  };
}

/** The name at the end of a reference. */
export function lastPart(ref: string): string {
  return ref.split("/").at(-1) ?? "";
}

export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, given]) => operationOf([path, method], given, document)),
  );
}

/** The operations that contain all words of a search, by group. */
export function groupsOf(
  operations: readonly Operation[],
  search: string,
): readonly (readonly [group: string, operations: readonly Operation[]])[] {
  const words = search.toLowerCase().split(/\s+/);
  const found = operations.filter(({ id, group, method, path, summary }) => {
    const text = `${method} ${path} ${id} ${group} ${summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return [...Map.groupBy(found, ({ group }) => group)];
}
