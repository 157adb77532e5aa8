/** A request of the form: its address, the same request for curl, and the answer of the service. */
import { client } from "../../service/client.ts";
import type { Operation, Parameter } from "./operations.ts";

export interface Values {
  /** By the place and the name of the parameter. */
  readonly parameters: { readonly [key: string]: string };
  /** The text of the body; null for a request without a body. */
  readonly body: string | null;
}

export interface TriedAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string;
  readonly body: string;
  /** Whether the answer had more than is shown, or goes on. */
  readonly isCut: boolean;
}

/** Bytes of an answer that are read. */
const maxBytes = 256 * 1_024;
/** How long a stream is read. */
const streamMs = 2_000;

export function keyOf({ in: place, name }: Parameter): string {
  return `${place} ${name}`;
}

function given(operation: Operation, place: Parameter["in"], { parameters }: Values): [name: string, value: string][] {
  return operation.parameters.flatMap((parameter): [string, string][] => {
    const value = parameters[keyOf(parameter)] ?? "";
    return parameter.in === place && value !== "" ? [[parameter.name, value]] : [];
  });
}

/** The path with the parameters, from the root of the service. A parameter without a value stays in braces. */
export function addressOf(operation: Operation, values: Values): string {
  const inPath = new Map(given(operation, "path", values));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = inPath.get(name);
    return value === undefined ? whole : encodeURIComponent(value);
  });
  const query = new URLSearchParams(given(operation, "query", values));
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The names of the parameters of the path that have no value. */
export function missingOf(operation: Operation, values: Values): string[] {
  const names = new Set(given(operation, "path", values).map(([name]) => name));
  return operation.parameters.flatMap(({ in: place, name }) => (place === "path" && !names.has(name) ? [name] : []));
}

function headersOf(operation: Operation, values: Values): [name: string, value: string][] {
  const type = operation.body?.type ?? "";
  const hasType = values.body !== null && !type.includes("*") && !type.startsWith("multipart/");
  return [...given(operation, "header", values), ...(hasType ? [["Content-Type", type] as [string, string]] : [])];
}

/** A word of a POSIX shell: in single quotes no character except the quote has a meaning. */
function shellWord(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The request for curl. The token is a variable of the shell, so that no example has a secret. */
export function curlOf(operation: Operation, values: Values, origin: string): string {
  const isForm = operation.body?.type.startsWith("multipart/") === true;
  const words = [
    `curl ${operation.method === "GET" ? "" : `-X ${operation.method} `}${shellWord(origin + addressOf(operation, values))}`,
    ...(operation.isOpen ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...headersOf(operation, values).map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(isForm ? ["-F file=@picture.png", "-F visibility=protected"] : []),
    ...(values.body === null || isForm ? [] : [`-d ${shellWord(values.body)}`]),
  ];
  return words.join(" \\\n  ");
}

/** Reads a bounded part of a body. A stream that goes on is left after some seconds. */
async function readPart(response: Response): Promise<{ text: string; isCut: boolean }> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const reader = response.body?.getReader();
  if (reader === undefined) return { text: "", isCut: false };
  const decoder = new TextDecoder();
  let [text, bytes, isCut] = ["", 0, false];
  const stop = (): void => {
    isCut = true;
    void reader.cancel();
  };
  const timer = isStream ? setTimeout(stop, streamMs) : undefined;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    bytes += next.value.byteLength;
    text += decoder.decode(next.value, { stream: true });
    if (bytes > maxBytes) stop();
  }
  clearTimeout(timer);
  return { text, isCut };
}

function shownBody(text: string, type: string): string {
  if (!type.startsWith("application/json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // A part of a large answer is no JSON.
    return text;
  }
}

/** Sends a request as the signed-in admin. @throws Error when the service does not answer. */
export async function send(operation: Operation, values: Values): Promise<TriedAnswer> {
  // Renews a token that has expired.
  await client.me();
  const response = await fetch(addressOf(operation, values), {
    method: operation.method,
    headers: [...headersOf(operation, values), ["Authorization", `Bearer ${client.accessToken}`]],
    redirect: "manual",
    cache: "no-store",
    ...(values.body !== null && { body: values.body }),
  });
  const { text, isCut } = await readPart(response);
  const { status, statusText, headers } = response;
  return {
    status,
    statusText,
    headers: [...headers].map(([name, value]) => `${name}: ${value}`).join("\n"),
    body: shownBody(text, headers.get("content-type") ?? ""),
    isCut,
  };
}
