/**
 * Random live queries of several callers beside random changes of records, memberships, roles, rules and names, with breaks and
 * resumes: when nothing changes any more, each window is what a request with the same parameters answers. The long tests run 10,000
 * rounds.
 */
import { expect, test } from "bun:test";
import { LiveClient } from "../../../test/live-client.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openServer } from "../../../test/sockets.ts";

const rounds = Number(process.env["ROUNDS"] ?? 25);
const memberRule = "team.members(team)[user = @user.id]";
const rules = ["public", "authenticated", "owner", "admin", memberRule, `open = true || ${memberRule}`];

function definitions(rule: string): object[] {
  return [
    {
      name: "teams",
      fields: [{ name: "name", type: "string" }],
      permissions: { read: "public", create: "admin" },
    },
    {
      name: "members",
      fields: [
        { name: "team", type: "relation", collection: "teams", required: true },
        { name: "user", type: "relation", collection: "users", required: true },
      ],
      permissions: { read: "user = @user.id", create: "admin" },
    },
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string" },
        { name: "n", type: "integer" },
        { name: "open", type: "boolean" },
        { name: "labels", type: "string", multiple: true },
        { name: "team", type: "relation", collection: "teams" },
        { name: "secret", type: "string", permissions: { read: "admin" } },
      ],
      indexes: [["n"]],
      search: ["title"],
      permissions: { read: rule, create: "authenticated" },
    },
  ];
}

