/**
 * Requests by the operations of an OpenAPI document, for tests: each answer is compared with the schema for its status. A member of
 * an answer that the schema does not name is a fault, too.
 */
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isObject } from "../src/base/kernel/index.ts";
import type { TestApi } from "./kit.ts";

interface Content {
  readonly content?: { readonly [type: string]: { readonly schema: object } };
}

interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: Content;
  readonly responses: { readonly [status: string]: Content & { readonly $ref?: string } };
}

export interface ServiceDocument {
  readonly openapi: string;
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: {
    readonly schemas: { readonly [name: string]: { readonly [keyword: string]: unknown } };
    readonly responses: { readonly [name: string]: Content };
  };
}

export interface Sent {
  /** The values of the parameters in the path. */
  readonly path?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** A schema that allows no other members than the named members. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (!isObject(schema)) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, each]) => [
      name,
      name === "properties" ? strictProperties(Object(each)) : strict(each),
    ]),
  );
  const isClosed = isObject(schema["properties"]) && schema["additionalProperties"] === undefined;
  return isClosed ? { ...inner, additionalProperties: false } : inner;
}

/** The schemas of a map of schemas, strict. */
function strictProperties(schemas: object): object {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, strict(schema)]));
}

/** The text of a schema with references that a validator can follow. */
function fromDocument(schema: unknown): string {
  return JSON.stringify(schema).replaceAll('"#/components/schemas/', '"document#/$defs/');
}

export class DocumentCheck {
  readonly document: ServiceDocument;
  readonly #api: Pick<TestApi, "answer">;
  readonly #requests: Ajv2020;
  readonly #answers: Ajv2020;
  /** By the text of the schema: most refusals of all operations have the same schema, and a validator takes 10 ms. */
  readonly #validators = new Map<string, ValidateFunction>();
  /** The operations that were called, with success and without. */
  readonly succeeded = new Set<string>();
  readonly refused = new Set<string>();

  constructor(api: Pick<TestApi, "answer">, document: ServiceDocument) {
    this.document = document;
    this.#api = api;
    const options = { strict: true, allowUnionTypes: true, strictRequired: false, allErrors: true };
    this.#requests = new Ajv2020({ ...options, strictTypes: false });
    this.#answers = new Ajv2020({ ...options, strictTypes: false });
    const { schemas } = document.components;
    for (const [ajv, all] of [
      [this.#requests, schemas],
      [this.#answers, strictProperties(schemas)],
    ] as const) {
      addFormats(ajv);
      ajv.addSchema(JSON.parse(fromDocument({ $id: "document", $defs: all })));
    }
  }

  /** The operations as `POST /api/posts`. */
  get operations(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  operation(name: string): Operation {
    const [method = "", path = ""] = name.split(" ");
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${name} is not in the document`);
    return operation;
  }

  /** Sends a valid request, of which the body fulfils the schema. Answers the body of the answer. */
  async call<T = { [name: string]: unknown }>(name: string, status: number, sent: Sent = {}): Promise<T> {
    const { requestBody } = this.operation(name);
    const schema = requestBody?.content?.["application/json"]?.schema;
    if (schema !== undefined && sent.body !== undefined)
      this.#validate(this.#requests, { name: `body of ${name}`, schema, value: sent.body });
    this.succeeded.add(name);
    return (await this.#send(name, status, sent)) as T;
  }

  /** Sends a request that the service refuses. */
  async refuse(name: string, status: number, sent: Sent = {}): Promise<void> {
    this.refused.add(name);
    await this.#send(name, status, sent);
  }

  async #send(name: string, status: number, { path = {}, query, body, token, headers }: Sent): Promise<unknown> {
    const [method = "", template = ""] = name.split(" ");
    const place = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(path[part] ?? "unknown"));
    const search = query === undefined ? "" : `?${new URLSearchParams(query)}`;
    const answer = await this.#api.answer(method, place + search, {
      ...(body !== undefined && { body }),
      ...(token !== undefined && { token }),
      ...(headers !== undefined && { headers }),
    });
    const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
    if (type === "text/event-stream") await answer.body?.cancel();
    const text = type === "text/event-stream" ? "" : await answer.text();
    if (answer.status !== status) throw new Error(`${name} answers ${answer.status} instead of ${status}: ${text}`);
    const { responses } = this.operation(name);
    const described = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`];
    if (described === undefined)
      throw new Error(`${name} answers ${status}, which the document does not have: ${text}`);
    const { content = {} } = described.$ref === undefined ? described : this.#response(described.$ref);
    const isEmpty = text === "" && (type === "" || status === 304);
    if (isEmpty !== (Object.keys(content).length === 0))
      throw new Error(`${status} of ${name} has ${isEmpty ? "no body" : `a body of ${type}`}, unlike in the document`);
    if (isEmpty) return undefined;
    const schema = (content[type] ?? content["*/*"])?.schema;
    if (schema === undefined) throw new Error(`${name} answers ${type}; the document has ${Object.keys(content)}`);
    if (type !== "application/json") return text;
    const value: unknown = JSON.parse(text);
    this.#validate(this.#answers, { name: `${status} of ${name}`, schema: strict(schema), value });
    return value;
  }

  #response(ref: string): Content {
    const response = this.document.components.responses[ref.split("/").at(-1) ?? ""];
    if (response === undefined) throw new Error(`${ref} leads nowhere`);
    return response;
  }

  #validate(ajv: Ajv2020, { name, schema, value }: { name: string; schema: unknown; value: unknown }): void {
    const text = fromDocument(schema);
    const key = `${ajv === this.#requests ? "request" : "answer"} ${text}`;
    const validate = this.#validators.getOrInsertComputed(key, () => ajv.compile(JSON.parse(text)));
    if (!validate(value))
      throw new Error(`${name}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value, null, 1).slice(0, 2_000)}`);
  }
}
