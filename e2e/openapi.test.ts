/** `socle openapi` and `GET /api/openapi.json` of the executable: the document of the tracker, and the types that follow. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { isObject } from "../packages/server/src/base/kernel/index.ts";
import { copyExample, post, project, root, serve, socle, temporaryFolder } from "./kit.ts";
import { typesOf } from "./openapi-types/generate.ts";

const code = `import type { components, paths } from "./api.ts";

type Issue = components["schemas"]["issues.record"];
type Created = paths["/api/issues"]["post"]["responses"][201]["content"]["application/json"];
type NewIssue = paths["/api/issues"]["post"]["requestBody"]["content"]["application/json"];
type Refused = paths["/api/issues"]["post"]["responses"][400]["content"]["application/json"];
type Batch = paths["/api/batch"]["post"]["requestBody"]["content"]["application/json"];
type Invited = paths["/api/admin/invitations"]["post"]["requestBody"]["content"]["application/json"];
type Levels = NonNullable<paths["/api/admin/logs"]["get"]["parameters"]["query"]>["level"];
type Role = NonNullable<paths["/api/admin/users"]["get"]["parameters"]["query"]>["role"];
type Begun = paths["/api/auth/links/{name}"]["post"]["requestBody"];
type Query = NonNullable<paths["/api/issues"]["get"]["parameters"]["query"]>;

export const made: NewIssue = { title: "First", project: "rec_1" };
export const query: Query = { filter: "status = \\"todo\\"", limit: 10, count: "exact" };
export function read(issue: Issue, created: Created, { error }: Refused): string {
  const status: "todo" | "doing" | "done" = issue.status;
  const assignee: string | null = created.assignee;
  const reason: "validation_error" | "bad_request" = error.code;
  return status + assignee + reason + issue.title.length;
}
export const batch: Batch = {
  operations: [
    { method: "create", collection: "issues", body: { title: "First", project: { $ref: 1 }, points: 5, labels: ["x"] } },
    { method: "update", collection: "issues", id: "rec_1", body: { points: { $increment: 1 } } },
    { method: "delete", collection: "issues", id: "rec_1", ifMatch: "rec_1.5" },
  ],
};
export const invited: Invited = { email: "a@example.com", data: { name: "Ann" } };
export const levels: Levels = ["WARN", "ERROR"];
export const begun: Begun = { content: { "application/json": { redirect: "https://app.example.com" } } };
export function texts(event: components["schemas"]["EventEntry"], entry: components["schemas"]["LogEntry"]): unknown[] {
  return [event.payload["title"], entry.fields?.["status"]];
}
// @ts-expect-error: there is no such role.
export const role: Role = "root";
// @ts-expect-error: the body is required.
export const noBody: Begun = undefined;
// @ts-expect-error: the title is required.
export const missing: NewIssue = { project: "rec_1" };
// @ts-expect-error: there is no such status.
export const wrong: NewIssue = { title: "", project: "", status: "late" };
`;

test("the document of the tracker becomes types that the compiler checks", async () => {
  const cwd = temporaryFolder();
  copyExample("tracker", cwd);
  const { code: exit, stdout, stderr } = await socle(["openapi"], { cwd });
  expect([exit, stderr]).toEqual([0, ""]);
  const folder = temporaryFolder();
  await Bun.write(join(folder, "api.ts"), await typesOf(stdout));
  await Bun.write(join(folder, "use.ts"), code);
  await Bun.write(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: { strict: true, noEmit: true, module: "Preserve", allowImportingTsExtensions: true, types: [] },
    }),
  );
  const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", folder]);
  expect(tsc.stdout.toString()).toBe("");
  expect(tsc.exitCode).toBe(0);
});

/** The recommendations of Redocly that the document does not follow, with the places; each other finding fails. */
const deliberate = [
  // The licence is that of the service's owner.
  "info-license #/info",
  // The browser is sent on: these paths answer with 303 or 302 alone.
  "operation-2xx-response #/paths/~1api~1auth~1oauth~1callback/get/responses",
  "operation-2xx-response #/paths/~1api~1auth~1oauth~1callback~1{name}/get/responses",
  "operation-2xx-response #/paths/~1api~1auth~1oauth~1{name}/get/responses",
  // The answer is 101, with which a WebSocket begins.
  "operation-2xx-response #/paths/~1api~1realtime/get/responses",
];

async function findingsOf(source: string): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`).sort();
}

test.each(["blog", "chat", "shop", "tracker"] as const)(
  "redocly lint has no finding in the document of the example %s but the deliberate ones",
  async (example) => {
    const cwd = temporaryFolder();
    copyExample(example, cwd);
    const { stdout } = await socle(["openapi"], { cwd });
    expect(await findingsOf(stdout)).toEqual(deliberate);
    if (example !== "chat") return;
    // The linter sees a parameter that no path has, and a reference to nothing.
    const broken = stdout.replace('"/api/auth/sessions/{id}"', '"/api/auth/sessions/{other}"');
    const found = await findingsOf(broken.replace('"#/components/schemas/Error400"', '"#/components/schemas/Nothing"'));
    expect(found.some((finding) => finding.startsWith("path-parameters-defined "))).toBe(true);
    expect(found.some((finding) => finding.startsWith("no-unresolved-refs "))).toBe(true);
  },
);

test("a running service returns the same document, to the holder of a key of an admin and with --url", async () => {
  const cwd = await project({
    collections: [{ name: "posts", fields: [{ name: "title", type: "string" }], permissions: { read: "admin" } }],
  });
  await Bun.write(
    join(cwd, "endpoints/sum.ts"),
    `const json = { type: "object", properties: { a: { type: "integer" } } };
     const body = { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }), jsonSchema: { input: () => json, output: () => json } } };
     export const POST = endpoint({ body }, ({ body }) => body.a);\n`,
  );
  const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };
  const server = await serve(cwd, { env });
  const login = await post(`${server.url}/api/auth/login`, { email: "admin@example.com", password: "correct horse" });
  const { accessToken } = (await login.json()) as { accessToken: string };
  const made = await post(
    `${server.url}/api/auth/keys`,
    { name: "docs", scopes: ["admin"] },
    { Authorization: `Bearer ${accessToken}` },
  );
  const { key } = (await made.json()) as { key: string };
  const fromService = await socle(["openapi", "--url", server.url], { env: { SOCLE_KEY: key } });
  expect([fromService.code, fromService.stderr]).toEqual([0, ""]);
  const document: unknown = JSON.parse(fromService.stdout);
  const paths = isObject(document) ? document["paths"] : {};
  expect(paths).toMatchObject({ "/api/posts": { get: {} }, "/api/function/sum": { post: { requestBody: {} } } });
  // Also beside the running service.
  const fromProject = await socle(["openapi"], { cwd });
  expect(JSON.parse(fromProject.stdout)).toEqual(document as never);
  const refused = await socle(["openapi", "--url", server.url]);
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([
    1,
    "",
    "socle: This is for admins: sign in as one.\n",
  ]);
  const wrong = await socle(["openapi", "--url", "nowhere"]);
  expect(wrong.code).toBe(2);
  expect(await server.stop()).toBe(0);
});

test("an endpoint that does not load is reported, and the rest is printed", async () => {
  const cwd = await project({ collections: [{ name: "posts", fields: [] }] });
  await Bun.write(join(cwd, "endpoints/broken.ts"), "export const GET = ;\n");
  const { code: exit, stdout, stderr } = await socle(["openapi"], { cwd });
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^endpoints\/broken\.ts does not load: /);
  expect(JSON.parse(stdout)).toMatchObject({ openapi: "3.1.0", paths: { "/api/posts": {} } });
});
