/**
 * The pages and their addresses. A page's state (filter, sort, open record, …) is in its address, so that a person can share the state and
 * the back button works: `pages/search.ts` reads the address. A page is loaded when a person opens the page.
 */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { ErrorState } from "../kit/states.tsx";
import { LoginPage, SetupPage } from "../pages/login/front-pages.tsx";
import {
  readApiSearch,
  readBackupSearch,
  readDiagramSearch,
  readEventSearch,
  readFailureSearch,
  readFunctionSearch,
  readJobSearch,
  readKeySearch,
  readLoginSearch,
  readLogSearch,
  readMailSearch,
  readOverviewSearch,
  readQuerySearch,
  readRecordSearch,
  readSchemaSearch,
  readSettingsSearch,
  readSetupSearch,
  readSocketSearch,
  readSqlSearch,
  readStorageSearch,
  readUserSearch,
} from "../pages/search.ts";
import { restoreSession } from "../service/session.ts";
import { NotFoundPage } from "./not-found.tsx";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: readLoginSearch,
  component: LoginPage,
  beforeLoad: async ({ search }) => {
    // When the service does not answer, the form is shown, and reports the failure.
    if ((await restoreSession().catch(() => null)) !== null)
      throw redirect({ href: `/_${search.from ?? "/"}`, replace: true });
  },
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  validateSearch: readSetupSearch,
  component: SetupPage,
});

/** The pages that need an admin. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: lazyRouteComponent(() => import("./shell.tsx"), "Shell"),
  beforeLoad: async ({ location }) => {
    if ((await restoreSession()) === null)
      throw redirect({ to: "/login", search: location.href === "/" ? {} : { from: location.href }, replace: true });
  },
  errorComponent: ({ error, reset }) => <ErrorState error={error} onRetry={reset} />,
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/",
  validateSearch: readOverviewSearch,
  component: lazyRouteComponent(() => import("../pages/overview/overview-page.tsx"), "OverviewPage"),
});

/** The list of collections stands beside every page below this route. */
const collections = createRoute({
  getParentRoute: () => inside,
  path: "/collections",
  component: lazyRouteComponent(() => import("../pages/collections/collections-layout.tsx"), "CollectionsLayout"),
});

const collectionsIndex = createRoute({
  getParentRoute: () => collections,
  path: "/",
  component: lazyRouteComponent(() => import("../pages/collections/collections-layout.tsx"), "CollectionsIndex"),
});

// Names of collections begin with a letter, so that "-" is free.
const newCollection = createRoute({
  getParentRoute: () => collections,
  path: "/-/new",
  validateSearch: readSchemaSearch,
  component: lazyRouteComponent(() => import("../pages/schema/new-collection-page.tsx"), "NewCollectionPage"),
});

const diagram = createRoute({
  getParentRoute: () => collections,
  path: "/-/diagram",
  validateSearch: readDiagramSearch,
  component: lazyRouteComponent(() => import("../pages/diagram/diagram-page.tsx"), "DiagramPage"),
});

const records = createRoute({
  getParentRoute: () => collections,
  path: "/$name",
  validateSearch: readRecordSearch,
  component: lazyRouteComponent(() => import("../pages/records/records-page.tsx"), "RecordsPage"),
});

const schema = createRoute({
  getParentRoute: () => collections,
  path: "/$name/schema",
  validateSearch: readSchemaSearch,
  component: lazyRouteComponent(() => import("../pages/schema/schema-page.tsx"), "SchemaPage"),
});

const importRecords = createRoute({
  getParentRoute: () => collections,
  path: "/$name/import",
  component: lazyRouteComponent(() => import("../pages/import/import-page.tsx"), "ImportPage"),
});

const trash = createRoute({
  getParentRoute: () => collections,
  path: "/$name/trash",
  component: lazyRouteComponent(() => import("../pages/trash/trash-page.tsx"), "TrashPage"),
});

const users = createRoute({
  getParentRoute: () => inside,
  path: "/users",
  validateSearch: readUserSearch,
  component: lazyRouteComponent(() => import("../pages/users/users-page.tsx"), "UsersPage"),
});

