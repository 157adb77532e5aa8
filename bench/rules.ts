/** Rules that reach a membership: a list, creates and sockets with the rules, against the same without the rules. */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { startListeners } from "./listeners.ts";
import { type LoadRequest, type LoadResult, runLoad } from "./load/index.ts";
import type { ListenerCommand } from "./load/load.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";
import { jwtSecret, makeUsers } from "./users.ts";

const records = 100_000;
const workspaces = 1_000;
const users = 1_000;
const connections = 32;
const sockets = 1_000;
/** Workspaces of the listening users. */
const heardWorkspaces = 100;

const membership = "project.workspace.members(workspace)[user = @user.id]";
const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const issue = (name: string, permissions: object): object => ({
  name,
  fields: [{ name: "title", type: "string" }, { name: "count", type: "integer" }, relation("project", "projects")],
  permissions,
});

const collections: readonly object[] = [
  { name: "workspaces", fields: [{ name: "name", type: "string" }] },
  {
    name: "members",
    fields: [relation("workspace", "workspaces"), relation("user", "users"), { name: "role", type: "string" }],
    indexes: [{ fields: ["workspace", "user"], unique: true }],
  },
  { name: "projects", fields: [{ name: "name", type: "string" }, relation("workspace", "workspaces")] },
  issue("issues", { read: membership, create: membership }),
  issue("open_issues", { read: "public", create: "authenticated" }),
  issue("guarded_issues", { read: "public", create: membership }),
  issue("items", { read: membership, create: "public" }),
  issue("open_items", { read: "public", create: "public" }),
];

interface World {
  readonly server: ServerProcess;
  readonly tokens: readonly string[];
  readonly projects: readonly string[];
}

