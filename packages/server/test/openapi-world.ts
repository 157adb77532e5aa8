/** A service of which the OpenAPI document has something of every kind, and a check of requests by the document. */
import { FakeProvider } from "./fake-provider.ts";
import { setRole } from "./kit.ts";
import { DocumentCheck, type ServiceDocument } from "./openapi.ts";
import { openScripts, type TestScripts } from "./scripts.ts";
import { publicUrl } from "./sign-in-world.ts";

/** A Standard Schema with a JSON form. */
const schemas = `
  export const of = (properties, required = Object.keys(properties)) => {
    const json = { type: "object", properties, required };
    const validate = (value) => required.every((name) => value?.[name] !== undefined) ? { value } : { issues: [{ message: "is wrong" }] };
    return { "~standard": { version: 1, vendor: "own", validate, jsonSchema: { input: () => json, output: () => json } } };
  };`;

const collections = [
  { name: "users", fields: [{ name: "nick", type: "string" }], permissions: { read: "public" } },
  {
    name: "posts",
    search: ["title"],
    trash: "30d",
    fields: [
      { name: "title", type: "string", required: true, max: 20, regex: "^[A-Z]" },
      { name: "body", type: "text" },
      { name: "status", type: "string", values: ["draft", "done"], default: "draft" },
      { name: "stock", type: "integer", min: 0 },
      { name: "price", type: "float" },
      { name: "isNew", type: "boolean" },
      { name: "at", type: "datetime" },
      { name: "extra", type: "json" },
      { name: "place", type: "geo" },
      { name: "embedding", type: "vector", dimensions: 3 },
      { name: "tags", type: "string", multiple: true, max: 3 },
      { name: "parent", type: "relation", collection: "posts" },
      { name: "picture", type: "file" },
      { name: "author", type: "relation", collection: "users", owner: true },
      { name: "number", type: "integer", sequence: true },
      { name: "secret", type: "string", permissions: { read: "admin" } },
      { name: "slug", type: "string", unique: true },
    ],
  },
];

const files = {
  "functions/posts/after.ts": `export const onCreate = ({ record }) => { if (record.title === "Fail") throw new Error("no"); };`,
  "jobs/tick.ts": `export const schedule = "0 0 1 1 *"; export default () => {};`,
  "jobs/mails.ts": `export const queue = { retries: 0 }; export default ({ payload }) => { if (payload === "fail") throw new Error("no"); };`,
  "lib/schemas.ts": schemas,
  "queries/x.ts": `export default query({ access: "public" }, async () => ({ n: 1 }));`,
  "endpoints/orders/[id].ts": `import { of } from "../../lib/schemas.ts";
      export const GET = () => new Response("plain");
      export const POST = endpoint({ access: "public", query: of({ size: { type: "string" } }, []),
        body: of({ amount: { type: "integer" } }), answer: of({ sum: { type: "integer" } }) },
        ({ body }) => ({ sum: body.amount + 1 }));`,
};

/** Operations that cannot be called with success here, with the reason. */
export const notCalled: { readonly [operation: string]: string } = {
  "GET /api/admin/backups/continuous": "needs a continuous backup: e2e/dashboard-backups.test.ts",
  "GET /api/realtime": "the request becomes a socket: live/realtime/realtime.test.ts",
  "POST /api/admin/mails/{id}/retry": "needs an SMTP server: operate/admin/mail-admin.test.ts",
  "POST /api/admin/mails/test": "needs an SMTP server: operate/admin/mail-admin.test.ts",
  "POST /api/auth/setup": "the service has an admin: operate/admin/first-admin.test.ts",
};

/** Operations that refuse no request. */
export const notRefused: readonly string[] = [
  "GET /",
  "GET /health",
  "GET /health/ready",
  "GET /api/auth/providers",
  "POST /api/auth/anonymous",
  "POST /api/auth/oauth/callback",
  "POST /api/auth/oauth/callback/{name}",
];

export interface DescribedService {
  api: TestScripts;
  check: DocumentCheck;
  /** An admin, in the form of a request. */
  admin: { token: string };
  /** A provider of sign-ins, and a provider with a callback of its own. */
  fake: FakeProvider;
  own: FakeProvider;
  /** The token of the link that made the first admin. */
  setupToken: string;
}

export async function openDescribedService(): Promise<DescribedService> {
  const [fake, own] = [new FakeProvider(), new FakeProvider()];
  const api = await openScripts({
    settings: {
      SERVICE_MAIL_FROM: "shop@example.com",
      SERVICE_PUBLIC_URL: publicUrl,
      SERVICE_AUTH_ANONYMOUS: "true",
      SERVICE_AUTH_CODES: "true",
      SERVICE_AUTH_PROVIDERS: JSON.stringify({ fake: fake.settings, own: { ...own.settings, ownCallback: true } }),
      ...Object.fromEntries(
        ["REGISTER", "LOGIN", "SETUP", "MAIL", "RECIPIENT"].map((group) => [`SERVICE_LIMITS_RATE_${group}`, "off"]),
      ),
    },
    collections,
    files,
  });
  const setupToken = api.parts.admin.firstAdmin.invite() ?? "";
  const { user, accessToken: token } = await api.register("first@example.com");
  await setRole(api.service, user.id, "admin");
  const { body } = await api.request<ServiceDocument>("GET", "/api/openapi.json", { token });
  return { api, check: new DocumentCheck(api, body), admin: { token }, fake, own, setupToken };
}
