/**
 * `npm run test:contract`: Schemathesis against the OpenAPI document of a service with a collection, an endpoint and accounts. Requests that follow
 * from the document, right and wrong, must get the statuses, types, headers and bodies that the document names, and never an error of the service.
 * Schemathesis is a program of Python, which the test installs into a temporary folder; without Python the test fails and says so.
 * `SEED=123` repeats a run.
 */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { randomSeed } from "../../packages/server/test/random.ts";
import { freePort, post, project, serve, socle, temporaryFolder } from "../kit.ts";

setDefaultTimeout(600_000);

const version = "4.32.5";
/** The most examples of an operation, and the most seconds of a run. */
const [examples, seconds] = [20, 60];
/** The checks that follow from the document alone; whether a value that fits a schema is taken is also up to rules that no schema has. */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "allow_header_conformance",
];
const folder = temporaryFolder();
const st = join(folder, "python/bin/st");

interface Ended {
  readonly code: number;
  readonly output: string;
}

async function run(command: readonly string[]): Promise<Ended> {
  const child = Bun.spawn([...command], { cwd: folder, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [code, output, errors] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code, output: output + errors };
}

beforeAll(async () => {
  const python = Bun.which("python3");
  if (python === null) throw new Error("npm run test:contract needs Python 3.10 or later: there is no python3 in PATH");
  for (const command of [
    [python, "-m", "venv", join(folder, "python")],
    [join(folder, "python/bin/pip"), "install", "--quiet", `schemathesis==${version}`],
  ]) {
    const { code, output } = await run(command);
    if (code !== 0)
      throw new Error(`npm run test:contract cannot install Schemathesis: ${command.join(" ")}\n${output}`);
  }
});

const notes = {
  name: "notes",
  fields: [
    { name: "title", type: "string", required: true, min: 1, max: 40 },
    { name: "count", type: "integer", min: 0 },
    { name: "ratio", type: "float" },
    { name: "due", type: "datetime" },
    { name: "done", type: "boolean", default: false },
    { name: "status", type: "string", values: ["todo", "done"] },
    { name: "data", type: "json" },
    { name: "parent", type: "relation", collection: "notes" },
    { name: "tags", type: "string", multiple: true },
    { name: "image", type: "file" },
  ],
  search: ["title"],
  permissions: { read: "public", create: "authenticated", update: "authenticated", delete: "authenticated" },
};
const endpoint = `
const schema = (json, check) => ({
  "~standard": {
    version: 1,
    vendor: "own",
    validate: (value) => (check(value) ? { value } : { issues: [{ message: "a and b must be whole numbers" }] }),
    jsonSchema: { input: () => json, output: () => json },
  },
});
const body = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };
const answer = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] };
const isSafe = (value) => [value?.a, value?.b, value?.a + value?.b].every(Number.isSafeInteger);
export const POST = endpoint(
  { body: schema(body, isSafe), answer: schema(answer, () => true), access: "public" },
  ({ body: { a, b } }) => ({ sum: a + b }),
);
`;
const email = "admin@example.com";
const password = "correct horse";

async function start() {
  const port = await freePort();
  // Mails and passkeys need the address of the service for people; without the address, their routes are 503.
  const config = { port, publicUrl: `http://localhost:${port}`, mail: { from: "app@example.com" } };
  const cwd = await project({ collections: [notes], config });
  await Bun.write(join(cwd, "endpoints/sum.ts"), endpoint);
  const document = await socle(["openapi"], { cwd });
  expect([document.code, document.stderr]).toEqual([0, ""]);
  await Bun.write(join(folder, "openapi.json"), document.stdout);
  return serve(cwd, { env: { SERVICE_ADMIN_EMAIL: email, SERVICE_ADMIN_PASSWORD: password } });
}

/** Runs Schemathesis on a part of the document, as the holder of a token. */
async function examine(url: string, token: string, part: readonly string[]): Promise<Ended> {
  const seed = randomSeed("contract");
  const bounds = ["--seed", `${seed}`, "--max-examples", `${examples}`, "--max-time", `${seconds}`];
  const phases = ["--phases", "coverage,fuzzing", "--checks", checks.join(), "--continue-on-failure", "--no-color"];
  const as = ["--header", `Authorization: Bearer ${token}`];
  const ended = await run([
    st,
    "run",
    join(folder, "openapi.json"),
    "--url",
    url,
    ...bounds,
    ...phases,
    ...as,
    ...part,
  ]);
  console.log(ended.output.slice(ended.output.indexOf("= SUMMARY =") - 40));
  return ended;
}

/** The cases that Schemathesis has sent: a run without cases shows nothing. */
function casesOf(output: string): number {
  return Number(/(\d+) generated/.exec(output)?.[1] ?? 0);
}

async function tokenOf(url: string, route: string, credentials: object): Promise<string> {
  const answer = await post(`${url}/api/auth/${route}`, credentials);
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

test.each<[string, readonly string[], "user" | "admin"]>([
  [
    "records, batches, the endpoint and accounts, as a user",
    [
      ...["--include-path-regex", "^/api/(notes|function|batch|auth|storage)"],
      // Imports and exports are an admin's; a sign-out or a deleted account would end the run's own token.
      ...["--exclude-path-regex", "(import|export|oauth.*|logout|auth/me|auth/sessions.*)$"],
    ],
    "user",
  ],
  [
    "everything that is read, as an admin",
    ["--include-method", "GET", "--exclude-path-regex", "(realtime|oauth.*|backup.*)$"],
    "admin",
  ],
])("the service keeps to its document: %s", async (_name, part, who) => {
  const server = await start();
  const token =
    who === "admin"
      ? await tokenOf(server.url, "login", { email, password })
      : await tokenOf(server.url, "register", { email: "user@example.com", password: "correct horse" });
  const { code, output } = await examine(server.url, token, part);
  if (code !== 0) throw new Error(`Schemathesis ended with ${code}:\n${output}`);
  expect(casesOf(output)).toBeGreaterThan(100);
  expect(server.output().match(/^.*\bERROR\b.*$/gm) ?? []).toEqual([]);
});
