/**
 * Clients that orval and @hey-api/openapi-ts make of the documents of the examples: the strict compiler takes each client with a program
 * that uses it, and the program registers, signs in with a wrong password and lists records at the running service. The packages of the generators are
 * installed into a temporary folder, so that the installation of this repository stays small.
 */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { copyExample, post, root, serve, socle, temporaryFolder } from "../kit.ts";
import { runProgram } from "../service-process.ts";

setDefaultTimeout(600_000);

const generators = ["orval@8.38.0", "@hey-api/openapi-ts@0.99.0", "typescript@5.9.3"];
const folder = temporaryFolder();

function run(...command: string[]): Promise<string> {
  return runProgram(command, { cwd: folder });
}

beforeAll(async () => {
  await Bun.write(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await run("npm", "install", "--no-audit", "--no-fund", ...generators);
});

/** Examples, the collection that the program lists, a text field of its records, and a record; nobody sees an issue of the tracker without a workspace. */
const examples = [
  ["blog", "Profiles", "name", { name: "First" }],
  ["chat", "Rooms", "name", { name: "First" }],
  ["tracker", "Issues", "title", null],
] as const;

/** The answers that a program of a generated client has got. */
interface Outcome {
  readonly registered: number;
  readonly token: string;
  readonly refused: string;
  readonly listed: number;
  readonly fields: readonly string[];
}

const heyProgram = (list: string, field: string): string => `
import { client } from "./hey/client.gen";
import { list${list}, postAuthLogin, postAuthRegister } from "./hey/sdk.gen";

export async function use(baseUrl: string, email: string) {
  client.setConfig({ baseUrl });
  const registered = await postAuthRegister({ body: { email, password: "correct horse battery" } });
  const token: string = registered.data !== undefined && "accessToken" in registered.data ? registered.data.accessToken : "";
  const refused = await postAuthLogin({ body: { email, password: "a wrong password" } });
  const code: string = refused.error?.error.code ?? "";
  const listed = await list${list}({ query: { limit: 5 }, headers: { Authorization: "Bearer " + token } });
  const fields: string[] = (listed.data?.items ?? []).map((record) => record.${field});
  return { registered: registered.response?.status ?? 0, token, refused: code, listed: listed.response?.status ?? 0, fields };
}
// @ts-expect-error: an email is a text.
export const wrong = () => postAuthRegister({ body: { email: 5, password: "x" } });
`;

const orvalProgram = (list: string, field: string): string => `
import { list${list}, postAuthLogin, postAuthRegister } from "./orval/api";

export async function use(_baseUrl: string, email: string) {
  const registered = await postAuthRegister({ email, password: "correct horse battery" });
  const token: string = registered.status === 201 ? registered.data.accessToken : "";
  const refused = await postAuthLogin({ email, password: "a wrong password" });
  const code: string = refused.status === 401 ? refused.data.error.code : "";
  const listed = await list${list}({ limit: 5 }, { headers: { Authorization: "Bearer " + token } });
  const fields: string[] = listed.status === 200 ? listed.data.items.map((record) => record.${field}) : [];
  return { registered: registered.status, token, refused: code, listed: listed.status, fields };
}
// @ts-expect-error: an email is a text.
export const wrong = () => postAuthRegister({ email: 5, password: "x" });
`;

test.each(examples)(
  "the clients of the example %s compile, and call the service",
  async (example, list, field, record) => {
    const cwd = temporaryFolder();
    copyExample(example, cwd);
    const document = await socle(["openapi"], { cwd });
    expect([document.code, document.stderr]).toEqual([0, ""]);
    const server = await serve(cwd, { args: ["serve", "--port", "0"] });
    const owner = await post(`${server.url}/api/auth/register`, {
      email: "owner@example.com",
      password: "correct horse",
    });
    const { accessToken } = (await owner.json()) as { accessToken: string };
    if (record !== null) {
      const path = `${server.url}/api/${list.toLowerCase()}`;
      expect((await post(path, record, { Authorization: `Bearer ${accessToken}` })).status).toBe(201);
    }
    const own = join(folder, example);
    await Bun.write(join(own, "openapi.json"), document.stdout);
    await Bun.write(join(own, "use-hey.ts"), heyProgram(list, field));
    await Bun.write(join(own, "use-orval.ts"), orvalProgram(list, field));
    const orval = {
      api: {
        input: `${own}/openapi.json`,
        output: { target: `${own}/orval/api.ts`, client: "fetch", baseUrl: server.url },
      },
    };
    await Bun.write(join(own, "orval.config.mjs"), `export default ${JSON.stringify(orval)};`);
    const options = {
      strict: true,
      noEmit: true,
      module: "Preserve",
      target: "ES2023",
      types: [],
      skipLibCheck: false,
    };
    await Bun.write(join(own, "tsconfig.json"), JSON.stringify({ compilerOptions: options }));
    const bin = (name: string): string => join(folder, "node_modules/.bin", name);
    await run(bin("openapi-ts"), "-i", `${own}/openapi.json`, "-o", `${own}/hey`, "-c", "@hey-api/client-fetch");
    await run(bin("orval"), "--config", `${own}/orval.config.mjs`);
    await run(join(root, "node_modules/.bin/tsc"), "-p", own);
    for (const generator of ["hey", "orval"]) {
      const { use } = (await import(`${own}/use-${generator}.ts`)) as {
        use(baseUrl: string, email: string): Promise<Outcome>;
      };
      const outcome = await use(server.url, `${generator}@example.com`);
      expect(outcome).toMatchObject({ registered: 201, refused: "unauthorized", listed: 200 });
      expect(outcome.token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
      expect(outcome.fields).toEqual(record === null ? [] : ["First"]);
    }
    expect(await server.stop()).toBe(0);
  },
);