/** User `n` is a member of the workspace `n` and of the heard workspace with the number `n` modulo the count. */
function fill(path: string): string[] {
  using database = new Database(path);
  const time = "2026-01-01T00:00:00.000Z";
  const ids = (count: number): string[] => Array.from({ length: count }, () => `rec_${Bun.randomUUIDv7()}`);
  const insert = (table: string, columns: readonly string[]) => {
    const names = ["id", "createdAt", "updatedAt", ...columns];
    const sql = `INSERT INTO "${table}" (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
    const statement = database.prepare(sql);
    return (id: string, ...values: (string | number)[]) => statement.run(id, time, time, ...values);
  };
  const [workspaceIds, projectIds] = [ids(workspaces), ids(workspaces * 2)];
  database.transaction(() => {
    const workspace = insert("workspaces", ["name"]);
    const project = insert("projects", ["name", "workspace"]);
    const member = insert("members", ['"workspace"', "user", "role"]);
    for (const [n, id] of workspaceIds.entries()) workspace(id, `Workspace ${n}`);
    for (const [n, id] of projectIds.entries()) project(id, `Project ${n}`, workspaceIds[n % workspaces] ?? "");
    const [membershipIds, heardIds] = [ids(users), ids(users)];
    for (let n = 0; n < users; n++) {
      member(membershipIds[n] ?? "", workspaceIds[n] ?? "", `usr_bench${n}`, "member");
      if (n >= heardWorkspaces)
        member(heardIds[n] ?? "", workspaceIds[n % heardWorkspaces] ?? "", `usr_bench${n}`, "member");
    }
    for (const table of ["issues", "open_issues"]) {
      const add = insert(table, ["title", "count", "project"]);
      for (const [n, id] of ids(records).entries())
        add(id, `Issue ${n}`, n, projectIds[(n * 7) % projectIds.length] ?? "");
    }
  })();
  return projectIds;
}

async function open(folder: string): Promise<World> {
  await mkdir(`${folder}/collections`, { recursive: true });
  for (const [n, definition] of collections.entries())
    await Bun.write(`${folder}/collections/${n}.json`, JSON.stringify(definition));
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0 }));
  // Lists are read, not answered from memory.
  const env = { SERVICE_LOG_LEVEL: "INFO", SERVICE_AUTH_JWT_SECRET: jwtSecret, SERVICE_CACHE_SIZE: "0" };
  await (await startServer([executable], folder, env)).stop();
  const tokens = await makeUsers(`${folder}/socle.db`, users);
  const projects = fill(`${folder}/socle.db`);
  return { server: await startServer([executable], folder, env), tokens, projects };
}

interface Comparison {
  readonly name: string;
  readonly aim: string;
  readonly under: readonly LoadRequest[];
  readonly without: readonly LoadRequest[];
}

/** A row of the table: requests a second with and without the rule, in turns, and the median of the ratios. */
async function compare(
  { server }: World,
  { name, aim, under, without }: Comparison,
  options: RuleOptions,
): Promise<string> {
  const results: [LoadResult[], LoadResult[]] = [[], []];
  const ratios: number[] = [];
  for (let round = -1; round < options.rounds; round++) {
    const pair: number[] = [];
    for (const [i, requests] of [under, without].entries()) {
      const load = { url: server.url, connections, seconds: round < 0 ? 1 : options.seconds, requests };
      const result = await runLoad(load, options.folder);
      if (result.errors > 0) throw new Error(`${name}: ${result.errors} errors`);
      if (round >= 0) results[i]?.push(result);
      pair.push(result.requestsPerSecond);
    }
    if (round >= 0) ratios.push((pair[0] ?? 0) / (pair[1] ?? 1));
  }
  const cells = results.map((all) =>
    Math.round(median(all.map((each) => each.requestsPerSecond))).toLocaleString("en"),
  );
  return `| ${[name, ...cells, median(ratios).toFixed(2), aim].join(" | ")} |`;
}

function comparisons({ tokens, projects }: World): Comparison[] {
  const bearer = (n: number): Record<string, string> => ({ Authorization: `Bearer ${tokens[n % users] ?? ""}` });
  const each = (make: (n: number) => LoadRequest): LoadRequest[] => Array.from({ length: users }, (_, n) => make(n));
  const list = (collection: string, n: number): LoadRequest => ({
    method: "GET",
    path: `/api/${collection}?${new URLSearchParams({ limit: "20", fields: "title,count,project" })}`,
    headers: bearer(n),
  });
  const ofProject = (collection: string, n: number): LoadRequest => {
    const filter = `project = "${projects[n] ?? ""}"`;
    const path = `/api/${collection}?${new URLSearchParams({ filter, limit: "20" })}`;
    return { method: "GET", path, headers: bearer(n) };
  };
  const create = (collection: string, n: number): LoadRequest => {
    const body = JSON.stringify({ title: `New issue ${n}`, count: n, project: projects[n] ?? "" });
    return { method: "POST", path: `/api/${collection}`, body, headers: bearer(n) };
  };
  const pair = (make: (collection: string, n: number) => LoadRequest) => ({
    under: each((n) => make("issues", n)),
    without: each((n) => make("open_issues", n)),
  });
  return [
    { name: "list of 20, the newest", aim: "≥ 0.50", ...pair(list) },
    { name: "list of 20 of a project", aim: "", ...pair(ofProject) },
    {
      name: "create",
      aim: "≥ 0.80",
      under: each((n) => create("guarded_issues", n)),
      without: each((n) => create("open_issues", n)),
    },
  ];
}

/** Sockets under a membership rule, or through filters: deliveries at full speed, and the latest event at 100 a second. */
async function measureSockets(world: World, through: "rule" | "filter", options: RuleOptions): Promise<string> {
  const listeners = startListeners();
  const { url } = world.server;
  const collection = through === "rule" ? "items" : "open_items";
  // The events of project 0 are for one listener in each hundred: the members, or the listeners with a filter that
  // names the project.
  const perEvent = sockets / heardWorkspaces;
  const filters = Array.from({ length: heardWorkspaces }, (_, n) => `project = "${world.projects[n] ?? ""}"`);
  try {
    await listeners.tell({
      do: "connect",
      url,
      count: sockets,
      channel: `${collection}.created`,
      tokens: [...world.tokens],
      reads: true,
      ...(through === "filter" && { filters }),
    });
    const body = `{"title":"Item","count":COUNT,"project":"${world.projects[0] ?? ""}"}`;
    const path = `/api/${collection}`;
    const writing: Extract<ListenerCommand, { do: "write" }> = {
      do: "write",
      seconds: options.seconds,
      url,
      path,
      perEvent,
      body,
      headers: [],
      window: 64,
      intervalMs: 0,
    };
    const rates: number[] = [];
    for (let round = 0; round < options.rounds; round++) {
      const { deliveriesPerSecond = 0 } = await listeners.tell(writing);
      rates.push(deliveriesPerSecond);
    }
    const paced = await listeners.tell({ ...writing, seconds: 2 * options.seconds, intervalMs: 10 });
    const { p50 = 0, p99 = 0, latest = 0, missing = 0, closed = 0 } = paced;
    if (missing > 0 || closed > 0) throw new Error(`${missing} events are missing, ${closed} sockets were closed`);
    const rate = Math.round(median(rates)).toLocaleString("en");
    const times = [p50, p99, latest].map((ms) => ms.toFixed(1));
    return `| ${[`1,000 sockets, 100 groups, by ${through}`, rate, ...times].join(" | ")} |`;
  } finally {
    await listeners.stop();
  }
}

export interface RuleOptions {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

export async function measureRules(options: RuleOptions): Promise<void> {
  const world = await open(`${options.folder}/rules`);
  try {
    console.log("\n| | under a membership rule, req/s | without, req/s | ratio | aim |");
    console.log("|---|---|---|---|---|");
    for (const comparison of comparisons(world)) console.log(await compare(world, comparison, options));
    console.log("\n| | deliveries/s (aim ≥ 20,000) | at 100 events/s: p50 ms | p99 ms | latest ms (aim ≤ 100) |");
    console.log("|---|---|---|---|---|");
    for (const through of ["rule", "filter"] as const) console.log(await measureSockets(world, through, options));
  } finally {
    await world.server.stop();
  }
}
