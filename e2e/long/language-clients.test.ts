/**
 * Clients in Python, Go and Java, made by the generators of docs/clients.md of the document of a service for a signed-in caller: the programs of the page are built
 * and run. Needs Python 3, Go and a JDK 17 with Maven; their packages come from the registries into a temporary folder.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { post, root, serve, socle, temporaryFolder } from "../kit.ts";
import { runProgram } from "../service-process.ts";

setDefaultTimeout(900_000);

const page = await Bun.file(join(root, "docs/clients.md")).text();
const app = join(temporaryFolder(), "app");
expect((await socle(["init", app, "--template", "blank"])).code).toBe(0);
const server = await serve(app, { env: { SERVICE_OPENAPI_PUBLIC: "true", SERVICE_PORT: "0" } });
const session = await post(`${server.url}/api/auth/register`, {
  email: "reader@example.com",
  password: "correct horse battery",
});
const { accessToken } = (await session.json()) as { accessToken: string };
const headers = { Authorization: `Bearer ${accessToken}` };
const document = await (await fetch(`${server.url}/api/openapi.json`, { headers })).text();

function run(cwd: string, ...command: string[]): Promise<string> {
  return runProgram(command, { cwd });
}

/** A folder with the document and the program of a language, as the page prints the program. */
async function project(name: string): Promise<string> {
  const folder = temporaryFolder();
  const [, code = ""] = new RegExp(`^(?:#|//) ${name.replace(".", "\\.")}\\n([\\s\\S]*?)^\`\`\``, "m").exec(page) ?? [];
  expect(code.length).toBeGreaterThan(0);
  await Bun.write(join(folder, name), code);
  await Bun.write(join(folder, "api.json"), document);
  return folder;
}

const argumentsFor = (language: string): string[] => [server.url, `${language}@example.com`, "correct horse battery"];
const outputFor = (language: string): string[] => [
  `heard notes.created From ${language}`,
  `listed From ${language}`,
  "refused validation_error title is required",
];

test("Python", async () => {
  const folder = await project("app.py");
  await run(folder, "python3", "-m", "venv", "tools");
  await run(folder, "tools/bin/pip", "install", "--quiet", "openapi-python-client==0.29.1", "websockets==16.0");
  await run(
    folder,
    "tools/bin/openapi-python-client",
    ..."generate --path api.json --output-path notes_api --meta none".split(" "),
  );
  const output = await run(folder, "tools/bin/python", "app.py", ...argumentsFor("python"));
  expect(output.trim().split("\n")).toEqual(outputFor("Python"));
});

test("Go", async () => {
  const folder = await project("main.go");
  mkdirSync(join(folder, "notes"));
  await run(folder, "go", "mod", "init", "example.com/app");
  const generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
  await run(
    folder,
    "go",
    "run",
    generator,
    ..."-generate types,client -package notes -o notes/notes.go api.json".split(" "),
  );
  await run(folder, "go", "mod", "tidy");
  const output = await run(folder, "go", "run", ".", ...argumentsFor("go"));
  expect(output.trim().split("\n")).toEqual(outputFor("Go"));
});

test("Java", async () => {
  const folder = await project("App.java");
  const generator = "org.openapitools:openapi-generator-cli:7.25.0";
  await run(folder, "mvn", "-q", "dependency:copy", `-Dartifact=${generator}`, "-DoutputDirectory=.");
  const jar = "openapi-generator-cli-7.25.0.jar";
  expect(existsSync(join(folder, jar))).toBe(true);
  await run(folder, "java", "-jar", jar, ..."generate -g java --library native -i api.json -o api".split(" "));
  await run(
    join(folder, "api"),
    "mvn",
    "-q",
    "-DskipTests",
    "-Dmaven.javadoc.skip",
    "package",
    "dependency:copy-dependencies",
  );
  const output = await run(
    folder,
    "java",
    "-cp",
    "api/target/*:api/target/dependency/*",
    "App.java",
    ...argumentsFor("java"),
  );
  expect(output.trim().split("\n")).toEqual(outputFor("Java"));
});
