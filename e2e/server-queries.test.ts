/** Server queries with the built executable: the project that docs/server-queries.md prints type-checks, answers, is live, and is tested. */
import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import type { ServerFrame } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { printedProject, root, serve, socle, until } from "./kit.ts";

/** Uses of the types, in a file of the project: each @ts-expect-error is a mistake. */
const uses = `
const args: Queries["board"]["args"] = { team: "rec_1" };
const value: Queries["board"]["value"] = { tasks: [{ id: "rec_2", title: "x" }], open: 1, done: 0 };
// @ts-expect-error: a number is no id.
const wrong: Queries["board"]["args"] = { team: 5 };
// @ts-expect-error: there is no such query.
type None = Queries["none"];
// @ts-expect-error: the value has no such part.
value.missing;
export const written = query({}, async ({ db }) => {
  // @ts-expect-error: a query only reads.
  await db.collection("tasks").create({ title: "x", team: "rec_1" });
});
export const all = [args, value, wrong];
`;

const tests = `
import { expect, service, test } from "socle/test";

test("guests do not see a board", async () => {
  const ada = await service.client("ada@example.com");
  expect(await ada.queries.board({ team: "rec_1" }).run().catch((error) => error)).toMatchObject({ status: 403, message: "You are not in this team" });
  const guest = await service.client();
  // @ts-expect-error: an argument is missing.
  expect(await ada.queries.board({}).run().catch((error) => error)).toMatchObject({ status: 400, code: "validation_error" });
  expect(await guest.queries.board({ team: "rec_1" }).run().catch((error) => error)).toMatchObject({ status: 401 });
});
`;

describe("docs/server-queries.md", async () => {
  const { cwd, paths } = await printedProject("server-queries.md");
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));

  test("prints a project that type-checks, with the types of its query", async () => {
    expect(paths).toEqual([
      "queries/board.ts",
      "collections/teams.json",
      "collections/members.json",
      "collections/tasks.json",
    ]);
    await Bun.write(join(cwd, "lib/uses.ts"), uses);
    const { code, stdout } = await socle(["check"], { cwd });
    expect([code, stdout]).toEqual([0, ""]);
    await Bun.write(join(cwd, "lib/uses.ts"), 'export const wrong: Queries["board"]["args"] = {};\n');
    const refused = await socle(["check"], { cwd });
    expect([refused.code, refused.stdout.includes("lib/uses.ts")]).toEqual([1, true]);
    await Bun.file(join(cwd, "lib/uses.ts")).delete();
  });

  test("its query answers a member, and is live", async () => {
    const password = "correct horse battery";
    const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password };
    const server = await serve(cwd, { env });
    const admin = new SocleClient({ baseUrl: server.url });
    await admin.login({ email: "admin@example.com", password });
    const client = new SocleClient({ baseUrl: server.url });
    const user = await client.register({ email: "eva@example.com", password: "correct horse" });
    const { id: team } = await admin.collection("teams").create({ name: "red" });
    const query = async (args: object): Promise<{ status: number; body: Record<string, unknown> }> => {
      const headers = { Authorization: `Bearer ${client.accessToken}` };
      const answer = await fetch(`${server.url}/api/query/board?args=${encodeURIComponent(JSON.stringify(args))}`, {
        headers,
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const refusal = async (args: object): Promise<unknown> => {
      const { status, body } = await query(args);
      const { code, details } = body["error"] as { code: string; details?: { field: string }[] };
      return [status, code, details?.[0]?.field];
    };
    expect(await refusal({ team })).toEqual([403, "forbidden", undefined]);
    expect(await refusal({ team: '" || "' })).toEqual([403, "forbidden", undefined]);
    expect(await refusal({ team: 1 })).toEqual([400, "validation_error", "args.team"]);
    await admin.collection("members").create({ team, user: user?.id });
    expect(await query({ team })).toEqual({ status: 200, body: { tasks: [], open: 0, done: 0 } });

    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime?token=${client.accessToken}`);
    const frames: ServerFrame[] = [];
    socket.onmessage = ({ data }) => frames.push(JSON.parse(String(data)));
    await until(() => socket.readyState === WebSocket.OPEN);
    socket.send(JSON.stringify({ action: "subscribe", id: "board", query: { name: "board", args: { team } } }));
    const { id } = await admin.collection("tasks").create({ title: "Buy milk", team });
    await until(() =>
      frames.some((frame) => frame.type === "result" && JSON.stringify(frame.value).includes("Buy milk")),
    );
    expect(frames.at(-1)).toMatchObject({
      id: "board",
      value: { tasks: [{ id, title: "Buy milk" }], open: 1, done: 0 },
    });
    await admin.collection("tasks").update(id, { done: true });
    const last = (): unknown => frames.flatMap((frame) => (frame.type === "result" ? [frame.value] : [])).at(-1);
    await until(() => Bun.deepEquals(last(), { tasks: [], open: 0, done: 1 }));
    socket.close();
  });

  test("socle test calls the query", async () => {
    await Bun.write(join(cwd, "queries/board.test.ts"), tests);
    const checked = await socle(["check"], { cwd });
    expect([checked.code, checked.stdout]).toEqual([0, ""]);
    const { code, stderr } = await socle(["test"], { cwd });
    expect([code, stderr.includes("1 pass")]).toEqual([0, true]);
  });
});