const storage = createRoute({
  getParentRoute: () => inside,
  path: "/storage",
  validateSearch: readStorageSearch,
  component: lazyRouteComponent(() => import("../pages/storage/storage-page.tsx"), "StoragePage"),
});

const sql = createRoute({
  getParentRoute: () => inside,
  path: "/sql",
  validateSearch: readSqlSearch,
  component: lazyRouteComponent(() => import("../pages/sql/sql-page.tsx"), "SqlPage"),
});

const functions = createRoute({
  getParentRoute: () => inside,
  path: "/functions",
  validateSearch: readFunctionSearch,
  component: lazyRouteComponent(() => import("../pages/functions/functions-page.tsx"), "FunctionsPage"),
});

const jobs = createRoute({
  getParentRoute: () => inside,
  path: "/jobs",
  validateSearch: readJobSearch,
  component: lazyRouteComponent(() => import("../pages/jobs/jobs-page.tsx"), "JobsPage"),
});

const failures = createRoute({
  getParentRoute: () => inside,
  path: "/failures",
  validateSearch: readFailureSearch,
  component: lazyRouteComponent(() => import("../pages/failures/failures-page.tsx"), "FailuresPage"),
});

const queries = createRoute({
  getParentRoute: () => inside,
  path: "/queries",
  validateSearch: readQuerySearch,
  component: lazyRouteComponent(() => import("../pages/queries/queries-page.tsx"), "QueriesPage"),
});

const logs = createRoute({
  getParentRoute: () => inside,
  path: "/logs",
  validateSearch: readLogSearch,
  component: lazyRouteComponent(() => import("../pages/logs/logs-page.tsx"), "LogsPage"),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: "/events",
  validateSearch: readEventSearch,
  component: lazyRouteComponent(() => import("../pages/events/events-page.tsx"), "EventsPage"),
});

const trace = createRoute({
  getParentRoute: () => inside,
  path: "/trace/$id",
  component: lazyRouteComponent(() => import("../pages/trace/trace-page.tsx"), "TracePage"),
});

const mails = createRoute({
  getParentRoute: () => inside,
  path: "/mails",
  validateSearch: readMailSearch,
  component: lazyRouteComponent(() => import("../pages/mails/mails-page.tsx"), "MailsPage"),
});

const sockets = createRoute({
  getParentRoute: () => inside,
  path: "/sockets",
  validateSearch: readSocketSearch,
  component: lazyRouteComponent(() => import("../pages/sockets/sockets-page.tsx"), "SocketsPage"),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: "/keys",
  validateSearch: readKeySearch,
  component: lazyRouteComponent(() => import("../pages/keys/keys-page.tsx"), "KeysPage"),
});

const backups = createRoute({
  getParentRoute: () => inside,
  path: "/backups",
  validateSearch: readBackupSearch,
  component: lazyRouteComponent(() => import("../pages/backups/backups-page.tsx"), "BackupsPage"),
});

const api = createRoute({
  getParentRoute: () => inside,
  path: "/api",
  validateSearch: readApiSearch,
  component: lazyRouteComponent(() => import("../pages/api/api-page.tsx"), "ApiPage"),
});

const account = createRoute({
  getParentRoute: () => inside,
  path: "/account",
  component: lazyRouteComponent(() => import("../pages/account/account-page.tsx"), "AccountPage"),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import("../pages/settings/settings-page.tsx"), "SettingsPage"),
});

const tree = root.addChildren([
  login,
  setup,
  inside.addChildren([
    overview,
    collections.addChildren([collectionsIndex, newCollection, diagram, records, schema, importRecords, trash]),
    users,
    storage,
    sql,
    functions,
    jobs,
    failures,
    queries,
    logs,
    events,
    trace,
    sockets,
    mails,
    keys,
    backups,
    api,
    settings,
    account,
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: "/_",
  trailingSlash: "preserve",
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} onRetry={reset} />,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
