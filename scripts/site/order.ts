/** The order of the pages of docs/, in the sidebar of the site and in llms.txt: the order in which a user needs the pages. */

/** A group of pages in the sidebar. */
export interface PageGroup {
  readonly label: string;
  /** Paths of Markdown files from the folder of the project. */
  readonly pages: readonly string[];
}

export const order: readonly PageGroup[] = [
  { label: "Start", pages: ["docs/quickstart.md", "docs/dashboard.md", "docs/compare.md", "docs/move-in.md"] },
  {
    label: "Model",
    pages: [
      "docs/collections.md",
      "docs/queries.md",
      "docs/views.md",
      "docs/batch.md",
      "docs/files.md",
      "docs/history.md",
      "docs/migrations.md",
    ],
  },
  { label: "Rules", pages: ["docs/rules.md", "docs/tenants.md"] },
  { label: "Live", pages: ["docs/client.md", "docs/clients.md", "docs/realtime.md", "docs/rooms.md"] },
  {
    label: "Code",
    pages: [
      "docs/functions.md",
      "docs/hooks.md",
      "docs/jobs.md",
      "docs/code.md",
      "docs/transactions.md",
      "docs/endpoints.md",
      "docs/server-queries.md",
      "docs/testing.md",
      "docs/frameworks.md",
      "docs/mcp.md",
    ],
  },
  { label: "Accounts", pages: ["docs/accounts.md", "docs/sign-in.md", "docs/mail.md", "docs/keys.md", "docs/ssr.md"] },
  { label: "Deploy", pages: ["docs/install.md", "docs/deploying.md", "docs/configuration.md"] },
  {
    label: "Operate",
    pages: [
      "docs/operating.md",
      "docs/trace.md",
      "docs/backups.md",
      "docs/drills.md",
      "docs/limits.md",
      "docs/admin.md",
      "docs/reliability.md",
    ],
  },
  { label: "Grow", pages: ["docs/capacity.md", "docs/cluster.md", "docs/transfer.md", "bench/README.md"] },
  { label: "Reference", pages: ["docs/api.md", "docs/openapi.md", "docs/glossary.md"] },
  {
    label: "Examples",
    pages: [
      "blank",
      "blog",
      "chat",
      "shop",
      "tracker",
      "vite-react",
      "nextjs",
      "astro",
      "sveltekit",
      "react-router",
    ].map((name) => `examples/${name}/README.md`),
  },
  {
    label: "Project",
    pages: ["SECURITY.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/licences.md"],
  },
];
