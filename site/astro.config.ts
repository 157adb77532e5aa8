/** The site of Socle: Starlight with the pages that scripts/site.ts writes into made/. */
import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";
import starlightOpenApi, { openAPISidebarGroups } from "starlight-openapi";
import { order } from "../scripts/site/order.ts";
import { readPage } from "../scripts/site/pages.ts";

const { origin, pathname } = new URL(process.env["SITE_URL"] ?? "http://localhost:4321/");

const groups = order.map(({ label, pages }) => ({
  label,
  collapsed: label === "Examples" || label === "Project",
  items: pages.map(readPage).map(({ title, slug }) => ({ label: title, slug })),
}));

export default defineConfig({
  site: origin,
  base: pathname,
  outDir: "../dist/site",
  publicDir: "./made/public",
  trailingSlash: "always",
  integrations: [
    starlight({
      title: "Socle",
      description: "A backend in one file.",
      customCss: ["./src/site.css"],
      components: { Hero: "./src/hero.astro" },
      sidebar: [...groups, { label: "Routes", link: "/rest/" }, ...openAPISidebarGroups],
      plugins: [
        starlightOpenApi([{ base: "rest", schema: "./made/public/openapi.json", sidebar: { label: "All routes" } }]),
        {
          name: "sidebar-of-routes",
          // After the plugin of OpenAPI, which puts the routes into the sidebar.
          hooks: {
            "config:setup": ({ addRouteMiddleware }) =>
              addRouteMiddleware({ entrypoint: "./src/sidebar.ts", order: "post" }),
          },
        },
      ],
    }),
  ],
});
