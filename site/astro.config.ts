/** The site of Socle: Starlight with the pages that scripts/site.ts writes into made/. */
import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";
import starlightOpenApi, { openAPISidebarGroups } from "starlight-openapi";
import groups from "./made/groups.json" with { type: "json" };

const { origin, pathname } = new URL(process.env["SITE_URL"] ?? "http://localhost:4321/");

const sidebar = groups.map(({ label, pages }) => ({
  label,
  collapsed: label === "Examples" || label === "Project",
  items: pages.map(({ title, slug }) => ({ label: title, slug })),
}));

/** Gives the field of the search a label, and lets the keyboard scroll tables that are wider than the screen. */
const accessible = `
addEventListener("focusin", ({ target }) => {
  if (target.matches(".pagefind-ui__search-input")) target.setAttribute("aria-label", "Search");
});
const openTables = () => {
  for (const table of document.querySelectorAll("table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
};
addEventListener("load", openTables);
addEventListener("resize", openTables);`;

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
      logo: { src: "./made/public/favicon.svg", alt: "" },
      customCss: ["./src/site.css"],
      head: [{ tag: "script", content: accessible }],
      components: { Hero: "./src/hero.astro" },
      sidebar: [...sidebar, { label: "Routes", link: "/rest/" }, ...openAPISidebarGroups],
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
