/** A service with something of everything, for the tests and the pictures of the dashboard's pages. */
import { fileForm, formType } from "../packages/server/test/forms.ts";
import { png } from "../packages/server/test/images.ts";
import { type Dashboard, openDashboard } from "./dashboard.ts";

const open = { read: "public", create: "authenticated", update: "owner", delete: "admin" };

const collections = [
  {
    name: "authors",
    fields: [
      { name: "name", type: "string", required: true, max: 80 },
      { name: "email", type: "string", unique: true, regex: "^[^@]+@[^@]+$" },
      { name: "born", type: "datetime" },
      { name: "portrait", type: "file" },
    ],
    permissions: open,
  },
  {
    name: "posts",
    fields: [
      { name: "title", type: "string", required: true, max: 200 },
      { name: "slug", type: "string", unique: true },
      { name: "author", type: "relation", collection: "authors" },
      { name: "stage", type: "string", values: ["draft", "review", "published", "archived"] },
      { name: "published", type: "boolean" },
      { name: "publishedAt", type: "datetime" },
      { name: "views", type: "integer", min: 0 },
      { name: "rating", type: "float", min: 0, max: 5 },
      { name: "body", type: "text" },
      { name: "meta", type: "json" },
      { name: "cover", type: "file" },
    ],
    permissions: open,
    indexes: [["published", "publishedAt"]],
  },
  {
    name: "comments",
    fields: [
      { name: "post", type: "relation", collection: "posts", required: true },
      { name: "writer", type: "relation", collection: "users", owner: true },
      { name: "text", type: "text", required: true, max: 1000 },
    ],
    permissions: { read: "public", create: "authenticated", update: "owner", delete: "owner" },
  },
];

const files = {
  "functions/posts/announce.ts": `
export const options = { retries: 1 };

export async function onCreate({ record, logger }: any) {
  if (record.title.includes("no mail")) throw new Error("No mail server answers at smtp://mail.example");
  logger.info(\`Announced \${record.title}\`);
}
`,
  "jobs/cleanup.ts": `
export const schedule = "0 3 * * *";

export default async function ({ db, logger }: any) {
  const [{ n }] = await db.query("SELECT count(*) AS n FROM posts WHERE published = 0");
  logger.info(\`\${n} drafts are kept\`);
}
`,
};

const titles = [
  "A column needs a base",
  "Group commit, explained with a bus",
  "Why your list should stream",
  "Keyset pagination in ten lines",
  "Draft with no mail",
  "Backpressure is a feature",
  "Savepoints inside a batch",
  "One definition, everything derived",
];

/** Starts the dashboard with data. Times are the machine's; names and numbers are always the same. */
export async function openFilledDashboard(): Promise<Dashboard> {
  const dashboard = await openDashboard({ collections, files });
  const { api, server, token } = dashboard;
  const create = async (collection: string, body: object): Promise<string> =>
    ((await api("POST", `/api/${collection}`, body)) as { id: string }).id;
  const upload = async (filename: string, color: number, visibility: string): Promise<string> => {
    const response = await fetch(`${server.url}/api/storage/upload`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": formType },
      body: fileForm(png(320 + color, 240), { filename, visibility }),
    });
    return ((await response.json()) as { id: string }).id;
  };
  for (const email of ["grace@example.com", "ada@example.com", "alan@example.com"])
    await api("POST", "/api/admin/users", { email, password: "a long password" });
  const portrait = await upload("portrait of ada.png", 40, "public");
  const cover = await upload("column.png", 80, "protected");
  const authors = [
    await create("authors", { name: "Ada Lovelace", email: "ada@example.com", born: "1815-12-10", portrait }),
    await create("authors", { name: "Grace Hopper", email: "grace@example.com", born: "1906-12-09" }),
  ];
  const posts: string[] = [];
  for (const [n, title] of titles.entries())
    posts.push(
      await create("posts", {
        title,
        slug: title.toLowerCase().replaceAll(/[^a-z]+/g, "-"),
        author: authors[n % 2],
        stage: ["published", "review", "draft", "published", "archived"][n % 5],
        published: n % 3 !== 2,
        publishedAt: n % 3 === 2 ? null : `2026-0${n + 1}-15T09:30:00Z`,
        views: n * n * 137,
        rating: n === 4 ? null : 3 + n / 4,
        body: `${title}.\n\n${"A long text that tells more about it. ".repeat(n + 1)}`,
        meta: { tags: ["databases", "bun"], words: 300 * n },
        ...(n === 0 && { cover }),
      }),
    );
  for (const post of posts.slice(0, 3)) await create("comments", { post, text: "Well said." });
  await api("PUT", `/api/posts/${posts[0]}`, { title: "A column needs a good base", views: 12 });
  await api("POST", "/api/admin/jobs/cleanup/run");
  // The failed function is retried before the failure is final.
  for (;;) {
    const { items } = (await api("GET", "/api/admin/functions/runs?status=failed")) as { items: unknown[] };
    const runs = (await api("GET", "/api/admin/jobs/cleanup/runs")) as { items: { status: string }[] };
    if (items.length > 0 && runs.items.some(({ status }) => status !== "running")) return dashboard;
    await Bun.sleep(50);
  }
}

/** Every page behind the sign-in, by a name. */
export const pages = {
  overview: "/",
  collections: "/collections",
  records: "/collections/posts",
  record: "/collections/posts?record=new",
  schema: "/collections/posts/schema",
  permissions: "/collections/posts/schema?tab=permissions",
  "new-collection": "/collections/-/new",
  diagram: "/collections/-/diagram",
  import: "/collections/posts/import",
  users: "/users",
  storage: "/storage",
  sql: "/sql?sql=SELECT%201%20AS%20n",
  functions: "/functions",
  runs: "/functions?tab=runs",
  jobs: "/jobs",
  logs: "/logs",
  events: "/events",
  sockets: "/sockets",
  mails: "/mails",
  backups: "/backups",
  queries: "/queries",
  keys: "/keys",
  api: "/api",
  operation: "/api?operation=createPosts",
  settings: "/settings",
  account: "/account",
} as const;
