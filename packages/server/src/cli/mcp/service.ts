/** The service behind the tools of `socle mcp`: requests with an API key, and answers of a bounded size. */
import { isReservedCollectionName, NAME_PATTERN } from "@socle/protocol";
import { isObject, messageOf, quote } from "../../base/kernel/index.ts";

/** Characters of an answer that a tool gives, at most: a model reads every character. */
export const maxAnswer = 50_000;
/** Bytes of an answer that are read, at most: of the OpenAPI document, too. */
const maxBytes = 16 * 1024 ** 2;

/** A request that the service refused, or a failure; the message is for the model. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

export interface ToolRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Undefined parameters are left out. */
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly body?: object;
  readonly headers?: { readonly [name: string]: string };
}

/** The text of an answer; null for a text with more bytes than are read. */
async function boundedText(response: Response): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > maxBytes) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** The refusal of the service in a text: the code, the message, and the problems of values. */
function refusalOf(status: number, text: string): string {
  const body = parsed(text);
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : null;
  if (error === null) return `The service answered HTTP ${status}, and not like a Socle service.`;
  const details = Array.isArray(error["details"]) ? `\n${JSON.stringify(error["details"])}` : "";
  return `${String(error["code"])} (HTTP ${status}): ${String(error["message"])}${details}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export class ToolService {
  readonly #url: string;
  readonly #key: string;

  /** @param url without a slash at the end. */
  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** The JSON of an answer. @throws ToolError. */
  async json(request: ToolRequest): Promise<unknown> {
    const text = await this.#send(request);
    if (text === null) throw new ToolError("The answer of the service is too large.");
    return parsed(text);
  }

  /** The text of an answer to a read, for the model. @throws ToolError, also for a larger answer. */
  async read(request: ToolRequest): Promise<string> {
    const text = await this.#send(request);
    if (text !== null && text.length <= maxAnswer) return text;
    const size = text === null ? `more than ${maxBytes} bytes` : `${text.length} characters`;
    throw new ToolError(
      `The answer has ${size}; at most ${maxAnswer} characters are given. Ask for fewer records (limit), or for fewer fields (fields).`,
    );
  }

  /** The text of an answer to a change. The change is made, however large the answer is. @throws ToolError for a refusal. */
  async change(request: ToolRequest): Promise<string> {
    const text = await this.#send(request);
    if (text === "") return "Done.";
    return text !== null && text.length <= maxAnswer ? text : "Done. The answer is too large, and is left out.";
  }

  async #send({ method, path, query = {}, body, headers }: ToolRequest): Promise<string | null> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    const search = parameters.size === 0 ? "" : `?${parameters}`;
    let response: Response;
    let text: string | null;
    try {
      response = await fetch(`${this.#url}${path}${search}`, {
        method,
        // A redirect could lead the key elsewhere.
        redirect: "error",
        headers: {
          ...headers,
          Authorization: `Bearer ${this.#key}`,
          ...(body !== undefined && { "Content-Type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      text = await boundedText(response);
    } catch (thrown) {
      throw new ToolError(`${this.#url} cannot be reached: ${messageOf(thrown)}`);
    }
    if (!response.ok) throw new ToolError(refusalOf(response.status, text ?? ""));
    return text;
  }
}

/** The path of a collection or of a record. @throws ToolError for a name or an id of another route, as for an unknown one. */
export function recordPath(collection: string, id?: string): string {
  const isName = NAME_PATTERN.test(collection) && !isReservedCollectionName(collection);
  if (!isName) throw new ToolError(`not_found (HTTP 404): There is no collection ${quote(collection)}.`);
  if (id === undefined) return pathOf(collection);
  if (!/^(?:rec|usr)_[\w-]+$/.test(id)) throw new ToolError(`not_found (HTTP 404): There is no record ${quote(id)}.`);
  return pathOf(collection, id);
}

/** A path of the API, from its parts. */
export function pathOf(...parts: readonly string[]): string {
  return `/api/${parts.map(encodeURIComponent).join("/")}`;
}
