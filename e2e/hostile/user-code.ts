/** Attacks on user code: calls that make the code of the project loop, by users who may call the code. */
import { bearer, flood, send, type Target } from "./raw.ts";

const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r";

const loops = "loops in user code of eight users";

/** The files of user code that an attack needs, by the name of the attack. Other attacks have a project without code. */
export const codeOf: { readonly [attack: string]: { readonly [path: string]: string } } = {
  [loops]: {
    "functions/tries/hook.ts":
      'export const beforeCreate = ({ record }) => { if (record.text === "hook") for (;;); };\n',
    "functions/tries/run.ts":
      'export const onCreate = ({ record }) => { if (record.text === "function") for (;;); };\n',
    "functions/notes/hook.ts": 'export const beforeCreate = ({ record }) => ({ text: record.text + "!" });\n',
    "endpoints/loop.ts": "export const GET = () => { for (;;); };\n",
    "endpoints/query.ts": `export const GET = async (_, { db }) => Response.json(await db.query("${endless}"));\n`,
    "endpoints/add.ts": 'export const GET = async (_, { jobs }) => Response.json(await jobs.enqueue("loop"));\n',
    "endpoints/calm.ts":
      'export const GET = async (_, { db }) => Response.json(await db.query("SELECT count(*) AS n FROM notes"));\n',
    "jobs/loop.ts": "export const queue = {};\nexport default () => { for (;;); };\n",
  },
};

/** Errors of the log that tell of loops in the code. */
export const errorOfLoop = / ERROR .*((functions\/tries|endpoints|jobs)\/\w+\.ts|A hook of \\"tries\\" did not decide)/;

const json = { "Content-Type": "application/json" };

export const codeAttacks: {
  readonly [name: string]: (target: Target, strength: { readonly signal: AbortSignal }) => Promise<void>;
} = {
  /** Another user calls an endpoint with a query meanwhile, and must have each answer. */
  [loops]: async (target, { signal }) => {
    const create = (text: string) => ({ path: "/api/tries", method: "POST", body: JSON.stringify({ text }) });
    const tries = [
      { path: "/api/function/loop" },
      { path: "/api/function/query" },
      { path: "/api/function/add" },
      create("hook"),
      create("function"),
    ];
    const looping = flood(signal, tries.length * target.crowd.length, (n) => {
      const { path = "", ...init } = tries[n % tries.length] ?? {};
      const headers = { ...json, ...bearer(target.crowd[n % target.crowd.length]) };
      return send(target, path, { ...init, headers, signal });
    });
    const answers: number[] = [];
    const calm = flood(signal, 1, async () => {
      answers.push(await send(target, "/api/function/calm", { headers: bearer(target.tokens[0]) }));
    });
    await Promise.all([looping, calm]);
    if (!answers.every((status) => status === 200)) throw new Error(`Another user was answered ${answers.join(", ")}`);
  },
};
