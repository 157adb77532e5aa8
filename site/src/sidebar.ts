/** The sidebar of a page: a page of the API reference has the routes, another page has the pages of docs/. */
import { defineRouteMiddleware } from "@astrojs/starlight/route-data";

export const onRequest = defineRouteMiddleware(({ locals }) => {
  const route = locals.starlightRoute;
  const routes = route.sidebar.find((entry) => entry.label === "All routes");
  if (routes?.type !== "group") throw new Error("The sidebar has no routes");
  const pages = route.sidebar.filter((entry) => entry !== routes);
  if (!route.id.startsWith("rest")) {
    route.sidebar = pages;
    return;
  }
  const [first] = pages.flatMap((entry) => (entry.type === "group" ? entry.entries : []));
  if (first?.type !== "link") throw new Error("The sidebar begins without a page");
  route.sidebar = [{ ...first, label: "All pages" }, ...routes.entries];
});
