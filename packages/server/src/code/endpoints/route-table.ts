/** The table of endpoints: finds the endpoint of a path. A word goes before a parameter, from the left to the right. */
import type { Endpoint } from "./endpoint-file.ts";

/** An endpoint with the values of its parameters. */
export interface FoundEndpoint {
  readonly endpoint: Endpoint;
  readonly params: { readonly [name: string]: string };
}

interface Node {
  readonly words: Map<string, Node>;
  /** The part that is a parameter, whatever its name. */
  param: Node | null;
  endpoint: Endpoint | null;
}

function newNode(): Node {
  return { words: new Map(), param: null, endpoint: null };
}

const noParams: FoundEndpoint["params"] = {};

export class RouteTable {
  readonly #root = newNode();

  constructor(endpoints: readonly Endpoint[]) {
    for (const endpoint of endpoints) {
      let node = this.#root;
      for (const part of endpoint.parts) node = childOf(node, "param" in part ? null : part.word);
      node.endpoint = endpoint;
    }
  }

  /** @param parts the decoded parts of the path behind `/api/function`. Null without an endpoint. */
  find(parts: readonly string[]): FoundEndpoint | null {
    const values: string[] = [];
    const endpoint = search(this.#root, { parts, at: 0, values });
    if (endpoint === null) return null;
    if (values.length === 0) return { endpoint, params: noParams };
    const names = endpoint.parts.flatMap((part) => ("param" in part ? [part.param] : []));
    return { endpoint, params: Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""])) };
  }
}

/** @param word null for the part that is a parameter. */
function childOf(node: Node, word: string | null): Node {
  if (word === null) {
    node.param ??= newNode();
    return node.param;
  }
  const child = node.words.get(word) ?? newNode();
  node.words.set(word, child);
  return child;
}

function search(
  node: Node,
  path: { readonly parts: readonly string[]; readonly at: number; readonly values: string[] },
): Endpoint | null {
  const { parts, at, values } = path;
  const part = parts[at];
  if (part === undefined) return node.endpoint;
  const word = node.words.get(part);
  const found = word === undefined ? null : search(word, { parts, at: at + 1, values });
  if (found !== null || node.param === null) return found;
  values.push(part);
  const behind = search(node.param, { parts, at: at + 1, values });
  if (behind === null) values.pop();
  return behind;
}
