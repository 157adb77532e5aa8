/** Routes: the page, and the handler that gives the page its access token. */
import { index, type RouteConfig, route } from "@react-router/dev/routes";

export default [index("routes/home.tsx"), route("session", "routes/session.ts")] satisfies RouteConfig;
