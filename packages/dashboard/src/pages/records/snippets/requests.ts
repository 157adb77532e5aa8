/** The requests of a collection as code: curl, the TypeScript client, fetch. */
import { effectiveRules, type JsonValue, type Operation, type Permissions, type Rule, ruleText } from "@socle/protocol";

export const LANGUAGES = ["curl", "client", "fetch"] as const;
export type Language = (typeof LANGUAGES)[number];

export const REQUESTS = ["list", "get", "create", "update", "delete", "subscribe"] as const;
export type RequestKind = (typeof REQUESTS)[number];

export interface Target {
  /** The address of the service: `https://api.example.com`. */
  readonly baseUrl: string;
  readonly collection: string;
  readonly permissions: Permissions | null;
  readonly filter?: string | undefined;
  readonly search?: string | undefined;
  readonly sort?: string | undefined;
  readonly recordId?: string;
  /** The values of a new record. */
  readonly values: Values;
  /** The values of an update. */
  readonly change?: Values;
}

interface Values {
  readonly [field: string]: JsonValue;
}

/** Stands for an id in an example without a record. */
const unknownId = "rec_…";

const requests: { readonly [kind in RequestKind]: readonly [method: string, operation: Operation] } = {
  list: ["GET", "read"],
  get: ["GET", "read"],
  create: ["POST", "create"],
  update: ["PUT", "update"],
  delete: ["DELETE", "delete"],
  subscribe: ["GET", "read"],
};

/** The rule in force for a request. */
export function ruleOf(kind: RequestKind, permissions: Permissions | null): Rule {
  return ruleText(effectiveRules(permissions ?? {})[requests[kind][1]]);
}

/** A word of a POSIX shell: in single quotes no character except the quote has a meaning. */
export function shellWord(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A value as JavaScript; an object takes several lines. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}

function indent(code: string): string {
  return code.replaceAll("\n", "\n  ");
}

export function snippet(kind: RequestKind, language: Language, target: Target): string {
  if (language === "curl") return curl(kind, target);
  return language === "fetch" ? fetchCall(kind, target) : clientCall(kind, target);
}

function needsToken(kind: RequestKind, { permissions }: Target): boolean {
  return ruleOf(kind, permissions) !== "public";
}

function pathOf(kind: RequestKind, { collection, recordId = unknownId }: Target): string {
  const path = `/api/${encodeURIComponent(collection)}`;
  return kind === "list" || kind === "create" ? path : `${path}/${encodeURIComponent(recordId)}`;
}

function queryOf({ filter, search, sort }: Target): [string, string][] {
  return Object.entries({ filter, search, sort, limit: "50" }).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
}

function bodyOf(kind: RequestKind, { values, change = {} }: Target): Values | null {
  if (kind === "create") return values;
  return kind === "update" ? change : null;
}

function socketAddress(target: Target): string {
  const base = `${target.baseUrl.replace(/^http/, "ws")}/api/realtime`;
  return needsToken("subscribe", target) ? `${base}?token=$TOKEN` : base;
}

function curl(kind: RequestKind, target: Target): string {
  if (kind === "subscribe") {
    const frame = JSON.stringify({ action: "subscribe", channel: `${target.collection}.*` });
    return `# curl speaks no WebSocket messages: with websocat\necho ${shellWord(frame)} | websocat -n "${socketAddress(target)}"`;
  }
  const address = shellWord(target.baseUrl + pathOf(kind, target));
  const body = bodyOf(kind, target);
  const isList = kind === "list";
  const [method] = requests[kind];
  return [
    `curl${isList ? " -G" : ""}${["GET", "POST"].includes(method) ? "" : ` -X ${method}`} ${address}`,
    ...(isList ? queryOf(target).map(([name, value]) => `--data-urlencode ${shellWord(`${name}=${value}`)}`) : []),
    ...(needsToken(kind, target) ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(body === null
      ? []
      : ["-H 'Content-Type: application/json'", `--data-raw ${shellWord(JSON.stringify(body, null, 2))}`]),
  ].join(" \\\n  ");
}

function fetchCall(kind: RequestKind, target: Target): string {
  if (kind === "subscribe") {
    const frame = literal({ action: "subscribe", channel: `${target.collection}.*` });
    return [
      `const socket = new WebSocket(${JSON.stringify(socketAddress(target))});`,
      `socket.onopen = () => socket.send(JSON.stringify(${frame}));`,
      "socket.onmessage = ({ data }) => console.log(JSON.parse(data));",
    ].join("\n");
  }
  const body = bodyOf(kind, target);
  const [method] = requests[kind];
  const headers = {
    ...(needsToken(kind, target) && { Authorization: "Bearer $TOKEN" }),
    ...(body !== null && { "Content-Type": "application/json" }),
  };
  const options = [
    ...(method === "GET" ? [] : [`method: ${JSON.stringify(method)},`]),
    ...(Object.keys(headers).length === 0 ? [] : [`headers: ${indent(literal(headers))},`]),
    ...(body === null ? [] : [`body: JSON.stringify(${indent(literal(body))}),`]),
  ];
  const search = kind === "list" ? `?${new URLSearchParams(queryOf(target))}` : "";
  const address = JSON.stringify(target.baseUrl + pathOf(kind, target) + search);
  const call = options.length === 0 ? `fetch(${address})` : `fetch(${address}, {\n  ${options.join("\n  ")}\n})`;
  return [
    `const response = await ${call};`,
    "if (!response.ok) throw new Error((await response.json()).error.message);",
    ...(kind === "list" ? ["const { items, nextCursor } = await response.json();"] : []),
    ...(kind === "list" || kind === "delete" ? [] : ["const record = await response.json();"]),
  ].join("\n");
}

function clientCall(kind: RequestKind, target: Target): string {
  const head = [
    'import { SocleClient } from "@socle/client";',
    "",
    `const socle = new SocleClient({ baseUrl: ${JSON.stringify(target.baseUrl)} });`,
    ...(needsToken(kind, target) ? ['await socle.login({ email: "you@example.com", password: "…" });'] : []),
  ];
  const records = `socle.collection(${JSON.stringify(target.collection)})`;
  const id = JSON.stringify(target.recordId ?? unknownId);
  const { limit, ...query } = Object.fromEntries(queryOf(target));
  const calls: { readonly [kind in RequestKind]: string } = {
    list: `const { items, nextCursor } = await ${records}.page(${literal({ ...query, limit: Number(limit) })});`,
    get: `const record = await ${records}.get(${id});`,
    create: `const record = await ${records}.create(${literal(target.values)});`,
    update: `const record = await ${records}.update(${id}, ${literal(target.change ?? {})});`,
    delete: `await ${records}.delete(${id});`,
    subscribe: `const stop = socle.subscribe(${JSON.stringify(`${target.collection}.*`)}, ({ type, payload }) => {\n  console.log(type, payload);\n});`,
  };
  return [...head, calls[kind]].join("\n");
}
