/**
 * Random live server queries of several callers beside random changes of records, users, definitions and code: when nothing changes any
 * more, each value is what a fresh request answers.
 */
import { expect, test } from "bun:test";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openScripts } from "../../../test/scripts.ts";
import { listen, type TestSocket } from "../../../test/sockets.ts";

const rounds = Number(process.env["ROUNDS"] ?? (isLong ? 60 : 8));

/** Each read of the arguments is made after the former read, and may depend on the answer of the former. */
const readsFile = (version: number): string => `
  const args = { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } };
  export default query({ access: "public", args }, async ({ db, auth, storage, reads, ...others }) => {
    const values = [${version % 3}];
    for (const [kind, of] of reads) {
      const last = values.at(-1);
      const tasks = db.collection("tasks");
      values.push(await {
        list: () => db.collection(of).list(),
        get: async () => (await tasks.get((await tasks.list({ sort: "n", limit: 1, fields: "id" }))[0]?.id ?? "none")),
        filter: () => tasks.list({ filter: of, sort: "n,title", fields: "title,n" }),
        expand: () => tasks.list({ expand: "team,team.members(team)", limit: 3 }),
        group: () => tasks.list({ group: "team.name", aggregate: "count,sum(n)", sort: "team.name" }),
        sql: () => db.query("SELECT name, (SELECT count(*) FROM tasks WHERE team = teams.id) AS n FROM teams ORDER BY name"),
        people: () => db.query("SELECT role, count(*) AS n FROM users GROUP BY role ORDER BY role"),
        names: async () => (await auth.users.list({ limit: 1000 })).map(({ email, role }) => email + role),
        maybe: async () => (Array.isArray(last) && last.length % 2 === 0 ? db.collection("teams").list() : tasks.list({ aggregate: "count" })),
        mine: () => auth.user,
      }[kind]());
    }
    return values;
  });`;

test("a value equals the response to a request, whatever changes", async () => {
  const random = randomNumbers(randomSeed("server-queries-random"));
  const below = (most: number): number => Math.floor(random() * most);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error("Nothing to pick");
    return item;
  };
  const relation = (name: string, collection: string) => ({ name, type: "relation", collection });
  const opened = await openScripts({
    collections: [
      { name: "teams", fields: [{ name: "name", type: "string" }], permissions: { read: "admin" } },
      { name: "members", fields: [relation("team", "teams"), relation("user", "users")] },
      {
        name: "tasks",
        fields: [{ name: "title", type: "string" }, { name: "n", type: "integer" }, relation("team", "teams")],
        permissions: { read: "owner" },
      },
    ],
    settings: { SERVICE_LIMITS_FILTER_TIME: "1s" },
    files: { "queries/reads.ts": readsFile(0) },
  });
  const { request } = opened;
  const { connect } = listen(opened);
  const admin = await opened.admin();
  const people = await Promise.all(["a", "b"].map((name) => opened.register(`${name}@random.example`)));
  const tokens = ["", admin, ...people.map(({ accessToken }) => accessToken)];
  const send = async (method: string, path: string, body?: object) => {
    const answer = await request(method, path, { token: admin, ...(body && { body }) });
    expect(answer.status).toBeLessThan(500);
    return answer;
  };
  const ids = async (collection: string): Promise<string[]> =>
    ((await send("GET", `/api/${collection}?fields=id`)).body["items"] as unknown as { id: string }[]).map(
      ({ id }) => id,
    );
  const words = ["red", "green", "blue"];
  for (const name of words) await send("POST", "/api/teams", { name });
  const teams = await ids("teams");
  const taskOf = (): object => ({ title: pick(words), n: below(5), team: pick([null, ...teams]) });

  let version = 0;
  const change = async (): Promise<void> => {
    const tasks = await ids("tasks");
    const kind = below(20);
    if (tasks.length > 20) for (const id of tasks.slice(5)) await send("DELETE", `/api/tasks/${id}`);
    else if (kind < 6) await send("POST", "/api/tasks", taskOf());
    else if (kind < 10) await send("PUT", `/api/tasks/${pick([...tasks, "none"])}`, taskOf());
    else if (kind < 12) await send("DELETE", `/api/tasks/${pick([...tasks, "none"])}`);
    else if (kind < 13) await send("PUT", `/api/teams/${pick(teams)}`, { name: pick(words) });
    else if (kind < 15) await send("POST", "/api/members", { team: pick(teams), user: pick(people).user.id });
    else if (kind < 16) await opened.register(`user${below(1_000_000)}@random.example`);
    else if (kind < 18)
      await send("PATCH", `/api/admin/users/${pick(people).user.id}`, {
        role: pick(["authenticated", "public", "admin"]),
      });
    else if (kind < 19) {
      const fields = [{ name: "name", type: "string" }, ...(random() < 0.5 ? [{ name: "more", type: "integer" }] : [])];
      await send("PUT", "/api/admin/collections/teams", { fields });
    } else {
      version += 1;
      await opened.save({ "queries/reads.ts": readsFile(version) });
    }
  };

  const readsOf = (): [string, string][] =>
    Array.from({ length: 1 + below(3) }, () => [
      pick(["list", "get", "filter", "filter", "expand", "group", "sql", "people", "names", "maybe", "mine"]),
      "",
    ]).map(([kind]): [string, string] => {
      if (kind === "list") return ["list", pick(["tasks", "teams", "members"])];
      if (kind === "filter")
        return [
          "filter",
          pick(["n > 2", 'team.name = "red"', "team.members(team)[user != null]", `title = "${pick(words)}"`]),
        ];
      return [kind ?? "", ""];
    });

  interface Viewed {
    readonly socket: TestSocket;
    readonly args: { readonly reads: readonly [string, string][] };
    /** "" for nobody. */
    readonly token: string;
  }
  const view = async (token: string, args: Viewed["args"]): Promise<Viewed> => {
    const socket = await connect(token || undefined);
    socket.send({ action: "subscribe", id: "q", query: { name: "reads", args } });
    return { socket, args, token };
  };
  const settle = async ({ socket, args, token }: Viewed): Promise<void> => {
    const end = performance.now() + 60_000;
    for (;;) {
      const { bytes, status } = await request(
        "GET",
        `/api/query/reads?args=${encodeURIComponent(JSON.stringify(args))}`,
        {
          ...(token !== "" && { token }),
        },
      );
      expect(status).toBe(200);
      const expected: unknown = JSON.parse(new TextDecoder().decode(bytes));
      const results = socket.frames.filter(({ type }) => type === "result");
      const last = results.at(-1);
      const value = last?.type === "result" ? last.value : undefined;
      expect(socket.frames.filter(({ type }) => type === "error")).toEqual([]);
      if (Bun.deepEquals(value, expected)) return;
      if (performance.now() > end) expect({ args, value }).toEqual({ args, value: expected } as never);
      await Bun.sleep(10);
    }
  };

  let viewed: Viewed[] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (viewed.length < 8) {
      // Some callers have the same query.
      const args = viewed[0] !== undefined && random() < 0.4 ? viewed[0].args : { reads: readsOf() };
      viewed.push(await view(pick(tokens), args));
    } else if (random() < 0.5) {
      const [gone] = viewed.splice(below(viewed.length), 1);
      gone?.socket.socket.close();
    }
    for (let i = below(4); i >= 0; i -= 1) await change();
    if (random() < 0.4) continue;
    // A key or a session may have ended with a role.
    viewed = viewed.filter(({ socket }) => socket.closed === null);
    await Promise.all(viewed.map(settle));
  }
  await Promise.all(viewed.map(settle));
}, 600_000);