test("a window equals the response to a request, whatever changes", async () => {
  const random = randomNumbers(randomSeed("live-random"));
  const below = (most: number): number => Math.floor(random() * most);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error("Nothing to pick");
    return item;
  };
  const server = await openServer({ collections: definitions("authenticated") });
  const { request } = server;
  const admin = await server.admin();
  const people = await Promise.all(["a", "b", "c"].map((name) => server.register(`${name}@random.example`)));
  const tokens = ["", admin, ...people.map(({ accessToken }) => accessToken)];
  const send = async (method: string, path: string, body?: object, token: string = admin) => {
    const answer = await request(method, path, { ...(token !== "" && { token }), ...(body && { body }) });
    expect(answer.status).toBeLessThan(500);
    return answer;
  };
  const ids = async (collection: string): Promise<string[]> => {
    const { body } = await send("GET", `/api/${collection}?limit=1000&fields=id`);
    return (body["items"] as unknown as { id: string }[]).map(({ id }) => id);
  };
  const words = ["red", "green", "blue", "über"];
  const teams = await Promise.all(
    words.slice(0, 3).map(async (name) => String((await send("POST", "/api/teams", { name })).body["id"])),
  );
  const taskOf = (): object => ({
    title: `${pick(words)} ${pick(words)}`,
    n: below(8),
    open: random() < 0.5,
    labels: words.filter(() => random() < 0.3),
    team: pick([null, ...teams]),
  });

  const queryOf = (): { readonly [name: string]: string | number } => {
    if (random() < 0.15)
      return {
        collection: "tasks",
        ...pick([
          { group: "open", aggregate: "count,sum(n)" },
          { aggregate: "max(n),count" },
          { group: "team.name", aggregate: "count" },
          { group: "labels", aggregate: "count", sort: "-count" },
        ]),
      };
    if (random() < 0.1) return { collection: "members", expand: "team", sort: "createdAt" };
    if (random() < 0.1) return { collection: "teams", expand: "tasks(team),members(team)", sort: "name" };
    const filters = [
      "",
      "n > 3",
      "open = true",
      `title ~ "${pick(words)}"`,
      `labels = "${pick(words)}"`,
      'team.name = "red"',
      "team.members(team)[user = @user.id]",
      "n in (1, 2, 3) && open != true",
      "createdAt > @now - 1h",
    ];
    const filter = pick(filters);
    return {
      collection: "tasks",
      ...(filter !== "" && { filter }),
      ...(random() < 0.6 && { sort: pick(["n", "-n", "title,-n", "team.name,n", "-updatedAt"]) }),
      ...(random() < 0.7 && { limit: 1 + below(6) }),
      ...(random() < 0.3 && { count: "exact" }),
      ...(random() < 0.3 && { expand: pick(["team", "team.members(team)"]) }),
      ...(random() < 0.2 && { fields: "id,title,n" }),
      ...(random() < 0.2 && { search: pick(words) }),
    };
  };

  const change = async (): Promise<void> => {
    const [tasks, members] = [await ids("tasks"), await ids("members")];
    const kind = below(20);
    // The collections stay small.
    if (members.length > 20) await Promise.all(members.map((id) => send("DELETE", `/api/members/${id}`)));
    if (tasks.length > 60) await Promise.all(tasks.slice(10).map((id) => send("DELETE", `/api/tasks/${id}`)));
    else if (kind < 5) await send("POST", "/api/tasks", taskOf(), pick(tokens.slice(1)));
    else if (kind < 10) await send("PUT", `/api/tasks/${pick([...tasks, "none"])}`, taskOf());
    else if (kind < 12) await send("DELETE", `/api/tasks/${pick([...tasks, "none"])}`);
    else if (kind < 14) await send("POST", "/api/members", { team: pick(teams), user: pick(people).user.id });
    else if (kind < 15) await send("DELETE", `/api/members/${pick([...members, "none"])}`);
    else if (kind < 16) await send("PUT", `/api/teams/${pick(teams)}`, { name: pick(words) });
    else if (kind < 17)
      await send("PATCH", `/api/admin/users/${pick(people).user.id}`, {
        role: pick(["authenticated", "public", "admin", "authenticated"]),
      });
    else if (kind < 18)
      await send("PUT", "/api/admin/collections/tasks", {
        permissions: { read: pick(rules), create: "authenticated" },
      });
    else {
      const operations = Array.from({ length: 1 + below(5) }, () => ({
        method: "create",
        collection: "tasks",
        body: taskOf(),
      }));
      await send("POST", "/api/batch", { operations });
    }
  };

  interface Viewed {
    readonly client: LiveClient;
    readonly query: { readonly [name: string]: string | number };
    /** "" for nobody. */
    readonly token: string;
  }
  const settle = async ({ client, query, token }: Viewed): Promise<void> => {
    const { collection, ...parameters } = query;
    const search = new URLSearchParams({ limit: "1000" });
    for (const [name, value] of Object.entries(parameters)) search.set(name, String(value));
    const end = performance.now() + 60_000;
    for (;;) {
      client.follow();
      const { status, body } = await send("GET", `/api/${collection}?${search}`, undefined, token);
      const expected = status === 200 ? body["items"] : [];
      const total = status === 200 ? (body["total"] ?? null) : null;
      const isSame = Bun.deepEquals(client.items, expected) && (status !== 200 || Bun.deepEquals(client.total, total));
      if (isSame && client.error === null) return;
      if (performance.now() > end)
        expect({ query, error: client.error, total: client.total, items: client.items }).toEqual({
          query,
          error: null,
          total,
          items: expected,
        } as never);
      await Bun.sleep(10);
    }
  };

  let viewed: Viewed[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (viewed.length < 8) {
      const one = { query: queryOf(), token: pick(tokens) };
      const client = new LiveClient(server, one.query, `q${round}`);
      await client.connect(one.token || undefined);
      // A caller without the right gets no window.
      if (client.error === null) viewed.push({ ...one, client });
      else expect(client.error).toMatch(/^(forbidden|invalid_query)/);
    } else if (random() < 0.5) {
      const [gone] = viewed.splice(below(viewed.length), 1);
      gone?.client.break();
    }
    for (const { client, token } of viewed) {
      if (random() > 0.1) continue;
      client.break();
      if (random() < 0.7) await change();
      await client.connect(token || undefined);
    }
    for (let i = below(4); i >= 0; i -= 1) await change();
    if (random() < 0.4) continue;
    // A query whose right ended while its client was away has ended.
    viewed = viewed.filter(({ client }) => client.error === null);
    await Promise.all(viewed.map(settle));
  }
  await Promise.all(viewed.filter(({ client }) => client.error === null).map(settle));
}, 3_600_000);
